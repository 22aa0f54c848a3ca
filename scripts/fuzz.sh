#!/bin/bash
# Runs every fuzz target of all modules for a while.
#
#   scripts/fuzz.sh [DURATION [PATTERN]]
#
# DURATION of each target, 5s by default; PATTERN, a regular expression, selects
# targets by "folder FuzzName". FUZZ_JOBS targets run at the same time, as many as
# there are processors by default, each with one worker. Inputs that fail are left in
# testdata/fuzz of their package, where go test runs them from then on. It ends with 1
# if a target failed, and prints what it said.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

readonly duration=${1:-5s} pattern=${2:-.}
[[ $duration =~ ^[1-9][0-9]*(x|ms|s|m|h)$ ]] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
work=$(mktemp -d) || exit 1
readonly work
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT

# Lists "folder FuzzName" of every target, without compiling anything.
targets() {
	git ls-files -co --exclude-standard -- '*_test.go' | xargs grep -Ho '^func Fuzz[A-Za-z0-9_]*' |
		sed -E 's#^(\./)?#./#; s#/[^/]*:func # #' | sort -u | grep -E -- "$pattern"
}

# Builds the tests of a folder once, instrumented, and runs its targets one by one. By default
# Go makes each new input smaller for a minute, which would be the whole time of a target whose
# coverage differs from run to run.
fuzz_folder() {
	local folder=$1 log name binary code=0
	log=$work/$(tr / _ <<<"$folder") binary=$log.test
	if ! (cd "$folder" && go test -c -vet=off -fuzz . -o "$binary" .) >"$log" 2>&1; then
		echo "FAIL $folder: it does not compile"
		cat "$log"
		return 1
	fi
	while read -r name; do
		if (cd "$folder" && "$binary" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$duration" \
			-test.parallel 1 -test.fuzzminimizetime 20x -test.fuzzcachedir "$cache/$folder") >"$log" 2>&1; then
			printf 'ok   %s %s %s\n' "$folder" "$name" "$(grep -oE 'execs: [0-9]+' "$log" | tail -1)"
		else
			printf 'FAIL %s %s\n' "$folder" "$name"
			cat "$log"
			code=1
		fi
	done
	rm -f "$binary"
	return $code
}

all=$(targets) || { echo "fuzz: no target matches '$pattern'" >&2; exit 2; }
cache=$(go env GOCACHE)/fuzz/zkrecipes
jobs=${FUZZ_JOBS:-$(nproc)}
readonly all cache jobs
failed=0 running=0
for folder in $(cut -d' ' -f1 <<<"$all" | uniq); do
	if [ "$running" -ge "$jobs" ]; then
		wait -n || failed=1
		running=$((running - 1))
	fi
	awk -v folder="$folder" '$1 == folder { print $2 }' <<<"$all" | fuzz_folder "$folder" &
	running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
	wait -n || failed=1
	running=$((running - 1))
done
echo "fuzz: $(wc -l <<<"$all") targets for $duration each"
exit $failed
