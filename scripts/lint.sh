#!/bin/bash
# Runs golangci-lint over all modules, with the settings of .golangci.yml.
set -euo pipefail
cd "$(dirname "$0")/.."

config=$PWD/.golangci.yml
alone=$(scripts/modules.sh alone)
for module in $(scripts/modules.sh); do
	echo "$module"
	[ "$module" != "$alone" ] || export GOWORK=off
	(cd "$module" && golangci-lint run --allow-parallel-runners --config "$config" ./...)
	unset GOWORK
done
