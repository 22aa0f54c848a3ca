#!/bin/bash
# Makes the files of a release from this commit, without publishing any, and checks
# them: that each archive is complete, that the Debian package can be installed, has its
# manual pages and completions, and that what it installs runs.
#
#   scripts/check-release.sh          makes dist and checks it
#   scripts/check-release.sh --made   checks the dist that "make snapshot" has made
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'release: %s\n' "$*" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "${1:-}" = --made ] || scripts/goreleaser.sh release --snapshot --clean --skip=docker

# list prints the names in an archive.
list() {
	case $1 in
	*.zip) python3 -m zipfile -l "$1" | awk 'NR > 1 {print $1}' ;;
	*) tar -tzf "$1" ;;
	esac
}

for system in linux darwin windows; do
	for processor in amd64 arm64; do
		archive=$(ls dist/zkr_*_"${system}_$processor".{tar.gz,zip} 2>/dev/null) || true
		[ -n "$archive" ] || fail "no archive for $system/$processor"
		list "$archive" >"$work/list"
		binary=zkr
		[ $system != windows ] || binary=zkr.exe
		for file in $binary LICENSE man/man1/zkr-lock.1 completions/zkr.bash completions/zkr.ps1; do
			grep -qx "$file" "$work/list" || fail "$archive has no $file"
		done
		ls dist/zkr_*_"${system}_$processor".sbom.json >/dev/null || fail "no SBOM for $system/$processor"
	done
done
(cd dist && sha256sum --quiet -c checksums.txt) || fail "the checksums are wrong"
[ "$(find dist -maxdepth 1 -name '*.rpm' | wc -l)" = 2 ] || fail "there are not two rpm packages"
grep -q '"purl": "pkg:golang/github.com/spf13/cobra@' dist/zkr_*_linux_amd64.sbom.json || fail "the SBOM lists no cobra"

# The package of this machine is installed into a folder that has nothing else.
deb=$(ls dist/zkr_*_"$(go env GOARCH)".deb) || fail "no Debian package for $(go env GOARCH)"
root=$work/root
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
touch "$root/var/lib/dpkg/status"
dpkg --root="$root" --force-not-root --force-script-chrootless --log=/dev/null -i "$deb" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$deb cannot be installed"; }
zkr=$root/usr/bin/zkr
"$zkr" version
[ "$("$zkr" version -o json | grep -c '"version"')" = 1 ] || fail "the installed zkr does not say its version"
for file in share/man/man1/zkr.1.gz share/man/man1/zkr-lock.1.gz share/bash-completion/completions/zkr \
	share/zsh/vendor-completions/_zkr share/fish/vendor_completions.d/zkr.fish share/doc/zkr/copyright; do
	[ -s "$root/usr/$file" ] || fail "$deb does not install /usr/$file"
done
zcat "$root/usr/share/man/man1/zkr-lock.1.gz" | grep -q '^\.TH' || fail "zkr-lock.1 is no manual page"
bash -n "$root/usr/share/bash-completion/completions/zkr" || fail "bash cannot read the completion"
[ "$(zcat "$root"/usr/share/man/man1/*.gz | grep -c '^\.TH')" = "$(find dist-files/man1 -name '*.1' | wc -l)" ] || fail "$deb does not have all manual pages"
dpkg --root="$root" --force-not-root --log=/dev/null -r zkr >/dev/null 2>&1 || fail "$deb cannot be removed"
[ ! -e "$zkr" ] || fail "removing the package leaves zkr"

# The image, with the binary that a release puts into it. GoReleaser builds the images of
# all platforms with buildx; the image of one platform needs the ordinary builder only.
readonly image=zkrecipes/zkr:check
if docker info >/dev/null 2>&1; then
	platform=linux/$(go env GOARCH)
	mkdir -p "$work/context/$platform"
	tar -xzf dist/zkr_*_"${platform/\//_}".tar.gz -C "$work/context/$platform" zkr
	docker build -q -t $image --build-arg "TARGETPLATFORM=$platform" -f deploy/Dockerfile.release "$work/context" >/dev/null ||
		fail "the image cannot be built"
	docker run --rm --network none $image version >"$work/image"
	"$work/context/$platform/zkr" version | diff - "$work/image" >&2 || fail "the image has another zkr than the archive"
	docker image rm $image >/dev/null
	echo "the image runs"
else
	echo "NOT CHECKED: the image, because Docker is not running"
fi
echo "the files of a release are complete, and the Debian package works"
