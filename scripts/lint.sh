#!/bin/bash
# Runs golangci-lint over all modules, with the settings of .golangci.yml.
set -euo pipefail
cd "$(dirname "$0")/.."

config=$PWD/.golangci.yml
for module in $(scripts/modules.sh); do
	echo "$module"
	(cd "$module" && golangci-lint run --allow-parallel-runners --config "$config" ./...)
done
