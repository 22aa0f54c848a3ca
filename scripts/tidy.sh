#!/bin/bash
# Tidies go.mod and go.sum of all modules. A nested module requires a version of the
# root that need not exist yet, so that it is tidied in a copy in which it does.
#
#   scripts/tidy.sh            changes the files
#   scripts/tidy.sh --check    fails if a file would change
set -euo pipefail
cd "$(dirname "$0")/.."

check=${1:-}
[ -z "$check" ] || [ "$check" = --check ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
version=$(sed -n 's,^\tgithub.com/zkrecipes/zkrecipes \(v[^ ]*\).*,\1,p' cmd/zkr/go.mod)

if [ -n "$check" ]; then
	GOWORK=off go mod tidy -diff
else
	GOWORK=off go mod tidy
fi
scripts/pretend-release.sh "$version" "$work/release"
. "$work/release/environment"

# These are no part of a release.
for module in bench fence/sqltest; do
	(cd "$work/release/repository/$module" && go get "github.com/zkrecipes/zkrecipes@$version" && go mod tidy) 2>"$work/log" ||
		{ cat "$work/log" >&2; exit 1; }
done

bad=0
for module in $(scripts/modules.sh checked); do
	[ "$module" != . ] || continue
	for file in go.mod go.sum; do
		# The checksums of this repository's own modules are known when they are
		# released, not before.
		grep -v '^github.com/zkrecipes/' "$work/release/repository/$module/$file" >"$work/$file"
		if [ -z "$check" ]; then
			cp "$work/$file" "$module/$file"
		elif ! diff -u "$module/$file" "$work/$file"; then
			bad=1
		fi
	done
done
[ $bad = 0 ] || { echo "tidy: run scripts/tidy.sh" >&2; exit 1; }
