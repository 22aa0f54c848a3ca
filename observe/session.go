package observe

import (
	"context"
	"time"
)

// SessionChanged is the event in which the status of a client's session changes.
type SessionChanged struct {
	// Client is a random number of the client's own, not 0, in all its session events.
	Client uint64
	// Status is "connecting", "connected", "suspended", "lost" or "closed".
	Status string
	// Session is the id of the session, or of the last session after a loss.
	Session int64
	// Server is the address of the server last connected to.
	Server string
	// Before is the status before, and Took the time that it lasted.
	Before string
	Took   time.Duration
	// Err says why the session is suspended, lost or closed.
	Err error
}

// NoConnection is the event in which a client still has no connection: after 1 s, 2 s,
// 4 s and so on, and at the latest a minute after the event before.
type NoConnection struct {
	Client uint64
	// Status is "connecting", "suspended" or "lost".
	Status  string
	Session int64
	// For is the time since the connection was lost.
	For time.Duration
	// Holds is the number of things that the session holds.
	Holds int
	// TrustLeft is the time until they are given up, unless a server answers before; 0
	// without holds.
	TrustLeft time.Duration
	// Err is the error of the last attempt to connect.
	Err error
}

// TrustLow is the event in which a session that holds something has had no proof for
// longer than usual: less than a third of the session timeout is left until its holds are
// given up. It comes again only after a proof.
type TrustLow struct {
	Client  uint64
	Session int64
	Holds   int
	// TrustLeft is the time until they are given up, unless a proof comes before.
	TrustLeft time.Duration
}

// HeartbeatEnded is the event in which a heartbeat, which proves a session that holds
// something, has been answered or has failed.
type HeartbeatEnded struct {
	Client  uint64
	Session int64
	Took    time.Duration
	// Holds is the number of things that the session holds, and TrustLeft the time until
	// they are given up, unless a further proof comes before; 0 without holds.
	Holds     int
	TrustLeft time.Duration
	// Err is the error of a heartbeat that has proved nothing.
	Err error
}

// SessionSampled is the event in which a client says what its session is busy with: every ten
// seconds; within seconds of the end of the session's last hold; and, for the time of trust,
// where something else than a heartbeat of its own has proved the session (see
// session.Options.SharedHeartbeats and session.TrustAnswered). It is not sent without a session.
type SessionSampled struct {
	Client  uint64
	Session int64
	// Holds is the number of things that the session holds, and TrustLeft the time until
	// they are given up, unless a proof comes before; 0 without holds.
	Holds     int
	TrustLeft time.Duration
	// Watches is the number of watches and subscriptions that the session has.
	Watches int
	// Deletions is the number of deletions in the background that no server has confirmed.
	Deletions int
}

// Name is "session" and the status, such as "session suspended".
func (e SessionChanged) Name() string { return "session " + e.Status }

// Name is "no connection".
func (NoConnection) Name() string { return "no connection" }

// Name is "trust low".
func (TrustLow) Name() string { return "trust low" }

// Name is "session sampled".
func (SessionSampled) Name() string { return "session sampled" }

// Name is "heartbeat ended".
func (HeartbeatEnded) Name() string { return "heartbeat ended" }

func (SessionChanged) event() {}
func (NoConnection) event()   {}
func (TrustLow) event()       {}
func (HeartbeatEnded) event() {}
func (SessionSampled) event() {}

// Request is a request that was sent to a server.
type Request struct {
	// Op is the kind of the request: "create", "get", "txn", ...
	Op string
	// Path is the path that the request is about; empty for transactions.
	Path string
	// Took is the time until the reply, or until the failure.
	Took   time.Duration
	Result Result
	// Err is the error that the request has returned.
	Err error
}

// Result is a class of results of requests.
type Result string

// The results.
const (
	// OK: the server has carried the request out.
	OK Result = "ok"
	// Negative: the server has answered that there is no such znode, that there is one
	// already, that its version is another, and the like. Recipes expect such answers.
	Negative Result = "negative"
	// Refused: the server refuses such requests: a right, a quota or a feature is missing.
	Refused Result = "refused"
	// Unanswered: the connection was lost before the reply, or the server does not know
	// whether it has carried the request out. The recipes find out.
	Unanswered Result = "unanswered"
	// NotSent: there was no connection, or the session was lost.
	NotSent Result = "not sent"
)

// RequestObserver is an [Observer] that receives the requests, too. The client calls
// ObserveRequest on the goroutine that reads from the server: it must return within
// microseconds, and must not call the client. Counters and histograms can.
type RequestObserver interface {
	Observer
	// ObserveRequest receives r; ctx has the values of the context of Connect.
	ObserveRequest(ctx context.Context, r Request)
}
