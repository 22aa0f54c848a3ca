package barrier

import (
	"context"
	"errors"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/follow"
	"github.com/zkrecipes/zkrecipes/session"
)

// Gate is a barrier that somebody closes and opens: whoever waits passes as soon
// as it is open. It is closed as long as its path exists, so that Curator's
// DistributedBarrier and Kazoo's Barrier can share it.
type Gate struct {
	client *session.Client
	path   string
	opts   Options
	err    error // what is wrong with the arguments
}

// NewGate makes a gate on path. It does nothing yet; a wrong argument is reported
// by the first call of a method. o may be nil.
func NewGate(client *session.Client, path string, o *Options) *Gate {
	g := &Gate{client: client, path: path}
	if g.opts, g.err = o.withDefaults(); g.err == nil {
		g.err = validatePlace(client, path)
	}
	return g
}

// Path is the path that the gate was made with.
func (g *Gate) Path() string { return g.path }

// Wait waits until the gate is open. It goes by what was committed before it was
// called, or later, whatever server it is connected to, which takes a quorum's
// word.
func (g *Gate) Wait(ctx context.Context) error {
	const op = "wait"
	if err := g.begin(ctx); err != nil {
		return failure(ctx, op, g.path, err)
	}
	for closed, err := range g.states(ctx) {
		if err != nil {
			return failure(ctx, op, g.path, err)
		}
		if !closed {
			break
		}
	}
	return nil
}

