#!/bin/bash
# Builds the Docker image zkrecipes/zookeeper:local from Debian's packages:
# debootstrap, zookeeper, a Java runtime, and an entry command that reads the
# same ZOO_* variables as the official image. No registry has a part in it.
#
#   scripts/build-image.sh build unless it exists already scripts/build-image.sh
#   --force build again
#
# It needs root, debootstrap and docker. The root file system is kept as an
# archive in $ZKR_CACHE (default /var/cache/zkrecipes), so that an image that
# was lost comes back in seconds. A daemon that does not run is started, with
# fewer features if the machine does not allow all.
set -euo pipefail

readonly image=${ZKR_IMAGE:-zkrecipes/zookeeper:local}
readonly cache=${ZKR_CACHE:-/var/cache/zkrecipes}
readonly suite=${ZKR_SUITE:-bookworm}
readonly mirror=${ZKR_MIRROR:-} # empty: the default of debootstrap
here=$(cd "$(dirname "$0")" && pwd)
readonly here

say() { echo "build-image: $*"; }
die() { say "$*" >&2; exit 1; }

# The version of the image's sources: a change of either builds the image again.
version() {
	cat "$here/build-image.sh" "$here/image-entry.sh" | sha256sum | cut -c1-16
}

start_docker() {
	docker version >/dev/null 2>&1 && return
	command -v dockerd >/dev/null || die "no dockerd: install docker.io"
	local log=/var/log/dockerd-zkrecipes.log flags
	for flags in "" "--storage-driver=vfs" "--storage-driver=vfs --iptables=false --ip6tables=false"; do
		say "starting dockerd $flags"
		# A daemon that was killed leaves its pid behind, and refuses to start.
		rm -f /var/run/docker.pid
		# shellcheck disable=SC2086
		setsid nohup dockerd $flags >>"$log" 2>&1 </dev/null &
		local pid=$!
		for _ in $(seq 60); do
			docker version >/dev/null 2>&1 && return
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.5
		done
		kill "$pid" 2>/dev/null && wait "$pid" || true
	done
	tail -20 "$log" >&2
	die "dockerd does not start; its log is $log"
}

# root_fs writes the archive $1.
root_fs() {
	local work root
	work=$(mktemp -d)
	root=$work/root
	# shellcheck disable=SC2064
	trap "rm -rf --one-file-system '$work'" EXIT
	say "debootstrap $suite"
	# A JRE's packages write into man directories, which minbase lacks.
	debootstrap --variant=minbase --merged-usr "$suite" "$root" ${mirror:+"$mirror"} >"$work/log" 2>&1 ||
		{ tail -30 "$work/log" >&2; die "debootstrap failed"; }
	mkdir -p "$root/usr/share/man/man1"
	# No service may start inside.
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
	cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
	say "installing zookeeper and a Java runtime"
	mount -t proc proc "$root/proc"
	local ok=1
	DEBIAN_FRONTEND=noninteractive chroot "$root" sh -ec '
		apt-get update -q
		apt-get install -qy --no-install-recommends zookeeper default-jre-headless libslf4j-java
		apt-get clean
		rm -rf /var/lib/apt/lists/* /usr/share/doc/* /usr/share/man/* /usr/share/locale/*
	' </dev/null >"$work/log" 2>&1 || ok=0
	umount "$root/proc"
	[ $ok = 1 ] || { tail -30 "$work/log" >&2; die "apt-get failed in the image"; }
	install -m 755 "$here/image-entry.sh" "$root/entry.sh"
	mkdir -p "$root/data" "$root/conf"
	tar -C "$root" --numeric-owner -cf "$1.part" .
	mv "$1.part" "$1"
	rm -rf --one-file-system "$work"
	trap - EXIT
}

main() {
	[ "$(id -u)" = 0 ] || die "needs root"
	local version archive
	version=$(version)
	archive=$cache/zookeeper-$version.tar
	start_docker
	if [ "${1:-}" = --force ]; then
		rm -f "$archive"
	elif [ "$(docker image inspect -f '{{index .Config.Labels "zkrecipes.version"}}' "$image" 2>/dev/null)" = "$version" ]; then
		say "$image is up to date"
		return
	fi
	if [ ! -f "$archive" ]; then
		command -v debootstrap >/dev/null || die "no debootstrap: install it"
		mkdir -p "$cache"
		rm -f "$cache"/zookeeper-*.tar
		root_fs "$archive"
	fi
	say "importing $image"
	docker import \
		--change 'ENTRYPOINT ["/entry.sh"]' --change 'EXPOSE 2181 2888 3888' \
		--change 'VOLUME /data' --change "LABEL zkrecipes.version=$version" \
		"$archive" "$image" >/dev/null
	say "$image is ready"
}

main "$@"
