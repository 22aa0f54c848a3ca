package session

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrReleased ends the context of a [Hold] that its owner gave back.
var ErrReleased = errors.New("released by its owner")

// Hold is something that a session has and can lose with it: a lock, a permit,
// leadership, a registration. Recipes make one for each thing that they hand
// out; users meet it as the context and the guard of what they hold.
//
// While a session has holds it proves, by the rule of [Options.Trust], that the
// servers still keep it. When it cannot, it gives the session up, and all its
// holds with it, before a server can give to someone else what they stand for.
type Hold struct {
	s      *Session
	path   string
	ctx    context.Context
	cancel context.CancelCauseFunc
	armed  atomic.Bool // keeper's: a watch on the znode is set, or asked for
}

// Hold starts to hold the ephemeral znode path, which this session has created and
// knows to exist: its creation was answered in this session, or [Session.Confirm] has
// just succeeded for it. watch is a watch for the znode's deletion, if the caller
// has one already, or nil; the hold takes it over. A watch may tell of what came
// before its read was answered: of a path that is used again, pass only one that
// was set when the znode was there. It waits, within ctx, until
// trust in the session is proved; as a rule that is the case already.
//
// The hold's context ends with the cause ErrReleased, or with ErrLost and a
// reason: that of the session, or ErrNodeDeleted when somebody deletes the
// znode; a server that expires the session does so first, so ErrNodeDeleted may
// be that too. Its Err looks at the clock: after a pause of this process it
// tells the truth at once, before any timer runs.
func (s *Session) Hold(ctx context.Context, path string, watch *Watch) (*Hold, error) {
	if err := ValidatePath(path); err != nil {
		return nil, &OpError{Op: "hold", Path: path, Err: err}
	}
	h := &Hold{s: s, path: path}
	for {
		if err := s.Confirm(ctx, path); err != nil {
			return nil, err
		}
		if s.keeper.add(h) {
			if watch != nil {
				h.armed.Store(true)
				h.listen(watch)
			}
			return h, nil
		}
	}
}

// listen ends the hold when w sees its znode go.
func (h *Hold) listen(w *Watch) {
	w.OnFire(func(ev Event) {
		if ev.Type == EventDeleted {
			h.End(errDeleted)
		}
		h.armed.Store(false)
	})
}

// Context ends when the hold does.
func (h *Hold) Context() context.Context { return h.ctx }

// Derive returns a context that ends with the hold and can be ended before;
// its Err looks at the clock like the hold's.
func (h *Hold) Derive() (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(h.ctx)
	return clocked{ctx, h.s}, cancel
}

// Session is the session in which the hold was won.
func (h *Hold) Session() *Session { return h.s }

// Path is the znode that stands for the hold.
func (h *Hold) Path() string { return h.path }

// Err is nil while the hold lasts, and its end's cause after. It looks at the
// clock, not only at what timers and the network have told so far.
func (h *Hold) Err() error {
	if h.ctx.Err() == nil {
		return nil
	}
	return context.Cause(h.ctx)
}

// Guard is a check to put into a transaction, in this session or any other, also
// of a client with another chroot: the transaction fails, with nothing applied,
// once the hold's znode is gone. It protects what lives in the same ZooKeeper even
// from a holder that does not know yet that it has lost.
func (h *Hold) Guard() Op { return h.s.CheckOp(h.path, -1) }

// End ends the hold for cause; nil means ErrReleased. The first end counts. It
// does not touch the znode, which the caller is expected to delete next.
func (h *Hold) End(cause error) {
	if cause == nil {
		cause = ErrReleased
	}
	h.s.keeper.remove(h)
	h.cancel(cause)
}

// Confirm proves, within ctx, that the servers keep this session, and that the
// znode path exists, unless that is already proved for the time being: with a
// request only if the last proof has run out.
func (s *Session) Confirm(ctx context.Context, path string) error {
	if err := ValidatePath(path); err != nil {
		return &OpError{Op: "confirm", Path: path, Err: err}
	}
	for {
		if err := s.alive(ctx); err != nil {
			return &OpError{Op: "confirm", Path: path, Err: err}
		}
		if s.keeper.trusted(s.keeper.timing.timeout / 8) {
			return nil
		}
		sent := s.now()
		if _, err := s.Txn(ctx, CheckOp(path, -1)); err != nil && !errors.Is(err, ErrUnknownOutcome) {
			return fmt.Errorf("session: confirm %s: %w", path, err)
		}
		// The first proof on a connection may need a touch that is older by
		// the relay time: wait for the next heartbeat's turn.
		if s.keeper.trusted(s.keeper.timing.timeout / 8) {
			return nil
		}
		if err := s.sleep(ctx, max(0, s.keeper.timing.heartbeat-s.now().Sub(sent))); err != nil {
			return &OpError{Op: "confirm", Path: path, Err: err}
		}
	}
}

// sleep waits for d, ctx or the session's end.
func (s *Session) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return s.alive(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	case <-s.ctx.Done():
		return s.Err()
	}
}

// BackOff waits, within ctx and the session's life, before something is repeated
// that has cost lost+1 connections in a row: not at all after the first, then by
// [Options.Retry]. Operations do that by themselves; it is for what repeats
// requests that were started with the Start methods.
func (s *Session) BackOff(ctx context.Context, lost int) error {
	return s.sleep(ctx, s.client.opts.Retry.pause(lost))
}

// clocked is a session's context whose Err looks at the clock.
type clocked struct {
	context.Context
	s *Session
}

func (c clocked) Err() error {
	c.s.keeper.check()
	return c.Context.Err()
}
