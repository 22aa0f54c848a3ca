#!/bin/bash
# Lets processes of two versions of zkr meet on the same paths, as in a rolling update of the
# programs that use the library: locks, elections, counters, members, jobs, tasks and shared
# resources. The versions are the revision REV and the working tree.
#
#   scripts/check-versions.sh [REV]
#
# REV is the latest tag by default, or, without one, the commit a hundred before the present
# one. The server is "zkr serve" of the working tree, or $ZKR_SERVERS; shared heartbeats are
# tried on the former only, as their znode has the number of the server. It ends with 1 at the
# first thing that goes wrong.
set -euo pipefail
cd "$(dirname "$0")/.."

rev=${1:-$(git describe --tags --abbrev=0 2>/dev/null || git rev-list --skip=100 --max-count=1 HEAD)}
work=$(mktemp -d)
readonly rev work root=/versions-$$ given=${ZKR_SERVERS:-}
jobs_of() { jobs -p | xargs -r ps -o pid= -p 2>/dev/null; }
leave() {
	local pid
	for pid in $(jobs_of); do kill "$pid" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$work"
}
trap leave EXIT
say() { printf '%-12s %s\n' "$1" "$2"; }
fail() { echo "versions: $*" >&2; exit 1; }

# zkr runs one of the versions; in the background, it is called without this function, so
# that a signal reaches it.
zkr() { "$work/$1" "${@:2}"; }
readonly both=(former present)

