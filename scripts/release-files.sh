#!/bin/bash
# Writes what a release has besides the binary into DIR: manual pages in DIR/man1, also
# compressed as distributions have them, and completions for four shells.
#
#   scripts/release-files.sh DIR
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# = 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
readonly dir=$1
# The same commit makes the same files, whenever that is done.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

rm -rf "$dir"
mkdir -p "$dir/man1" "$dir/packed" "$dir/completions"
# Of this machine, whatever system the release is being built for.
unset GOOS GOARCH
go build -o "$dir/zkr" ./cmd/zkr
"$dir/zkr" manual --man "$dir/man1" >/dev/null
for page in "$dir"/man1/*.1; do
	gzip -9nc "$page" >"$dir/packed/${page##*/}.gz"
done
"$dir/zkr" completion bash >"$dir/completions/zkr.bash"
"$dir/zkr" completion zsh >"$dir/completions/zkr.zsh"
"$dir/zkr" completion fish >"$dir/completions/zkr.fish"
"$dir/zkr" completion powershell >"$dir/completions/zkr.ps1"
rm "$dir/zkr"
