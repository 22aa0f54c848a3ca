package zktest

import (
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

// Request is the view that a hook has of a request before the request is processed.
type Request struct {
	// Op is "connect", or the operation as ZooKeeper names it: create, create2,
	// createContainer, createTTL, delete, exists, getData, setData, getACL,
	// setACL, getChildren, getChildren2, sync, ping, multi, multiRead, setAuth,
	// setWatches, setWatches2, addWatch, removeWatches, checkWatches, whoAmI,
	// getEphemerals, getAllChildrenNumber, reconfig, closeSession.
	Op string
	// Session is 0 for the handshake of a new session.
	Session int64
	Server  int
	Client  string
	Xid     int32
	// Path is the first path, Paths all of them; "" and nil if there is none.
	Path  string
	Paths []string
	// Parts are the operations of a multi.
	Parts []string
	// Data is the value of a create or setData. Do not change it.
	Data []byte
	// OnlyChecks is set for a multi without changes (a heartbeat).
	OnlyChecks bool
	// N counts the requests of all sessions, SessionN those of this session, from 1.
	N, SessionN int
	// At is the server's clock.
	At time.Time
}

// Fault is the treatment of a request.
type Fault int

// Faults. "Cut" means that both ends notice at once; a "hole" means that
// nothing gets through on this connection any more; neither end notices until
// the client closes the connection.
const (
	// Pass processes the request as usual.
	Pass Fault = iota
	// DropRequest loses the request and makes the connection a hole.
	DropRequest
	// CutBefore cuts the connection; the request is not processed.
	CutBefore
	// DropReplyCut processes the request and cuts instead of answering.
	DropReplyCut
	// CutAfter processes the request, answers, and cuts behind the answer.
	CutAfter
	// DropReplyHole processes the request and makes the connection a hole
	// instead of answering.
	DropReplyHole
	// ExpireBefore expires the session; the request is not processed.
	ExpireBefore
	// ExpireAfter processes the request and expires the session instead of
	// answering.
	ExpireAfter
	// DelayReply processes the request; the answer, and everything after the
	// answer, leaves after Action.For.
	DelayReply
)

// Action is a hook's verdict; the zero value lets the request pass.
type Action struct {
	Do Fault
	// For is how long DelayReply delays.
	For time.Duration
}

type hook struct{ f func(Request) Action }

// OnRequest calls f for each request before it is processed. All hooks are
// called, in the order of registration; the first verdict other than Pass
// counts. f may call every method of the server. The returned function removes
// the hook.
func (s *Server) OnRequest(f func(Request) Action) (remove func()) {
	s.mustBeStarted()
	h := &hook{f}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append(s.hooks[:len(s.hooks):len(s.hooks)], h)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		var left []*hook
		for _, x := range s.hooks {
			if x != h {
				left = append(left, x)
			}
		}
		s.hooks = left
	}
}

// FailNth does a to the n-th request from now on, counted from 1, among the
// requests accepted by match; a nil match accepts all.
func (s *Server) FailNth(match func(Request) bool, n int, a Action) (remove func()) {
	s.mustBeStarted()
	var mu sync.Mutex
	seen := 0
	return s.OnRequest(func(r Request) Action {
		if match != nil && !match(r) {
			return Action{}
		}
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen == n {
			return a
		}
		return Action{}
	})
}

// askLocked calls the hooks without the lock, so hooks may call any method.
func (s *Server) askLocked(r Request) Action {
	hooks := s.hooks
	if len(hooks) == 0 {
		return Action{}
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	var verdict Action
	for _, h := range hooks {
		if a := h.f(r); verdict.Do == Pass {
			verdict = a
		}
	}
	return verdict
}

// Txn is a committed change.
type Txn struct {
	Zxid int64
	At   time.Time // when it was committed
	// Op is create, create2, createContainer, createTTL, delete, setData,
	// setACL, multi, createSession, closeSession (also on expiry),
	// deleteContainer, reconfig.
	Op      string
	Session int64    // 0 for the administrator and the server itself
	Paths   []string // of its changes, with sequence numbers
	// OnlyChecks is set for a multi without changes (a heartbeat).
	OnlyChecks bool
	// Code is the error if the change was refused; a refused change uses up a
	// zxid too.
	Code int32
}

// OnApply calls f for every committed change, once and in order, before any
// client can see it. f may call every method of the server. OnApply cannot be
// undone.
func (s *Server) OnApply(f func(Txn)) {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onApply = append(s.onApply[:len(s.onApply):len(s.onApply)], f)
}

func newTxn(t *tree.Txn) Txn {
	out := Txn{Zxid: t.Zxid, At: time.Now(), Op: t.Op.String(), Session: t.Session, Code: int32(t.Err), OnlyChecks: len(t.Changes) > 0}
	for i := range t.Changes {
		c := &t.Changes[i]
		out.OnlyChecks = out.OnlyChecks && c.Op == proto.OpCheck
		if c.Path != "" {
			out.Paths = append(out.Paths, c.Path)
		}
		if c.Op == proto.OpError && c.Err != proto.OK && out.Code == 0 {
			out.Code = int32(c.Err)
		}
	}
	return out
}

// newsLocked returns a function that tells the OnApply hooks about new changes.
// The loop calls newsLocked before each step, and answers to clients leave in
// separate steps, so hooks run before any client is told.
func (s *Server) newsLocked() func() {
	if len(s.applied) == 0 {
		return nil
	}
	todo, hooks := s.applied, s.onApply
	s.applied = nil
	return func() {
		for _, t := range todo {
			for _, f := range hooks {
				f(t)
			}
		}
	}
}
