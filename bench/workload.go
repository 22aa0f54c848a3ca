package main

import (
	"context"
	"regexp"
	"slices"

	"github.com/zkrecipes/zkrecipes/bench/internal/task"
)

// The peers, by their names for -peers.
const (
	ourName     = "ours"
	goZooKeeper = "go-zookeeper"
	curator     = "curator"
	kazoo       = "kazoo"
)

// Units of figures. More operations are better, less time is.
const (
	perSecond    = "op/s"
	milliseconds = "ms"
	microseconds = "us"
)

// children is how many children the workloads of views have.
const children = 10_000

// workload is a measurement with several peers.
type workload struct {
	name  string
	task  task.Task // Path and times are those of a run
	unit  string
	peers []string
	// target is the target of our figure in relation to the best other peer's: a
	// minimum for a rate, a maximum for a time. 0 means no target.
	target target
	// floor is the name of a workload of raw requests that ours is compared with, and
	// ofFloor the target of our figure in relation to that one's.
	floor   string
	ofFloor target
	// exists: the path exists before the peer begins, with task.Nodes children unless
	// they are created while the peer runs.
	exists bool
	// rehearse: the task has no time to warm up, so each peer does the task once
	// before the first round.
	rehearse bool
}

// target is a ratio to reach in each profile.
type target struct{ loopback, lan float64 }

// always is the same target in all profiles.
func always(ratio float64) target { return target{ratio, ratio} }

// forProfile is the target in profile p.
func (t target) forProfile(p profile) float64 {
	if p.name == lan.name {
		return t.lan
	}
	return t.loopback
}

// Floors that several workloads are compared with.
const (
	floorTurn  = "floor: create and delete"
	floorTurns = "floor: create and delete, 8 clients"
	floorSets  = "floor: two sets in a transaction"
	floorRing8 = "floor: a ring of 8 clients"
	floorRing  = "floor: a ring of 64 clients"
	floorGone  = "floor: a deletion until a watcher knows (p50)"
	floorRead  = "floor: a change until it is read (p50)"
)

// workloads are all there are, the floors first: they warm the server up.
func workloads() []workload {
	all := allPeers()
	recipes := []string{ourName, curator, kazoo}
	watchers := []string{ourName, curator}
	// Kazoo's readers hang: a reader that lists the queue after the arrival of a
	// later writer waits for this writer, and the writer waits for the reader.
	sharers := []string{ourName, curator}
	floor := []string{goZooKeeper}
	plain := func(kind task.Kind, workers int) task.Task {
		return task.Task{Kind: kind, Clients: 1, Workers: workers}
	}
	each := func(kind task.Kind, clients int) task.Task {
		return task.Task{Kind: kind, Clients: clients, Workers: clients}
	}
	view := func(kind task.Kind, nodes int) task.Task {
		return task.Task{Kind: kind, Clients: 1, Workers: 1, Nodes: nodes}
	}
	permits, readers := each(task.Semaphore, 16), each(task.RWLock, 8)
	permits.Permits, readers.Writes = 4, 10
	ring := func(clients int) task.Task { return each(task.Ring, clients) }
	return []workload{
		{name: floorTurn, task: plain(task.CreateDelete, 1), unit: perSecond, peers: floor, exists: true},
		{name: floorTurns, task: each(task.CreateDelete, 8), unit: perSecond, peers: floor, exists: true},
		{name: "floor: set", task: plain(task.Set, 1), unit: perSecond, peers: floor, exists: true},
		{name: floorSets, task: plain(task.SetTwice, 1), unit: perSecond, peers: floor, exists: true},
		{name: "floor: 64 sets at a time", task: plain(task.Set, 64), unit: perSecond, peers: floor, exists: true},
		{name: floorRing8, task: ring(8), unit: perSecond, peers: floor, exists: true},
		{name: floorRing, task: ring(64), unit: perSecond, peers: floor, exists: true},
		{name: floorGone, task: each(task.Notice, 2), unit: microseconds, peers: floor, exists: true},
		{name: floorRead, task: view(task.Change, 10), unit: microseconds, peers: floor, exists: true},
		{name: "lock, 1 client", task: each(task.Lock, 1), unit: perSecond, peers: all, target: always(1.2),
			floor: floorTurn, ofFloor: always(0.85)},
		{name: "lock, 8 clients", task: each(task.Lock, 8), unit: perSecond, peers: all, target: target{1.25, 1.8},
			floor: floorRing8, ofFloor: target{0, 0.9}},
		{name: "lock, 64 clients", task: each(task.Lock, 64), unit: perSecond, peers: all, target: target{1.25, 1.8},
			floor: floorRing, ofFloor: target{0, 0.9}},
		{name: "lock, 64 workers of 1 client", task: plain(task.Lock, 64), unit: perSecond, peers: all, target: always(100)},
		{name: "semaphore, 4 permits, 16 clients", task: permits, unit: perSecond, peers: recipes, target: always(3)},
		{name: "read/write lock, 8 clients, 10 % writes", task: readers, unit: perSecond, peers: sharers, target: always(1.5),
			floor: floorTurns},
		{name: "counter, 1 client", task: each(task.Counter, 1), unit: perSecond, peers: all,
			floor: floorSets, ofFloor: always(0.9)},
		{name: "counter, 8 clients", task: each(task.Counter, 8), unit: perSecond, peers: all, target: always(2),
			floor: floorSets},
		{name: "counter, 64 workers of 1 client", task: plain(task.Counter, 64), unit: perSecond, peers: all, target: always(300)},
		{name: "double barrier, 32 parties", task: each(task.Barrier, 32), unit: milliseconds, peers: []string{ourName}},
		{name: "double barrier, 1,000 parties", task: each(task.Barrier, 1000), unit: milliseconds, peers: []string{ourName}},
		{name: "cache, load of 10,000 children", task: view(task.Load, children), unit: milliseconds, peers: watchers,
			target: always(0.1), exists: true},
		{name: "cache, 10,000 creates until all are seen", task: view(task.Creates, children), unit: milliseconds, peers: watchers,
			target: always(0.7), exists: true, rehearse: true},
		{name: "cache, a change until it is seen (p50)", task: view(task.Change, 10), unit: microseconds, peers: watchers,
			floor: floorRead, ofFloor: always(1.05), exists: true},
		{name: "election, 8 candidates, a resignation until the next knows (p50)", task: each(task.Election, 8), unit: microseconds,
			peers: watchers, target: target{0.7, 0.5}, floor: floorGone},
	}
}

// chosen are the workloads with names that match only, reduced to the wanted
// peers; workloads without a wanted peer are left out.
func chosen(all []workload, only *regexp.Regexp, peers []string) []workload {
	var out []workload
	for _, w := range all {
		w.peers = slices.DeleteFunc(slices.Clone(w.peers), func(p string) bool { return !slices.Contains(peers, p) })
		if only.MatchString(w.name) && len(w.peers) > 0 {
			out = append(out, w)
		}
	}
	return out
}

// allPeers are the names of all peers, in the order of the table.
func allPeers() []string { return []string{ourName, goZooKeeper, curator, kazoo} }

// initialChildren is the number of children before the peer begins.
func (w workload) initialChildren() int {
	if w.task.Kind == task.Creates {
		return 0
	}
	return w.task.Nodes
}

// writer is the part of this program when the peer is ready.
func (w workload) writer(z znodes, path string) func(context.Context) error {
	if w.task.Kind == task.Creates {
		return func(ctx context.Context) error { return unlessOver(ctx, z.fill(ctx, path, w.task.Nodes)) }
	}
	return func(ctx context.Context) error { return z.change(ctx, path) }
}
