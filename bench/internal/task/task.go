// Package task is what the program asks of its peers, and what those that are
// written in Go have in common.
//
// A peer is a process. Each line of its input is a [Task] as JSON, and each of
// its lines of output an [Answer]; one task at a time. It ends with its input.
package task

import "time"

// Kind is the kind of a measurement.
type Kind string

// The kinds, and what the value of their answer is.
const (
	// Hello measures nothing: the answer has the version of the library.
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

	// Load is a view of the path's children, from its start until it has all of
	// them: milliseconds, the median of as many loads as there is time for.
	Load Kind = "load"
	// Creates is a view of the path's children, of which there are none yet.
	// When it is loaded the answer is Ready, and Nodes children are created:
	// milliseconds from what the data of the child called [FirstChild] says
	// until the view has all of them.
	Creates Kind = "creates"
	// Change is a view of the path's children. When it is loaded the answer is
	// Ready, and one of them is set again and again: the median of the
	// microseconds from what the data says until the view tells of the change.
	Change Kind = "change"
	// Election has as many candidates as clients; each that leads resigns, and
	// stands again: the median of the microseconds until the next one knows.
	Election Kind = "election"

	// CreateDelete creates a znode and deletes it, Set sets one: operations per
	// second of plain requests.
	CreateDelete Kind = "create+delete"
	Set          Kind = "set"
)

// FirstChild is the name of the first child that is created in a task of the
// kind [Creates].
const FirstChild = "child-000000"

// Task describes one measurement. A peer makes its clients for each task, each with a
// session of its own, and has closed them when it answers.
type Task struct {
	Kind Kind `json:"kind"`
	// Path is the znode to use. It exists for views and plain requests, and
	// its parent does for the rest.
	Path string `json:"path"`
	// Clients is the number of sessions, Workers that of goroutines or threads.
	// Worker i uses client i modulo Clients; workers of one client share what
	// is meant to be shared.
	Clients int `json:"clients"`
	Workers int `json:"workers"`
	// Permits of a semaphore.
	Permits int `json:"permits,omitempty"`
	// Writes is which percentage of a read/write lock's turns write: the n-th
	// turn of worker i does if (i+n)*Writes%100 < Writes.
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
	// Ready says that the view is loaded: another answer follows.
	Ready   bool    `json:"ready,omitempty"`
	Value   float64 `json:"value,omitempty"`
	Version string  `json:"version,omitempty"`
	Error   string  `json:"error,omitempty"`
}
