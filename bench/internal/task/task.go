// Package task is the protocol between the program and its peers, and the
// common code of the peers written in Go.
//
// A peer is a process. Each line of its input is a [Task] as JSON, and each of
// its lines of output an [Answer]; one task at a time. The peer ends with its
// input.
package task

import "time"

// Kind is the kind of a measurement.
type Kind string

// The kinds, and the values of their answers.
const (
	// Hello has no measurement: the answer has the version of the library.
	Hello Kind = "hello"

	// Lock, Semaphore and RWLock take and give back, Counter adds one:
	// operations per second of all workers together.
	Lock      Kind = "lock"
	Semaphore Kind = "semaphore"
	RWLock    Kind = "rwlock"
	Counter   Kind = "counter"
	// Barrier enters and leaves a double barrier, all workers together:
	// milliseconds a round.
	Barrier Kind = "barrier"

	// Load is a view of the path's children, from its start until it is
	// complete: milliseconds, the median of as many loads as time permits.
	Load Kind = "load"
	// Creates is a view of the path's children, initially without any. When the
	// view is loaded, the answer is Ready, and Nodes children are created:
	// milliseconds from the time in the data of the child [FirstChild] until the
	// view is complete.
	Creates Kind = "creates"
	// Change is a view of the path's children. When the view is loaded, the
	// answer is Ready, and one of the children is set repeatedly: the median of
	// the microseconds from the time in the data until the view reports the
	// change.
	Change Kind = "change"
	// Election has as many candidates as clients; each leader resigns and stands
	// again: the median of the microseconds until the next leader knows.
	Election Kind = "election"

	// Ring is a queue without a recipe: each client deletes its znode when it is
	// told that its predecessor's znode has gone: deletions per second.
	Ring Kind = "ring"
	// Notice is a deletion by one client until another client, which watches, knows:
	// the median of the microseconds.
	Notice Kind = "notice"

	// CreateDelete creates a znode and deletes it, Set sets one, and SetTwice sets one
	// twice in a transaction: operations per second of plain requests.
	CreateDelete Kind = "create+delete"
	Set          Kind = "set"
	SetTwice     Kind = "set+set"
)

// FirstChild is the name of the first child created in a task of the kind
// [Creates].
const FirstChild = "child-000000"

// ChangedChild is the name of the child that is set in a task of the kind [Change].
const ChangedChild = "child-000003"

// Task describes a measurement. A peer makes its clients for each task, each
// with a session of its own, and has closed them when it answers.
type Task struct {
	Kind Kind `json:"kind"`
	// Path is the znode to use. For views and plain requests the znode exists,
	// for other kinds only its parent.
	Path string `json:"path"`
	// Clients is the number of sessions, Workers the number of goroutines or
	// threads. Worker i uses client i modulo Clients; workers of one client
	// share its recipes.
	Clients int `json:"clients"`
	Workers int `json:"workers"`
	// Permits of a semaphore.
	Permits int `json:"permits,omitempty"`
	// Writes is the percentage of writing turns of a read/write lock: the n-th
	// turn of worker i writes if (i+n)*Writes%100 < Writes.
	Writes int `json:"writes,omitempty"`
	// Nodes is how many children there are, or will be.
	Nodes int `json:"nodes,omitempty"`
	// WarmMS is how long to work before measuring, TimeMS how long to measure,
	// in milliseconds.
	WarmMS int64 `json:"warm_ms"`
	TimeMS int64 `json:"time_ms"`
}

// Warm is how long to work before measuring.
func (t Task) Warm() time.Duration { return time.Duration(t.WarmMS) * time.Millisecond }

// Time is how long to measure.
func (t Task) Time() time.Duration { return time.Duration(t.TimeMS) * time.Millisecond }

// Answer is the answer of a peer.
type Answer struct {
	// Ready: the view is loaded, and another answer follows.
	Ready bool    `json:"ready,omitempty"`
	Value float64 `json:"value,omitempty"`
	// Cost is the cost of an operation; only peers written in Go tell it.
	Cost    *Cost  `json:"cost,omitempty"`
	Version string `json:"version,omitempty"`
	Error   string `json:"error,omitempty"`
}
