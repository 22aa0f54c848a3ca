package barrier

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/follow"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Gate is a barrier that any client closes and opens: waiters pass as soon as the
// gate is open. The gate is closed while its path exists, so Curator's
// DistributedBarrier and Kazoo's Barrier can share the path.
type Gate struct {
	client *session.Client
	path   string
	opts   Options
	err    error // an invalid argument of NewGate
}

// NewGate makes a gate on path. NewGate sends nothing; the first call of a method
// reports an invalid argument. o may be nil.
func NewGate(client *session.Client, path string, o *Options) *Gate {
	g := &Gate{client: client, path: path}
	if g.opts, g.err = o.withDefaults(); g.err == nil {
		g.err = validatePlace(client, path)
	}
	return g
}

// Path returns the path argument of [NewGate].
func (g *Gate) Path() string { return receiver.OrZero(g).path }

// Wait waits until the gate is open. Wait decides by a state that was committed
// at the call or later, on any server; this needs a quorum.
//
// Servers do not report the removal of an unreadable gate. Such a gate is read
// again every 5 seconds.
func (g *Gate) Wait(ctx context.Context) error {
	g = receiver.OrZero(g)
	const op = "wait"
	if err := g.checkCall(ctx); err != nil {
		return failure(ctx, op, g.path, err)
	}
	waiting := observing.BeginWait(ctx, g.client, observe.Barrier, g.path)
	err := g.awaitOpen(ctx)
	if err != nil {
		err = failure(ctx, op, g.path, err)
	}
	waiting.End(err)
	return err
}

// awaitOpen waits until the gate is open.
func (g *Gate) awaitOpen(ctx context.Context) error {
	for closed, err := range g.states(ctx) {
		if err != nil {
			return err
		}
		if !closed {
			break
		}
	}
	return nil
}

// Closed reports whether the gate was closed at one moment after the call began.
func (g *Gate) Closed(ctx context.Context) (bool, error) {
	g = receiver.OrZero(g)
	const op = "look"
	if err := g.checkCall(ctx); err != nil {
		return false, failure(ctx, op, g.path, err)
	}
	for closed, err := range g.states(ctx) {
		if err != nil {
			return false, failure(ctx, op, g.path, err)
		}
		return closed, nil
	}
	return false, failure(ctx, op, g.path, context.Cause(ctx))
}

func (g *Gate) checkCall(ctx context.Context) error {
	return holding.Begin(ctx, g.client, "barrier.NewGate", g.err, ErrInvalidArgument)
}

// states follows whether the gate is closed.
func (g *Gate) states(ctx context.Context) func(func(bool, error) bool) {
	var current *session.Session // a session that has seen everything committed before the call
	read := func(ctx context.Context, s *session.Session) (bool, *session.Watch, error) {
		look := g.readGate
		if s != current {
			look = g.readFresh
		}
		seen, err := look(ctx, s, true)
		if err == nil {
			current = s
		}
		return seen.Exists, seen.Watch, err
	}
	return follow.States(ctx, follow.Sessions{Client: g.client}, g.path, read, func(a, b bool) bool { return a == b })
}

// readGate reads whether the gate is closed, and sets a watch on a closed gate
// if watched is set.
//
// The watch is set by a read of the data: servers from 3.8.4 on also set a
// watch by exists on an unreadable gate, and then withhold the gate's deletion.
// A refused read proves that the gate is closed, and leaves no watch.
func (g *Gate) readGate(ctx context.Context, s *session.Session, watched bool) (seen session.Seen, err error) {
	if watched {
		_, seen.Stat, seen.Watch, err = s.GetW(ctx, g.path)
		seen.Exists = err == nil
	} else {
		seen.Stat, seen.Exists, err = s.Exists(ctx, g.path)
	}
	switch {
	case errors.Is(err, session.ErrNoAuth):
		seen.Exists, err = true, nil
	case errors.Is(err, session.ErrNoNode):
		err = nil
	}
	return seen, err
}

// readFresh is readGate on a server that has applied everything committed
// before the call.
func (g *Gate) readFresh(ctx context.Context, s *session.Session, watched bool) (seen session.Seen, err error) {
	stop := func() {
		if seen.Watch != nil {
			seen.Watch.Stop()
		}
	}
	err = s.ReadFresh(ctx, g.path, func() error {
		stop() // the read may be stale
		seen, err = g.readGate(ctx, s, watched)
		return err
	})
	if err != nil {
		stop()
		return session.Seen{}, err
	}
	return seen, nil
}

// Set closes the gate, if it is open. Set creates missing znodes above the path.
//
// If the reply is lost, Set finds out: Set returns nil if the gate is closed, and
// retries if nothing was created beside the gate since. Otherwise another client
// may have opened the gate again, and a second closing would undo that: the error
// wraps session.ErrUnknownOutcome.
func (g *Gate) Set(ctx context.Context) error {
	return receiver.OrZero(g).changeGate(ctx, "set", g.set)
}

