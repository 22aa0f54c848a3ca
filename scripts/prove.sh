#!/bin/bash
# Runs the README's test command again and again, uncached, under conditions in which
# tests that depend on speed or order fail, and prints a table.
#
#   scripts/prove.sh [RUNS [CONDITION...]]
#
# RUNS of each condition, 5 by default. The conditions are
#   quiet    nothing else runs
#   busy     beside four busy loops
#   single   GOMAXPROCS=1
#   race     with the race detector, which needs a C compiler
# It ends with 1 if a run failed; the output of such a run is kept, and its failures are
# shown.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

readonly runs=${1:-5}
[[ $runs =~ ^[1-9][0-9]*$ ]] || { sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
shift
[ $# -gt 0 ] || set -- quiet busy single race
kept=$(mktemp -d) loops=()
trap 'idle; rmdir "$kept" 2>/dev/null' EXIT

busy() {
	for _ in 1 2 3 4; do
		(while :; do :; done) &
		loops+=($!)
	done
}
idle() {
	[ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2>/dev/null
	wait "${loops[@]}" 2>/dev/null
	loops=()
}

# A run of one condition must not pay for the compilation, nor a table be made of
# tests that cannot be compiled.
go test -count=1 -run '^$' work >"$kept/build.log" 2>&1 ||
	{ tail -20 "$kept/build.log" >&2; echo "prove: the tests do not compile" >&2; exit 2; }
rm "$kept/build.log"
printf '%-9s %4s %9s  %s\n' condition run seconds result
failed=0
for condition; do
	flags=() env=()
	case $condition in
	quiet) ;;
	busy) busy ;;
	single) env=(GOMAXPROCS=1) ;;
	race) flags=(-race) ;;
	*) echo "prove: no condition '$condition'" >&2; exit 2 ;;
	esac
	for run in $(seq "$runs"); do
		begin=$SECONDS
		log=$kept/$condition-$run.log
		if env "${env[@]}" go test -count=1 "${flags[@]}" work >"$log" 2>&1; then
			result=passed
			rm "$log"
		else
			failed=$((failed + 1))
			result="FAILED $(grep -oE '^ *--- FAIL: [^ ]+' "$log" | tr -s ' ' | sort -u | tr '\n' ' ') $log"
		fi
		printf '%-9s %4d %9d  %s\n' "$condition" "$run" $((SECONDS - begin)) "$result"
		[ ! -e "$log" ] || grep -A 30 -E '^ *--- FAIL|^panic: ' "$log" | head -100 | sed 's/^/    /'
	done
	idle
done
echo "$failed runs failed"
[ $failed = 0 ]
