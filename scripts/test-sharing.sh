#!/bin/bash
# Runs the random histories, and every fault at every request, of all recipes with sessions
# that share their heartbeats (session.Options.SharedHeartbeats).
#
#   scripts/test-sharing.sh [FLAGS of go test...]
#
# Left out are the tests that compare events with golden files, those of pairs of faults, and
# those on real servers.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly recipes=(./barrier ./cache ./counter ./discovery ./dispatch ./election ./lock ./lock/locktable ./rebalanser ./rwlock ./stm ./value ./workerctl)
ZKTEST_SHARED_HEARTBEATS=/heartbeats go test -count=1 -run 'Stress|Fault' -skip 'Apache|TestEvents|Pairs|TestStatesSurvive' "$@" "${recipes[@]}"
