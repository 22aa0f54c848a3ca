package session

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrReleased ends the context of a [Hold] that its owner gave back.
var ErrReleased = errors.New("released by its owner")

// Hold is something that a session has and can lose: a lock, a permit, leadership, a
// registration. Recipes make a hold for each value that they return; users see its
// context and its guard.
//
// While a session has holds, it proves, by the rule of [Options.Trust], that the
// servers still keep it. If the proof fails, the session gives itself and all its holds
// up, before a server can grant the lock, permit or leadership of a hold to another
// client.
type Hold struct {
	s      *Session
	path   string
	ctx    context.Context
	cancel context.CancelCauseFunc
	// leaseRenewer.mu guards the fields below: the place of the hold in
	// leaseRenewer.holds; nil: it has none. bare is not nil while no watch on the znode
	// is set, or asked for.
	place, bare *list.Element
}

// Hold starts to hold the ephemeral znode path, which this session has created
// and knows to exist: its creation was answered in this session, or
// [Session.VerifyLive] has just succeeded for it. watch is a watch for the znode's
// deletion, if the caller has one already, or nil; the hold takes the watch over.
// A watch may report events from before the reply to its read: for a path that is
// used again, pass only a watch that was set while the znode existed. Hold waits,
// within ctx, until trust in the session is proved; usually it is proved already.
//
// The hold's context ends with the cause ErrReleased, or with ErrLost and a
// reason. The reason is that of the lost session, or ErrNodeDeleted if the znode
// was deleted; a server that expires the session deletes the znode first, so
// ErrNodeDeleted may mean that too. The context's Err compares the clock: after a
// pause of this process it is correct at once, before any timer runs; for derived
// contexts, call ContextErr.
func (s *Session) Hold(ctx context.Context, path string, watch *Watch) (*Hold, error) {
	s.mustBeUsable(ctx)
	if err := ValidatePath(path); err != nil {
		return nil, &OpError{Op: "hold", Path: path, Err: err}
	}
	if s.reads {
		return nil, &OpError{Op: "hold", Path: path, Err: ErrReadOnly}
	}
	h := &Hold{s: s, path: path}
	for {
		if err := s.VerifyLive(ctx, path); err != nil {
			return nil, err
		}
		if s.renewer.addHold(h, watch != nil) {
			if watch != nil {
				h.endOnDeletion(watch)
			}
			return h, nil
		}
	}
}

// endOnDeletion ends the hold when w sees its znode go.
func (h *Hold) endOnDeletion(w *Watch) {
	w.OnFire(func(ev Event) {
		if ev.Type == EventDeleted {
			h.End(errDeleted)
		}
		h.s.renewer.markUnwatched(h)
	})
}

// Context ends when the hold ends.
func (h *Hold) Context() context.Context {
	h.mustBeMade()
	return h.ctx
}

// Derive returns a context that ends with the hold and can be ended before; its
// Err compares the clock like the hold's.
func (h *Hold) Derive() (context.Context, context.CancelCauseFunc) {
	h.mustBeMade()
	ctx, cancel := context.WithCancelCause(h.ctx)
	return clocked{ctx, h.s}, cancel
}

// Session returns the session in which the hold was won.
func (h *Hold) Session() *Session {
	h.mustBeMade()
	return h.s
}

// Path returns the path of the hold's znode.
func (h *Hold) Path() string {
	h.mustBeMade()
	return h.path
}

// Err returns nil while the hold lasts, and the cause of its end afterwards. Err
// compares the clock, and does not rely on timers and the network alone.
func (h *Hold) Err() error {
	h.mustBeMade()
	if h.ctx.Err() == nil {
		return nil
	}
	return context.Cause(h.ctx)
}

// Guard returns a check for a transaction, in this session or any other, even of
// a client with another chroot: the transaction fails, with nothing applied, once
// the hold's znode is gone. A guard protects data in the same ZooKeeper even from
// a holder that does not know of its loss yet.
func (h *Hold) Guard() Op {
	h.mustBeMade()
	return h.s.CheckOp(h.path, -1)
}

// End ends the hold for cause; nil means ErrReleased. The first end counts. End
// does not touch the znode; the caller should delete the znode next.
func (h *Hold) End(cause error) {
	h.mustBeMade()
	if cause == nil {
		cause = ErrReleased
	}
	h.s.renewer.removeHold(h)
	h.cancel(cause)
}

// VerifyLive proves, within ctx, that the servers keep this session, and that the
// znode path exists. VerifyLive sends a request only if the last proof has run out.
func (s *Session) VerifyLive(ctx context.Context, path string) error {
	s.mustBeUsable(ctx)
	if err := ValidatePath(path); err != nil {
		return &OpError{Op: "verify", Path: path, Err: err}
	}
	for {
		if err := s.alive(ctx); err != nil {
			return &OpError{Op: "verify", Path: path, Err: err}
		}
		if s.renewer.trusted(s.renewer.timing.timeout / 8) {
			return nil
		}
		sent := s.now()
		if _, err := s.Txn(ctx, CheckOp(path, -1)); err != nil && !errors.Is(err, ErrUnknownOutcome) {
			return fmt.Errorf("session: verify %s: %w", path, err)
		}
		// The first proof on a connection may need a touch that is older by
		// the relay time: wait for the next heartbeat's turn.
		if s.renewer.trusted(s.renewer.timing.timeout / 8) {
			return nil
		}
		if err := s.sleep(ctx, max(0, s.renewer.timing.heartbeat-s.now().Sub(sent))); err != nil {
			return &OpError{Op: "verify", Path: path, Err: err}
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
		return endError(ctx)
	case <-s.ctx.Done():
		return s.Err()
	}
}

// awaitRepetition waits, within ctx and the session's life, before a request is sent again
// that has failed with err. lost, which it counts up, is how often the request has failed in
// a row: a request that costs the connection each time must not do so as fast as the network
// can, and a server that has too much to do needs time for it from the first time on.
func (s *Session) awaitRepetition(ctx context.Context, err error, lost *int) error {
	throttled := errors.Is(err, ErrThrottled)
	if throttled {
		*lost = max(*lost, 1)
	}
	over := s.BackOff(ctx, *lost)
	*lost++
	if over != nil && throttled {
		return fmt.Errorf("%w (%w)", over, ErrThrottled)
	}
	return over
}

// BackOff waits, within ctx and the session's life, before a retry of something
// that has cost lost+1 connections in a row: not at all after the first, then by
// [Options.Retry], up to five times its Max. Operations do that by themselves;
// BackOff is for retries of requests of the Start methods.
func (s *Session) BackOff(ctx context.Context, lost int) error {
	s.mustBeUsable(ctx)
	return s.sleep(ctx, s.client.opts.Backoff.slowBackoff().pause(lost, s.client.random))
}
