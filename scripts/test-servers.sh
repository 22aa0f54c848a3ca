#!/bin/bash
# Runs all tests that need a real server on the servers of ZKTEST_SERVERS: Apache ZooKeeper,
# ClickHouse Keeper, RaftKeeper, or whatever speaks the protocol. It writes a report to send to
# this project.
#
#   ZKTEST_SERVERS=zk1:2181,zk2:2181 scripts/test-servers.sh [PACKAGE...]
#
# Use servers for tests: the tests create znodes, and do not delete them all. Tests that start,
# freeze or kill servers, cut links, or need special settings of the servers are left out, and
# so are those that need more servers than the list has. The report has the versions that the
# servers tell, and for each package how many tests ran, which of them failed, and how many were
# left out for which reason.
#
# PACKAGE is "work" by default: all modules. The report is written to $REPORT, by default
# servers.txt. The exit code is not 0 if a test failed.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly servers=${ZKTEST_SERVERS:-} report=${REPORT:-servers.txt} patience=5
die() { echo "test-servers: $*" >&2; exit 2; }
[ -n "$servers" ] || die "ZKTEST_SERVERS is not set: name the servers, as in ZKTEST_SERVERS=zk1:2181,zk2:2181"
[[ $servers != */* ]] || die "ZKTEST_SERVERS is $servers; it must have no chroot"

# ask prints the answer of one server to srvr.
ask() {
	local host=${1%:*} port=${1##*:}
	[[ $1 =~ :[0-9]+$ ]] || { host=$1 port=2181; }
	host=${host#[} host=${host%]}
	# shellcheck disable=SC2016 # the inner shell replaces them
	timeout "$patience" bash -c 'exec 3<>"/dev/tcp/$0/$1" && printf srvr >&3 && cat <&3' "$host" "$port" 2>/dev/null || true
}

describe() {
	local server answer
	printf 'zkrecipes  %s, %s\n' "$(git describe --tags --always --dirty 2>/dev/null || echo unknown)" "$(go version)"
	for server in ${servers//,/ }; do
		answer=$(ask "$server")
		[ -n "$answer" ] || die "$server does not answer srvr within $patience s: is it there, and does 4lw.commands.whitelist (four_letter_word_allow_list) have srvr?"
		printf '%-10s %s\n' "$server" "$(grep -iE 'version|^Mode' <<<"$answer" | tr -d '\r' | paste -sd ' ' | sed 's/  */ /g')"
	done
}

describe | tee "$report"
code=0
# A folder without jars: no test starts servers of its own instead. One package after the other,
# as they share the servers.
ZKTEST_MODE=servers ZKTEST_REQUIRE_REAL='' ZOOKEEPER_HOME=/none-but-ZKTEST_SERVERS \
	go run ./internal/gotest -tally -count=1 -p 1 -timeout 60m -run Apache "${@:-work}" 2>&1 | tee -a "$report" || code=$?
echo
echo "The report is in $report. Please send it, with the settings of the servers that are not the default."
exit "$code"
