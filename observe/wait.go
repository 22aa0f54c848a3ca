package observe

import "time"

// Wait is an operation that waits for its turn.
type Wait struct {
	// ID is a random number of the wait's own, not 0.
	ID   uint64
	Kind Kind
	// Path is the path that was given to the recipe.
	Path string
	// Try is set for an attempt that does not wait for its turn, such as TryLock: it fails
	// whenever another client holds or waits.
	Try bool
	// Begun is the time at which the wait began.
	Begun time.Time
}

// WaitBegun is the event in which a wait begins. Operations that get what they ask for
// at once have it, too.
type WaitBegun struct{ Wait }

// WaitQueued is the event in which a wait has learned its place in the queue at the
// servers. It comes when a listing that the recipe needs shows the place, which is
// usually twice: after the wait has joined the queue, and close to its turn.
type WaitQueued struct {
	Wait
	// Znode is the path of the contender's znode.
	Znode string
	// Ahead is the number of contenders ahead of it.
	Ahead int
}

// WaitEnded is the event in which a wait ends. If Err is nil, the wait has succeeded: for
// the kinds that are held, HoldBegun follows, with the wait's ID. A wait for several locks
// of a table is followed by a HoldBegun for each lock. Several calls of Await of one
// election.Candidacy share a HoldBegun, which has the ID of one of the waits.
type WaitEnded struct {
	Wait
	// Took is the time from Begun.
	Took time.Duration
	// Err is the error that the operation returns. It wraps the context's error if the
	// caller gave the wait up.
	Err error
	// Busy is set if an attempt that does not wait (see Wait.Try) has failed because another
	// client holds or waits.
	Busy bool
}

// Outcome is how a wait ended.
type Outcome string

// The outcomes of waits.
const (
	Granted    Outcome = "granted"     // it got its turn, or has passed
	GivenUp    Outcome = "given up"    // the caller's context ended
	NotGranted Outcome = "not granted" // an attempt that does not wait found it busy; see WaitEnded.Busy
	Failed     Outcome = "failed"
)

// Outcome classifies Err.
func (e WaitEnded) Outcome() Outcome {
	switch {
	case e.Err == nil:
		return Granted
	case IsContextEnd(e.Err):
		return GivenUp
	case e.Busy:
		return NotGranted
	}
	return Failed
}

// Name is "wait begun".
func (WaitBegun) Name() string { return "wait begun" }

// Name is "wait queued".
func (WaitQueued) Name() string { return "wait queued" }

// Name is "wait ended".
func (WaitEnded) Name() string { return "wait ended" }

func (WaitBegun) event()  {}
func (WaitQueued) event() {}
func (WaitEnded) event()  {}