// Remove opens the gate, if it is closed. Children below the path, as Curator may
// create them, are an error (session.ErrNotEmpty).
//
// If the reply is lost, Remove finds out, and retries if the gate is still the
// same. A gate that was closed again meanwhile stays closed.
func (g *Gate) Remove(ctx context.Context) error {
	return receiver.OrZero(g).changeGate(ctx, "remove", g.remove)
}

// changeGate changes the gate by try, for an operation.
func (g *Gate) changeGate(ctx context.Context, op string, try func(context.Context, *session.Session) (bool, error)) error {
	err := g.checkCall(ctx)
	if err == nil {
		err = g.changeUntilDone(ctx, try)
	}
	if err != nil {
		return reportedFailure(ctx, g.client, op, g.path, err)
	}
	return nil
}

// changeUntilDone runs try, again after each request that certainly was not carried out.
func (g *Gate) changeUntilDone(ctx context.Context, try func(context.Context, *session.Session) (bool, error)) error {
	for tries := 0; ; tries++ {
		s, err := g.client.Session(ctx)
		if err != nil {
			return err
		}
		done, err := try(ctx, s)
		if err == nil && !done {
			err = context.Cause(ctx) // nil before its end
		}
		if err != nil || done {
			return err
		}
		// A request may cost the connection each time. The first repetition does not wait.
		_ = s.BackOff(ctx, tries)
	}
}

// set tries to close the gate. Without done and an error, set is called again.
func (g *Gate) set(ctx context.Context, s *session.Session) (done bool, err error) {
	dir := znode.Parent(g.path)
	was, there, err := s.Exists(ctx, dir)
	hidden := errors.Is(err, session.ErrNoAuth) // servers since 3.9.3, for an unreadable znode
	if err != nil && !hidden {
		return false, unlessEnded(s, err)
	}
	_, err = s.Create(ctx, g.path, g.opts.Data, session.Persistent, &session.CreateOptions{ACL: g.opts.ACL})
	switch {
	case err == nil, errors.Is(err, session.ErrNodeExists):
		return true, nil
	case errors.Is(err, session.ErrNoNode):
		return false, unlessEnded(s, s.EnsurePath(ctx, dir, session.Persistent, nil))
	case !errors.Is(err, session.ErrUnknownOutcome):
		return false, unlessEnded(s, err)
	}
	next, e := g.awaitSettled(ctx, s, dir)
	if e != nil {
		return false, err
	}
	_, closed, e := next.Exists(ctx, g.path)
	if e == nil && closed {
		return true, nil
	}
	if hidden {
		return false, err
	}
	now, still, e2 := next.Exists(ctx, dir)
	if errors.Join(e, e2) == nil && still == there && now.Czxid == was.Czxid && now.Cversion == was.Cversion {
		return false, nil // nothing was created: try again
	}
	return false, err
}

// remove tries to open the gate; see set.
func (g *Gate) remove(ctx context.Context, s *session.Session) (done bool, err error) {
	// A gate not yet shown by a lagging server must not be mistaken, below, for
	// a gate closed since.
	was, err := g.readFresh(ctx, s, false)
	if err != nil {
		return false, unlessEnded(s, err)
	}
	// Delete also if the read showed no gate: the gate may have been closed since.
	err = s.Delete(ctx, g.path, -1)
	switch {
	case err == nil, errors.Is(err, session.ErrNoNode):
		return true, nil
	case !errors.Is(err, session.ErrUnknownOutcome):
		return false, unlessEnded(s, err)
	}
	next, e := g.awaitSettled(ctx, s, "/")
	if e != nil {
		return false, err
	}
	now, closed, e := next.Exists(ctx, g.path)
	switch {
	case e != nil:
		return false, err
	case closed && was.Exists && was.Stat.Czxid == now.Czxid:
		return false, nil // the same gate: not opened, try again
	}
	return true, nil // open at some moment since the call of Remove
}

// awaitSettled waits until an unanswered request of s has been carried out or can no
// longer be carried out, and returns the session to read with.
func (g *Gate) awaitSettled(ctx context.Context, s *session.Session, dir string) (*session.Session, error) {
	for lost := 0; ctx.Err() == nil; lost++ {
		next, err := g.client.Session(ctx)
		switch {
		case err != nil:
			return nil, err
		case next != s && !errors.Is(s.Err(), session.ErrExpired):
			return nil, s.Err() // the servers may still have the session and the request
		}
		// A sync is not enough: the leader may answer a sync while the request is
		// proposed, and not yet committed. This check changes nothing, and is
		// ordered behind the request, and behind the end of an expired session.
		var verdict *session.TxnError
		if _, err = next.Txn(ctx, session.CheckOp(dir, -1)); err == nil || errors.As(err, &verdict) {
			return next, nil
		}
		if next.Err() == nil && !session.NotSent(err) && !session.Unanswered(err) {
			return nil, err
		}
		_ = next.BackOff(ctx, lost) // as in changeGate
	}
	return nil, context.Cause(ctx)
}

// unlessEnded drops err, the error of a request not carried out, if s has ended: the
// next session can carry the request out.
func unlessEnded(s *session.Session, err error) error {
	if alive := s.Err() == nil; alive {
		return err
	}
	return nil
}
