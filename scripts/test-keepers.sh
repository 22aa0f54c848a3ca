#!/bin/bash
# Runs the tests of all recipes against the imitations of ClickHouse Keeper and RaftKeeper: those
# of operations, every fault at every request, and random histories.
#
#   scripts/test-keepers.sh [FLAGS of go test...]
#
# Tests that need a feature of Apache's servers say so by world.Needs, and are left out on a
# product that lacks the feature. They are listed, and at the end stands for each package how
# many tests ran, and how many were left out for which reason. Left out as well are the tests on
# real servers, and TestStatesSurviveEveryFaultAtEveryRequest of rebalanser: States polls on
# these servers, so that this test alone takes minutes.
#
# With -short, the script takes three minutes of processor time, and with the compilation about
# five minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly recipes=(
	./barrier ./cache ./counter ./discovery ./dispatch ./election ./fence ./health ./lock ./lock/locktable ./node
	./rebalanser ./rwlock ./stm ./value ./workerctl ./internal/heldtest
)
code=0
for product in clickhouse-keeper raftkeeper; do
	printf '\n%s:\n' "$product"
	ZKTEST_PRODUCT=$product go run ./internal/gotest -tally -count=1 -timeout 60m -skip 'Apache|TestStatesSurvive' "$@" "${recipes[@]}" || code=$?
done
exit "$code"
