#!/bin/bash
# Starts the cluster demo, a lock with four contenders, zkr exporter and Prometheus, so that graphs and alerts can be
# looked at while nodes are killed on the demo's page. Ctrl-C ends everything.
#
#   scripts/watch-demo.sh            until Ctrl-C
#   scripts/watch-demo.sh --check    until Prometheus has the leader's series; then ends
#   scripts/watch-demo.sh --shoot F  writes a picture of a graph to F; needs Chromium
#
# It needs Go and Debian's package prometheus. PROMETHEUS_PORT is 9090 by default.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly mode=${1:-} picture=${2:-} port=${PROMETHEUS_PORT:-9090}
[[ $mode =~ ^(|--check|--shoot)$ ]] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
die() { echo "watch-demo: $*" >&2; exit 1; }
for tool in prometheus curl; do
	command -v $tool >/dev/null || die "$tool is missing: install Debian's package $tool"
done

work=$(mktemp -d)
running=() contenders=()
leave() {
	# The contenders first: without a server they would wait for a confirmation.
	[ ${#contenders[@]} = 0 ] || kill "${contenders[@]}" 2>/dev/null || true
	pkill -f "^$work/zkr lock" || true
	local end=$((SECONDS + 5))
	while [ $SECONDS -lt $end ] && pgrep -f "^$work/zkr lock" >/dev/null; do sleep 0.1; done
	[ ${#running[@]} = 0 ] || kill "${running[@]}" 2>/dev/null || true
	wait
	rm -rf "$work"
}
trap leave EXIT
trap 'exit 0' INT TERM

go build -o "$work/zkr" ./cmd/zkr
"$work/zkr" serve --listen 127.0.0.1:0 --tick 200ms -o json >"$work/serve" &
running+=($!)
until [ -s "$work/serve" ]; do sleep 0.1; done
ZKR_SERVERS=$(sed 's/.*"servers":"\([^"]*\)".*/\1/' "$work/serve")
export ZKR_SERVERS
"$work/zkr" demo cluster --listen 127.0.0.1:0 -o json >"$work/demo" &
running+=($!)
contend() {
	while :; do
		"$work/zkr" lock /locks/report -- sleep $((2 + RANDOM % 6)) || return 0
	done
}
for _ in 1 2 3 4; do
	contend 2>/dev/null &
	contenders+=($!)
done
"$work/zkr" exporter --listen 127.0.0.1:0 -o json >"$work/exporter" &
running+=($!)
until [ -s "$work/exporter" ]; do sleep 0.1; done
exporter=$(sed 's,.*"url":"http://\([^/"]*\).*,\1,' "$work/exporter")

cp deploy/prometheus/alerts.yml "$work"
sed "s/127.0.0.1:9381/$exporter/; s/: 5s/: 1s/" deploy/prometheus/prometheus.yml >"$work/prometheus.yml"
prometheus --config.file "$work/prometheus.yml" --storage.tsdb.path "$work/data" --web.listen-address "127.0.0.1:$port" \
	>"$work/log" 2>&1 &
running+=($!)

# has waits until a query has a result.
has() {
	local end=$((SECONDS + 60))
	until curl -fs "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1" 2>/dev/null | grep -q '"value"'; do
		[ $SECONDS -lt $end ] || { tail -5 "$work/log" >&2; die "not within a minute: $1"; }
		sleep 0.2
	done
}
has 'zkr_holders{kind="election"} == 1'
page=$(grep -o '"url":"[^"]*"' "$work/demo" | head -1 | cut -d'"' -f4)

case $mode in
--check)
	curl -fs "http://127.0.0.1:$port/api/v1/rules" | grep '"name":"CoordinationNotVisible"' >/dev/null || die "Prometheus has no rules"
	has 'zkr_view_current == 1'
	echo "watch-demo: Prometheus has the rules, and the series of the demo's election"
	exit 0
	;;
--shoot)
	sleep 60 # for a line to look at
	graph='g0.expr=zkr_longest_wait_seconds%7Bkind%3D%22mutex%22%7D&g0.tab=0&g0.range_input=1m'
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1200,790 --virtual-time-budget=15000 \
		--screenshot="$picture" "http://127.0.0.1:$port/graph?$graph" >/dev/null 2>&1
	exit 0
	;;
esac
echo "nodes       $page"
echo "metrics     http://$exporter/metrics"
echo "Prometheus  http://127.0.0.1:$port/graph?g0.expr=zkr_longest_hold_seconds&g0.tab=0&g0.range_input=5m"
echo "alerts      http://127.0.0.1:$port/alerts"
echo "Ctrl-C ends all."
wait