// Closed reports whether the gate is closed, as it was at one moment after the
// call began.
func (g *Gate) Closed(ctx context.Context) (bool, error) {
	const op = "look"
	if err := g.begin(ctx); err != nil {
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

func (g *Gate) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return g.err
}

// states follows whether the gate is closed.
func (g *Gate) states(ctx context.Context) func(func(bool, error) bool) {
	var current *session.Session // has seen what was committed before the call
	read := func(ctx context.Context, s *session.Session) (bool, *session.Watch, error) {
		look := g.look
		if s != current {
			look = g.fresh
		}
		seen, err := look(ctx, s, true)
		if err == nil {
			current = s
		}
		return seen.Exists, seen.Watch, err
	}
	return follow.States(ctx, g.client, g.path, read, func(a, b bool) bool { return a == b })
}

// look reads whether the gate is closed, and sets a watch if it is to be watched.
func (g *Gate) look(ctx context.Context, s *session.Session, watched bool) (seen session.Seen, err error) {
	if watched {
		seen.Stat, seen.Exists, seen.Watch, err = s.ExistsW(ctx, g.path)
	} else {
		seen.Stat, seen.Exists, err = s.Exists(ctx, g.path)
	}
	return seen, err
}

// fresh is look with all in view that was committed before the call, whatever
// server the session is at.
//
// Not behind a sync: a leader that has lost its followers answers that, while
// others lead by now. A transaction is answered when a quorum has got it, also
// when it fails.
func (g *Gate) fresh(ctx context.Context, s *session.Session, watched bool) (session.Seen, error) {
	for lost := 0; ; {
		front := s.StartTxn(session.CheckOp(g.path, -1))
		seen, err := g.look(ctx, s, watched) // waits for a connection
		if err != nil {
			return session.Seen{}, err
		}
		var verdict *session.TxnError
		var unknown *session.UnknownOutcomeError
		if _, err = front.Wait(ctx); err == nil || errors.As(err, &verdict) {
			return seen, nil
		}
		if watched {
			seen.Watch.Stop()
		}
		switch {
		case session.Unanswered(err):
			if err := s.BackOff(ctx, lost); err != nil {
				return session.Seen{}, err
			}
			lost++
		case errors.As(err, &unknown):
			return session.Seen{}, unknown.Reason // it changes nothing: there is nothing to know
		case !session.NotSent(err):
			return session.Seen{}, err
		}
	}
}

// Set closes the gate, if it is not closed. What is missing above the path is
// made.
//
// If the answer is lost, Set finds out: it returns nil if the gate is closed, and
// tries again if nothing was created beside the gate since. Otherwise somebody
// may have opened it again; the error wraps session.ErrUnknownOutcome, since
// closing it a second time would undo that.
func (g *Gate) Set(ctx context.Context) error { return g.turn(ctx, "set", g.set) }

// Remove opens the gate, if it is not open. Curator's children below the path, if
// somebody made any, are an error (session.ErrNotEmpty).
//
// If the answer is lost, Remove finds out, and tries again if the gate is the one
// that it set out to open. One that was closed anew stays closed.
func (g *Gate) Remove(ctx context.Context) error { return g.turn(ctx, "remove", g.remove) }

// turn runs try, once for each request that certainly was not carried out.
func (g *Gate) turn(ctx context.Context, op string, try func(context.Context, *session.Session) (bool, error)) error {
	if err := g.begin(ctx); err != nil {
		return failure(ctx, op, g.path, err)
	}
	for tries := 0; ; tries++ {
		s, err := g.client.Session(ctx)
		if err != nil {
			return failure(ctx, op, g.path, err)
		}
		done, err := try(ctx, s)
		switch {
		case err == nil && done:
			return nil
		case ctx.Err() != nil && err == nil:
			err = context.Cause(ctx)
		}
		if err != nil {
			return failure(ctx, op, g.path, err)
		}
		// A request that costs the connection each time must not be repeated
		// as fast as the network can. The first repetition does not wait.
		_ = s.BackOff(ctx, tries)
	}
}

// set tries to close the gate; without an error, and not done, it must be called
// again.
func (g *Gate) set(ctx context.Context, s *session.Session) (done bool, err error) {
	dir := g.path[:max(1, strings.LastIndexByte(g.path, '/'))]
	was, there, err := s.Exists(ctx, dir)
	hidden := errors.Is(err, session.ErrNoAuth) // as by servers since 3.9.3, of what may not be read
	if err != nil && !hidden {
		return false, lives(s, err)
	}
	_, err = s.Create(ctx, g.path, g.opts.Data, session.Persistent, &session.CreateOptions{ACL: g.opts.ACL})
	switch {
	case err == nil, errors.Is(err, session.ErrNodeExists):
		return true, nil
	case errors.Is(err, session.ErrNoNode):
		return false, lives(s, s.EnsurePath(ctx, dir, session.Persistent, nil))
	case !errors.Is(err, session.ErrUnknownOutcome):
		return false, lives(s, err)
	}
	next, e := g.settled(ctx, s, dir)
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
	// A gate that a server which lags behind does not know of must not be taken,
	// below, for one that was closed since.
	was, err := g.fresh(ctx, s, false)
	if err != nil {
		return false, lives(s, err)
	}
	// Also if it was not there: it may have been closed since.
	err = s.Delete(ctx, g.path, -1)
	switch {
	case err == nil, errors.Is(err, session.ErrNoNode):
		return true, nil
	case !errors.Is(err, session.ErrUnknownOutcome):
		return false, lives(s, err)
	}
	next, e := g.settled(ctx, s, "/")
	if e != nil {
		return false, err
	}
	now, closed, e := next.Exists(ctx, g.path)
	switch {
	case e != nil:
		return false, err
	case closed && was.Exists && was.Stat.Czxid == now.Czxid:
		return false, nil // the same gate: it was not opened, try again
	}
	return true, nil // it was open at some moment since Remove was called
}

// settled waits until a request of s that got no answer has been carried out, or
// never will be, and returns the session to look with.
func (g *Gate) settled(ctx context.Context, s *session.Session, dir string) (*session.Session, error) {
	for lost := 0; ctx.Err() == nil; lost++ {
		next, err := g.client.Session(ctx)
		switch {
		case err != nil:
			return nil, err
		case next != s && !errors.Is(s.Err(), session.ErrExpired):
			return nil, s.Err() // the servers may still have it, and the request
		}
		// Not a sync: a leader answers that with the request proposed, and not
		// yet committed. This changes nothing and comes behind it, and behind
		// the end of an expired session, too.
		var verdict *session.TxnError
		if _, err = next.Txn(ctx, session.CheckOp(dir, -1)); err == nil || errors.As(err, &verdict) {
			return next, nil
		}
		if next.Err() == nil && !session.NotSent(err) && !session.Unanswered(err) {
			return nil, err
		}
		_ = next.BackOff(ctx, lost) // as in turn
	}
	return nil, context.Cause(ctx)
}

// lives drops err, which says that nothing was carried out, if s has ended: the
// next session can do it.
func lives(s *session.Session, err error) error {
	if alive := s.Err() == nil; alive {
		return err
	}
	return nil
}
