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
	target float64
	// exists: the path is there before the peer begins, with task.Nodes
	// children unless they are created under the peer's eyes.
	exists bool
	// rehearse: the task has no time to warm up, so each peer does the task once
	// before the first round.
	rehearse bool
}

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
	return []workload{
		{name: "floor: create and delete", task: plain(task.CreateDelete, 1), unit: perSecond, peers: floor, exists: true},
		{name: "floor: set", task: plain(task.Set, 1), unit: perSecond, peers: floor, exists: true},
		{name: "floor: 64 sets at a time", task: plain(task.Set, 64), unit: perSecond, peers: floor, exists: true},
		{name: "lock, 1 client", task: each(task.Lock, 1), unit: perSecond, peers: all, target: 1},
		{name: "lock, 8 clients", task: each(task.Lock, 8), unit: perSecond, peers: all, target: 2},
		{name: "lock, 64 clients", task: each(task.Lock, 64), unit: perSecond, peers: all, target: 2},
		{name: "lock, 64 workers of 1 client", task: plain(task.Lock, 64), unit: perSecond, peers: all, target: 100},
		{name: "semaphore, 4 permits, 16 clients", task: permits, unit: perSecond, peers: recipes, target: 3},
		{name: "read/write lock, 8 clients, 10 % writes", task: readers, unit: perSecond, peers: sharers, target: 1.5},
		{name: "counter, 1 client", task: each(task.Counter, 1), unit: perSecond, peers: all, target: 2},
		{name: "counter, 8 clients", task: each(task.Counter, 8), unit: perSecond, peers: all, target: 2},
		{name: "counter, 64 workers of 1 client", task: plain(task.Counter, 64), unit: perSecond, peers: all, target: 300},
		{name: "double barrier, 32 parties", task: each(task.Barrier, 32), unit: milliseconds, peers: []string{ourName}},
		{name: "cache, load of 10,000 children", task: view(task.Load, children), unit: milliseconds, peers: watchers,
			target: 0.4, exists: true},
		{name: "cache, 10,000 creates until all are seen", task: view(task.Creates, children), unit: milliseconds, peers: watchers,
			target: 1, exists: true, rehearse: true},
		{name: "cache, a change until it is seen (p50)", task: view(task.Change, 10), unit: microseconds, peers: watchers,
			target: 0.9, exists: true},
		{name: "election, 8 candidates, a resignation until the next knows (p50)", task: each(task.Election, 8), unit: microseconds,
			peers: watchers, target: 0.6},
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

// before is how many children there are when the peer begins.
func (w workload) before() int {
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
