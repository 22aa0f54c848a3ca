package matrix

import (
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// Fault is an event that happens to a single request.
type Fault string

// The faults.
const (
	// LostRequest: the connection breaks, the request is not processed.
	LostRequest Fault = "LostRequest"
	// LostReply: the request is processed, the connection breaks.
	LostReply Fault = "LostReply"
	// Cut: the request is answered, then the connection breaks.
	Cut Fault = "Cut"
	// BlackHole: the request and everything after it on the connection is lost
	// silently.
	BlackHole Fault = "BlackHole"
	// SilentReply: the request is processed; its answer and everything after it
	// is lost silently.
	SilentReply Fault = "SilentReply"
	// Expire: the session expires, the request is not processed.
	Expire Fault = "Expire"
	// ExpireAfter: the request is processed, then the session expires.
	ExpireAfter Fault = "ExpireAfter"
	// CancelContext: the context ends while the request is in progress; the
	// request is processed and answered a second later.
	CancelContext Fault = "CancelContext"
	// CancelLost: the context ends while the request is in progress, and the
	// connection breaks before the request is processed.
	CancelLost Fault = "CancelLost"
	// CancelUnknown: the context ends while the request is in progress; the
	// request is processed, and the connection breaks before the answer.
	CancelUnknown Fault = "CancelUnknown"
	// Pause: the answer takes two seconds.
	Pause Fault = "Pause"
	// Outage: the connection breaks, the request is not processed, and the client
	// under test reaches no server any more until the operation has returned. Its
	// context ends two seconds later, as when the program is told to stop.
	Outage Fault = "Outage"
	// Freeze: the request is answered, then all servers freeze for nine seconds,
	// or until the operation has returned. All does not include Freeze, because
	// other clients suffer too.
	Freeze Fault = "Freeze"
)

// freezeTime is nearly the lifetime of a session with a timeout of ten seconds:
// the client gives up the session, and the server still carries out requests of
// the session.
const freezeTime = 9 * time.Second

// untilStop is how long an outage lasts before the operation is told to stop.
const untilStop = 2 * time.Second

// All returns every fault that affects only the client under test.
func All() []Fault {
	return []Fault{
		LostRequest, LostReply, Cut, BlackHole, SilentReply, Expire, ExpireAfter,
		CancelContext, CancelLost, CancelUnknown, Pause, Outage,
	}
}

// cancels tells whether the fault ends the operation's context with the request.
func (f Fault) cancels() bool { return f == CancelContext || f == CancelLost || f == CancelUnknown }

func (f Fault) action() zktest.Action {
	switch f {
	case LostRequest, CancelLost, Outage:
		return zktest.Action{Do: zktest.CutBefore}
	case LostReply, CancelUnknown:
		return zktest.Action{Do: zktest.DropReplyCut}
	case Cut:
		return zktest.Action{Do: zktest.CutAfter}
	case BlackHole:
		return zktest.Action{Do: zktest.DropRequest}
	case SilentReply:
		return zktest.Action{Do: zktest.DropReplyHole}
	case Expire:
		return zktest.Action{Do: zktest.ExpireBefore}
	case ExpireAfter:
		return zktest.Action{Do: zktest.ExpireAfter}
	case CancelContext:
		return zktest.Action{Do: zktest.DelayReply, For: time.Second}
	case Pause:
		return zktest.Action{Do: zktest.DelayReply, For: 2 * time.Second}
	}
	return zktest.Action{}
}

// DefaultCounts accepts every request but connect, ping, setWatches, setAuth,
// closeSession, and transactions with only checks (heartbeats).
func DefaultCounts(r zktest.Request) bool {
	switch r.Op {
	case "connect", "ping", "setWatches", "setWatches2", "setAuth", "closeSession":
		return false
	}
	return !r.OnlyChecks
}
