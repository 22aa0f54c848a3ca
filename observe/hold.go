package observe

import "time"

// Hold is something held.
type Hold struct {
	// ID is a random number of the hold's own, not 0.
	ID   uint64
	Kind Kind
	// Path is the path that was given to the recipe.
	Path string
	// Wait is the ID of the wait from which the hold came; 0 if there was none.
	Wait uint64
	// Znode is the path of the znode that stands for the hold at the servers.
	Znode string
	// Token is the fencing token of the hold.
	Token int64
	// Session is the id of the session in which the hold was won.
	Session int64
	// Local says that another goroutine of this process has handed the hold over,
	// without a request to the servers.
	Local bool
	// Begun is the time at which the hold began.
	Begun time.Time
}

// HoldBegun is the event in which a hold begins.
type HoldBegun struct{ Hold }

// End is how a hold ends.
type End string

// The ends of holds.
const (
	// Released: the owner gave the hold back.
	Released End = "released"
	// HandedOver: the owner gave the hold back, and another goroutine of this process
	// has it now, without a request to the servers.
	HandedOver End = "handed over"
	// Lost: the session was lost, or the znode was deleted; also if the call that gives the
	// hold back has found that out.
	Lost End = "lost"
	// Unconfirmed: the owner gave the hold back, and no server has answered for a session
	// timeout. The hold may have been lost a moment before; it is gone by now, or as soon
	// as the servers are back.
	Unconfirmed End = "unconfirmed"
)

// HoldEnded is the event in which a hold ends. A release is reported when the call that
// releases returns; a loss is reported at once, whether or not the work has stopped.
type HoldEnded struct {
	Hold
	// Took is the time from Begun to the end of the hold's context.
	Took time.Duration
	End  End
	// Err says why a hold was lost, or is not confirmed to be released; it wraps
	// session.ErrLost. For a release, it is the error that the release has returned, and
	// nil usually. It wraps the context's error if the caller did not wait for the answer
	// of a server: the release goes on in the background.
	Err error
	// TrustLeft is, for a hold that was lost because trust ran out, the time for which the
	// servers surely kept the session at the moment of the loss: no other client could hold
	// the same before. It is about session.Options.StopMargin, without a pause of the process.
	// 0 or less: none, also if the servers had ended the session or the hold first, or the
	// client was closed.
	TrustLeft time.Duration
}

// Name is "hold begun".
func (HoldBegun) Name() string { return "hold begun" }

// Name is "hold ended".
func (HoldEnded) Name() string { return "hold ended" }

func (HoldBegun) event() {}
func (HoldEnded) event() {}
