#!/bin/bash
# Runs the random histories, and every fault at every request, of all recipes against the
# imitations of ClickHouse Keeper and RaftKeeper.
#
#   scripts/test-keepers.sh [FLAGS of go test...]
#
# Left out are the tests that compare events with golden files: a fault of a connection is one
# of the session in ClickHouse Keeper; and those of pairs of faults, and of rebalanser.States,
# which polls on these servers: they take many minutes. -short makes one fault of each kind.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly recipes=(./barrier ./cache ./counter ./discovery ./dispatch ./election ./lock ./lock/locktable ./rebalanser ./rwlock ./stm ./value ./workerctl)
for product in clickhouse-keeper raftkeeper; do
	echo "$product:"
	ZKTEST_PRODUCT=$product go test -count=1 -run 'Stress|Fault' -skip 'Apache|TestEvents|Pairs|TestStatesSurvive' "$@" "${recipes[@]}"
done
