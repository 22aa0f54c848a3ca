#!/bin/bash
# Fetches ZooKeeper's jars from another release of Debian, for tests with another version
# of the server, and prints the folder: a value for ZOOKEEPER_HOME.
#
#   scripts/fetch-zookeeper.sh [SUITE]     trixie (ZooKeeper 3.9.3) by default
#
# Nothing is installed: the packages are unpacked below $ZKR_CACHE (default
# /var/cache/zkrecipes), and stay there. It needs apt-get, dpkg-deb, python3, and Debian's
# archive keys.
set -euo pipefail

readonly suite=${1:-trixie} cache=${ZKR_CACHE:-/var/cache/zkrecipes}
readonly mirror=${ZKR_MIRROR:-http://deb.debian.org/debian} keys=/usr/share/keyrings/debian-archive-keyring.gpg
readonly home=$cache/zookeeper-$suite
die() { echo "fetch-zookeeper: $*" >&2; exit 1; }

[[ $suite =~ ^[a-z]+$ ]] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
if [ -d "$home" ]; then
	echo "$home"
	exit
fi
mkdir -p "$cache"
work=$(mktemp -d "$cache/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists,archives}/partial "$work/home/lib"
touch "$work/status" # as if no package were installed here
echo "deb [signed-by=$keys] $mirror $suite main" >"$work/sources.list"
apt() {
	apt-get -q -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$work/lists" \
		-o Dir::State::status="$work/status" -o Dir::Cache::archives="$work/archives" -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= \
		-o APT::Sandbox::User=root "$@" >"$work/log" 2>&1 || { tail -20 "$work/log" >&2; die "apt-get $1 failed"; }
}
apt update
apt install -y --download-only --no-install-recommends libzookeeper-java libslf4j-java
for package in "$work"/archives/*-java_*.deb; do
	dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work/home" ./usr/share/java 2>/dev/null || true # some have no jars
done
# The manifests name jars in /usr/share/java: those of this machine's release.
python3 - "$work/home" <<'EOF'
import pathlib, sys, zipfile
home = pathlib.Path(sys.argv[1])
for jar in (home / "usr/share/java").glob("*.jar"):
    if jar.is_symlink():
        continue
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(home / "lib" / jar.name, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if entry.filename != "META-INF/MANIFEST.MF":
                new.writestr(entry, old.read(entry))
EOF
rm -r "$work/home/usr"
# One implementation of the logger.
rm -f "$work/home/lib"/slf4j-{log4j12,jdk14,jcl,nop,reload4j}-*.jar
[ -n "$(compgen -G "$work/home/lib/zookeeper-[0-9]*.jar")" ] || die "$suite has no ZooKeeper"
mv "$work/home" "$home"
echo "$home"
