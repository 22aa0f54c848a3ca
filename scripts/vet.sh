#!/bin/bash
# Vets all modules, tests included, for every system that the project supports.
#
#   scripts/vet.sh             linux, darwin and windows
#   scripts/vet.sh windows     only the named systems
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- linux darwin windows
for system; do
	echo "go vet for $system"
	GOOS=$system go vet work
	for module in $(scripts/modules.sh alone); do
		(cd "$module" && GOWORK=off GOOS=$system go vet ./...)
	done
done
