#!/bin/bash
# Runs golangci-lint over all modules that the gate compiles, with the settings of .golangci.yml.
set -euo pipefail
cd "$(dirname "$0")/.."

config=$PWD/.golangci.yml
alone=$(scripts/modules.sh alone)
for module in $(scripts/modules.sh checked); do
	echo "$module"
	inside=()
	[ "$module" != "$alone" ] || inside=(env GOWORK=off)
	(cd "$module" && "${inside[@]}" golangci-lint run --allow-parallel-runners --config "$config" ./...)
done