build() {
	mkdir "$work/src"
	git archive "$rev" | tar -x -C "$work/src"
	(cd "$work/src/cmd/zkr" && go build -o "$work/former" .)
	(cd cmd/zkr && go build -o "$work/present" .)
	! cmp -s "$work/former" "$work/present" || fail "$rev and the working tree make the same program"
	go build -o "$work/peer-present" ./internal/versionpeer
	mkdir -p "$work/src/internal/versionpeer"
	cp internal/versionpeer/*.go "$work/src/internal/versionpeer"
	if ! (cd "$work/src" && go build -o "$work/peer-former" ./internal/versionpeer) 2>"$work/peer-errors"; then
		say versionpeer "$rev cannot compile it: no crowded lock, and no shared heartbeats"
		cat "$work/peer-errors"
	fi
}

serve() {
	[ -z "$given" ] || return 0
	"$work/present" serve --listen 127.0.0.1:0 -o json >"$work/serve" &
	until [ -s "$work/serve" ]; do sleep 0.05; done
	ZKR_SERVERS=$(grep -oE '127\.0\.0\.1:[0-9]+' "$work/serve" | head -1)
	export ZKR_SERVERS
}

# eventually waits until a command succeeds.
eventually() {
	local what=$1 end=$((SECONDS + 60))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || fail "$what: not within a minute"
		sleep 0.1
	done
}

# exclusive lets processes of both versions run a command that must run alone: each adds one
# to a number, without a lock of its own.
exclusive() {
	local name=$1 rounds=15 version pids=()
	shift
	echo 0 >"$work/count"
	cat >"$work/alone" <<-'END'
		mkdir "$1/held" || { echo overlap >>"$1/bad"; exit 1; }
		n=$(cat "$1/count"); echo $((n + 1)) >"$1/count"
		rmdir "$1/held"
	END
	for version in "${both[@]}" "${both[@]}"; do
		(for _ in $(seq $rounds); do zkr "$version" "$@" --grace 1s -- sh "$work/alone" "$work" || exit 1; done) &
		pids+=($!)
	done
	wait "${pids[@]}" || fail "$name: a command failed"
	[ ! -e "$work/bad" ] || fail "$name: two processes held it at once"
	[ "$(cat "$work/count")" = $((4 * rounds)) ] || fail "$name: $(cat "$work/count") of $((4 * rounds)) changes are left"
	say "$name" "$((4 * rounds)) holders, one at a time"
}

counters() {
	local version pids=()
	for version in "${both[@]}" "${both[@]}"; do
		(for _ in $(seq 15); do zkr "$version" counter add "$root/counter" >/dev/null || exit 1; done) &
		pids+=($!)
	done
	wait "${pids[@]}" || fail "counter: a command failed"
	for version in "${both[@]}"; do
		[ "$(zkr "$version" counter get "$root/counter")" = 60 ] || fail "counter: not 60 for the $version version"
	done
	say counter "60 changes, each made once"
}

members() {
	local version pids=()
	for version in "${both[@]}"; do
		"$work/$version" members join "$root/members" "$version" -- sleep 60 &
		pids+=($!)
	done
	sees_both() { [ "$(zkr "$1" members ls "$root/members" -o json | grep -oE '"id":"(former|present)"' | wc -l)" = 2 ]; }
	for version in "${both[@]}"; do
		eventually "members: the $version version does not see both" sees_both "$version"
	done
	kill "${pids[@]}"
	wait "${pids[@]}" || true
	say members "each version sees both"
}

# job_of submits a job with one version, and watches it with the other.
job_of() {
	local submits=$1 watches=$2 job=words-$1-$$ version pids=() i=0
	: >"$work/ids"
	zkr "$submits" job submit "$job" --workers 4 >/dev/null
	for version in "${both[@]}" "${both[@]}"; do
		i=$((i + 1))
		"$work/$version" job join "$job" --identity "w$i" -- sh -c 'echo $ZKR_WORKER_ID >>"$0"' "$work/ids" 2>/dev/null &
		pids+=($!)
	done
	zkr "$watches" job wait "$job" --for finished --timeout 60s >/dev/null
	wait "${pids[@]}" || fail "job: a worker failed"
	[ "$(sort -n "$work/ids" | tr '\n' ' ')" = "0 1 2 3 " ] || fail "job: the ids are $(sort -n "$work/ids" | tr '\n' ' ')"
	say job "submitted by the $submits version: ids 0 to 3, without a gap"
}

# tasks_of runs a queue whose master is of one version, and a worker of each.
tasks_of() {
	local version pids=() got
	"$work/$1" task master "$root/queue" >/dev/null &
	pids=($!)
	for version in "${both[@]}"; do
		"$work/$version" task worker "$root/queue" -- tr a-z A-Z >/dev/null 2>&1 &
		pids+=($!)
	done
	for i in $(seq 10); do
		for version in "${both[@]}"; do
			got=$(zkr "$version" task submit "$root/queue" --wait <<<"$version-$i")
			[[ $got = *"${version^^}-$i"* ]] || fail "tasks: $version-$i came back as $got"
		done
	done
	kill "${pids[@]}"
	wait "${pids[@]}" || true
	say tasks "20 of both versions, with a master of the $1 version"
}

resources() {
	local version pids=() i
	for i in $(seq 8); do zkr former rebalance add "$root/group" "r$i" >/dev/null; done
	cat >"$work/own" <<-'END'
		mine=$1/own-$ZKR_RESOURCE
		trap 'rmdir "$mine"; exit' TERM # at any moment, also before there is a folder
		mkdir "$mine" || { echo overlap >>"$1/bad"; exit 1; }
		while :; do sleep 0.05; done
	END
	for version in "${both[@]}" "${both[@]}"; do
		"$work/$version" rebalance join "$root/group" -- sh "$work/own" "$work" >/dev/null 2>&1 &
		pids+=($!)
	done
	owned() { [ "$(find "$work" -maxdepth 1 -name 'own-*' | wc -l)" = 8 ]; }
	members_of() { [ "$(zkr "$1" rebalance ls "$root/group" -o json | grep -oE '"owner":"[^"]*"' | sort -u | wc -l)" = "$2" ]; }
	eventually "resources: not all are owned" owned
	for version in "${both[@]}"; do eventually "resources: not four owners" members_of "$version" 4; done
	for i in 0 1; do # the coordinator, and a member of each version
		kill "${pids[$i]}"
		wait "${pids[$i]}" || true
	done
	for version in "${both[@]}"; do eventually "resources: not two owners" members_of "$version" 2; done
	eventually "resources: not all are owned again" owned
	kill "${pids[@]:2}"
	wait "${pids[@]:2}" || true
	[ ! -e "$work/bad" ] || fail "resources: one had two owners at once"
	say resources "8 among members of both versions, one owner each"
}

# crowded lets more clients of both versions contend for a lock than its queue takes: most of
# them wait beside it.
crowded() {
	local version pids=()
	mkdir "$work/crowded"
	echo 0 >"$work/crowded/count"
	for version in "${both[@]}"; do
		"$work/peer-$version" queue "$ZKR_SERVERS" "$root" "$work/crowded" &
		pids+=($!)
	done
	for version in "${pids[@]}"; do
		wait "$version" || fail "crowded lock: a process failed"
	done
	[ "$(cat "$work/crowded/count")" = 30 ] || fail "crowded lock: $(cat "$work/crowded/count") of 30 holders"
	say crowded "30 holders, one at a time; most of them waited beside the queue"
}

# start_beats starts sessions of one version that share heartbeats, and waits until they know
# the heartbeats as "mine" or "theirs".
start_beats() {
	"$work/peer-$1" beats "$ZKR_SERVERS" "$root" >"$work/beats-$1" &
	beats[$1]=$!
	eventually "heartbeats: those of the $1 version are not $2" last_beats "$1" "$2"
}
last_beats() { tail -n 1 "$work/beats-$1" 2>/dev/null | grep -q "^$2 "; }
beats_of() { tail -n 1 "$work/beats-$1" | cut -d ' ' -f 2; }

# follow_beats lets the sessions of one version live on the heartbeats of the other version for
# longer than their timeout, then ends the other version, and lets them send their own.
follow_beats() {
	local follows=$1 sends=$2 before
	before=$(beats_of "$follows")
	sleep 12
	last_beats "$follows" theirs || fail "heartbeats: the sessions of the $follows version do not live on those of the $sends version"
	count=$(($(beats_of "$follows") - before))
	[ "$count" -le 36 ] || fail "heartbeats: $count in 12 s: the versions do not share them"
	kill -9 "${beats[$sends]}"
	wait "${beats[$sends]}" 2>/dev/null || true
	eventually "heartbeats: the sessions of the $follows version do not go on" last_beats "$follows" mine
	sleep 12
	kill -0 "${beats[$follows]}" 2>/dev/null || fail "heartbeats: a session of the $follows version was lost"
}

heartbeats() {
	local -A beats
	local count
	start_beats former mine
	start_beats present theirs
	follow_beats present former
	start_beats former theirs
	follow_beats former present
	kill "${beats[former]}"
	wait "${beats[former]}" 2>/dev/null || true
	say heartbeats "shared by sessions of both versions ($count in 12 s), also when the sender's process dies"
}

build
serve
say versions "$(git describe --tags --always "$rev") and the working tree, on $ZKR_SERVERS"
exclusive lock lock "$root/lock"
exclusive rwlock rwlock write "$root/rwlock"
exclusive election elect "$root/election"
counters
members
job_of former present
job_of present former
tasks_of former
tasks_of present
resources
if [ -e "$work/peer-former" ]; then
	crowded
	[ -n "$given" ] || heartbeats
fi
