#!/bin/bash
# Compares the exported API of the libraries with that of the previous release, and
# lists what has changed. It fails if a program that uses the previous release might
# not compile any more: then the next version is a new minor one, before v1.0.0.
#
#   scripts/check-api.sh          against the newest tag vX.Y.Z before this commit
#   scripts/check-api.sh TAG      against that tag
set -euo pipefail
cd "$(dirname "$0")/.."

readonly module=github.com/zkrecipes/zkrecipes
readonly apidiff=golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e
base=${1:-$(git describe --tags --abbrev=0 --match 'v[0-9]*' HEAD 2>/dev/null || true)}
if [ -z "$base" ]; then
	echo "api: no earlier tag: there is no release to compare with"
	exit 0
fi
git rev-parse -q --verify "$base^{commit}" >/dev/null || { echo "api: there is no tag $base" >&2; exit 2; }

work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null; rm -rf "$work"' EXIT
git worktree add -q --detach "$work/base" "$base"
GOWORK=off GOBIN=$work go install "$apidiff"
export GOWORK=off
(cd "$work/base" && "$work/apidiff" -m -w "$work/base.export" "$module" 2> >(grep -v '^Ignoring internal' >&2))
"$work/apidiff" -m -w "$work/here.export" "$module" 2> >(grep -v '^Ignoring internal' >&2)
"$work/apidiff" -m "$work/base.export" "$work/here.export" >"$work/changes" 2> >(grep -v '^Ignoring internal' >&2)
echo "api: changes since $base:"
cat "$work/changes"
"$work/apidiff" -m -incompatible "$work/base.export" "$work/here.export" >"$work/broken" 2> >(grep -v '^Ignoring internal' >&2)
[ ! -s "$work/broken" ] || { echo "api: some of them are incompatible with $base" >&2; exit 1; }
