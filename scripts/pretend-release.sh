#!/bin/bash
# Makes a copy of the repository in which all modules are tagged as if they had been
# released, and tells the go command to take them from there. Nothing leaves the
# machine, and neither the checkout nor the machine's module cache changes.
#
#   scripts/pretend-release.sh VERSION DIR
#
# DIR/repository is the copy: the commit that is checked out here, with the tags of
# the release order (docs/project/releasing.md). DIR/environment is to be sourced:
# after that "go get github.com/zkrecipes/zkrecipes@VERSION" works as it does for a
# user.
set -euo pipefail

[ $# = 2 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
version=$1 dir=$(realpath -m "$2")
here=$(cd "$(dirname "$0")/.." && pwd)
readonly version dir here root=github.com/zkrecipes/zkrecipes

mkdir -p "$dir"
git clone -q --no-hardlinks "file://$here" "$dir/repository"
cache=$(go env GOMODCACHE) proxy=$(go env GOPROXY)
cat >"$dir/environment" <<EOF
export GOWORK=off GOFLAGS=-mod=mod GOTOOLCHAIN=local
export GOMODCACHE=$dir/mod GOPROXY=file://$cache/cache/download,$proxy
export GOPRIVATE=$root
export GIT_CONFIG_COUNT=2
export GIT_CONFIG_KEY_0=url.file://$dir/repository.insteadOf GIT_CONFIG_VALUE_0=https://$root
export GIT_CONFIG_KEY_1=safe.directory GIT_CONFIG_VALUE_1=*
EOF
. "$dir/environment"

cd "$dir/repository"
git config user.name release && git config user.email release@localhost
git config commit.gpgsign false && git config tag.gpgsign false
# The tags of real releases would decide otherwise what is the newest.
git tag -l | xargs -r git tag -d >/dev/null

git tag "$version"
release() { # the modules that stdin names: what they require is tagged
	local module modules
	mapfile -t modules
	for module in "${modules[@]}"; do
		(cd "$module" && go get "$root@$version" && go mod tidy) >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
		git add "$module/go.mod" "$module/go.sum"
	done
	git commit -q --allow-empty -m "release: $version of ${modules[*]}"
	for module in "${modules[@]}"; do git tag "$module/$version"; done
}
"$here/scripts/modules.sh" released | grep -vx cmd/zkr | release
echo cmd/zkr | release # it requires one of the others
