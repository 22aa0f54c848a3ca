#!/bin/bash
# Runs the README's two commands on a machine with Go and nothing else: as a
# plain user, in a fresh clone, on a Debian without Java, Docker, a browser, a C
# compiler or git, and without the variables of this environment.
#
#   scripts/check-newcomer.sh            the two commands
#   scripts/check-newcomer.sh CMD...     another command there: "go test -race ..."
#
# It needs root and debootstrap. The Debian is kept as an archive in $ZKR_CACHE
# (default /var/cache/zkrecipes). Modules come from this machine's module cache where
# it has them; compiled packages and results of tests never do. $ZKR_EXTRA names
# packages to add ("gcc libc6-dev" for the race detector); $ZKR_LIMIT is the time that
# a command may take, in seconds (default 1500).
set -euo pipefail
cd "$(dirname "$0")/.."

readonly cache=${ZKR_CACHE:-/var/cache/zkrecipes} suite=${ZKR_SUITE:-bookworm} mirror=${ZKR_MIRROR:-}
readonly archive=$cache/newcomer-$suite.tar
say() { echo "newcomer: $*"; }
die() { say "$*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || die "needs root, to make an environment without it"
command -v debootstrap >/dev/null || die "no debootstrap: install it"

if [ $# -gt 0 ]; then
	commands=("$*")
else
	# The first commands of the README.
	mapfile -t commands < <(sed -n 's/^    \(go \(run\|test\) [^#]*[^# ]\) *#.*/\1/p' README.md | head -2)
	[ ${#commands[@]} = 2 ] || die "the README has no two commands: ${commands[*]}"
fi

work=$(mktemp -d)
root=$work/root
leave() {
	local at
	for at in proc dev usr/local/go modules; do
		mountpoint -q "$root/$at" && umount -l "$root/$at"
	done
	rm -rf --one-file-system "$work"
}
trap leave EXIT
mkdir -p "$root" "$cache"

if [ ! -f "$archive" ]; then
	say "debootstrap $suite"
	debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" ${mirror:+"$mirror"} >"$work/log" 2>&1 ||
		{ tail -20 "$work/log" >&2; die "debootstrap failed"; }
	tar -C "$root" --numeric-owner -cf "$archive.part" .
	mv "$archive.part" "$archive"
else
	tar -C "$root" --numeric-owner -xf "$archive"
fi

goroot=$(go env GOROOT) modules=$(go env GOMODCACHE)/cache/download proxy=$(go env GOPROXY)
mkdir -p "$root/usr/local/go" "$root/modules" "$modules"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
mount --bind -o ro "$goroot" "$root/usr/local/go"
mount --bind -o ro "$modules" "$root/modules"
cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
echo "127.0.0.1 localhost" >"$root/etc/hosts" # as an installed system has it
if [ -n "${ZKR_EXTRA:-}" ]; then
	# shellcheck disable=SC2086
	chroot "$root" /bin/sh -c 'apt-get update -q && apt-get install -qy --no-install-recommends "$@"' - $ZKR_EXTRA \
		>"$work/log" 2>&1 || { tail -20 "$work/log" >&2; die "cannot add $ZKR_EXTRA"; }
fi
chroot "$root" useradd --create-home newcomer
git clone -q "file://$PWD" "$root/home/newcomer/zkrecipes"
chroot "$root" chown -R newcomer: /home/newcomer

for tool in java docker chromium git gcc iptables sudo; do
	[[ " ${ZKR_EXTRA:-} " == *" $tool "* ]] ||
		! chroot "$root" /bin/sh -c "command -v $tool" >/dev/null || die "the environment has $tool, which a newcomer need not have"
done

for command in "${commands[@]}"; do
	say "$command"
	begin=$SECONDS code=0
	timeout --kill-after=10 "${ZKR_LIMIT:-1500}" \
		chroot --userspec=newcomer:newcomer "$root" /usr/bin/env -i \
		HOME=/home/newcomer USER=newcomer PATH=/usr/local/go/bin:/usr/bin:/bin GOPROXY="file:///modules,$proxy" \
		GOMAXPROCS="${GOMAXPROCS:-$(nproc)}" \
		/bin/sh -c "cd ~/zkrecipes && $command" </dev/null || code=$?
	[ $code = 0 ] || die "'$command' failed with $code after $((SECONDS - begin)) s"
	say "'$command' passed in $((SECONDS - begin)) s"
done
