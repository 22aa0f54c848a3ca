package rebalanser

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/session"
)

// Group is a member of a group while Run runs; the group shares resources out
// among its members.
type Group struct {
	client  *session.Client
	at      layout
	handler Handler
	opts    Options
	err     error // of invalid arguments

	// mu guards the next fields: running is true until Run returns, state is the state
	// of the member, and changes signals changes of state.
	mu      sync.Mutex
	running bool
	state   State
	changes await.Changes
}

// New makes a member of the group on path, such as "/rebalanser/orders". New
// sends nothing; Run reports an invalid argument. o may be nil.
func New(client *session.Client, path string, h Handler, o *Options) *Group {
	g := &Group{client: client, at: layout(path), handler: h}
	g.state = State{Phase: stopped}
	g.opts, g.err = o.withDefaults()
	switch {
	case g.err != nil:
	case client == nil:
		g.err = fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	case h == nil:
		g.err = fmt.Errorf("%w: the handler is nil", ErrInvalidArgument)
	case noFunction(h):
		g.err = fmt.Errorf("%w: the function of Each is nil", ErrInvalidArgument)
	default:
		g.err = validPath(path)
	}
	if e, is := h.(*each); is {
		e.retry = g.opts.RetryDelay
	}
	return g
}

// Path returns the path argument of [New].
func (g *Group) Path() string { return string(g.orZero().at) }

// orZero is g, or a zero Group for nil.
func (g *Group) orZero() *Group {
	if g == nil {
		return &Group{}
	}
	return g
}

// Run takes part in the group until ctx ends: then Run gives up all resources, and
// leaves the group. It blocks; the goroutine is the caller's. While Run runs, the handler
// is told of the resources that the member owns.
//
// When ctx has ended, functions of [Each] go on by themselves for Options.Grace; see there.
//
// Run returns nil when ctx has ended and a server has confirmed that everything was given
// back: the resources, and the membership. Every other end is an error that wraps the
// failure, also with Options.RestartDelay:
//
//   - ctx had ended before the call: the context's error and cause. Nothing was begun.
//   - The session was lost while the member left: session.ErrLost.
//   - No server has confirmed that the member has left: session.ErrUnknownOutcome, or
//     session.ErrLost once no server has answered for a session timeout. The deletion of
//     the member's znodes continues in the background.
//   - The handler has failed or panicked: its error.
//   - The group has another mode (ErrMode), or the instance id stays in use
//     (ErrInstanceInUse).
//   - A record has a newer format (ErrRecord).
//   - The client was closed, or the servers refuse something (session.ErrClosed,
//     session.ErrNoAuth).
//
// With Options.RestartDelay most of these errors end the membership, and not Run, as long
// as ctx has not ended. A lost session never ends Run before ctx has ended: the member
// joins again as a new client, which owns nothing until its handler is told. If ctx ends
// while Run joins, or waits to join again, Run holds nothing and returns nil.
//
// When Run returns, for any reason, no handler runs, and nothing is owned. Run waits
// indefinitely for a handler that does not return. When ctx has ended, a member that owns
// nothing ends at once, or after one second if a server does not answer. A member that owns
// something ends when its handlers have returned and its resources are released, at most
// the session timeout later than the handlers. One Run at a time: a second one fails with
// ErrRunning.
func (g *Group) Run(ctx context.Context) error {
	g = g.orZero()
	if err := g.checkCall(ctx); err != nil {
		return failure(ctx, "run", g.Path(), err)
	}
	defer g.endRun()
	for {
		m, err := g.joinGroup(ctx)
		if err == nil {
			err = m.runUntilLeft(ctx)
		}
		switch {
		case ctx.Err() != nil && (err == nil || m == nil && !isKept(err)):
			return nil // nothing was held, or is any more
		case errors.Is(err, errRejoin) && !isKept(err):
		case g.opts.RestartDelay == 0 || isPermanent(err) || ctx.Err() != nil:
			return g.runError(err)
		case !g.awaitRestart(ctx, g.runError(err)):
			if isKept(err) {
				return g.runError(err)
			}
			return nil // the state has the cause of the end
		}
	}
}

// runError is an error of Run. It does not say that Run's context has ended, which alone
// is not an error.
func (g *Group) runError(err error) error { return fmt.Errorf("rebalanser: run %s: %w", g.Path(), err) }

// isPermanent reports whether a new membership would end with the same error.
func isPermanent(err error) bool {
	for _, e := range []error{session.ErrClosed, session.ErrAuthFailed, ErrInvalidArgument, ErrMode} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// awaitRestart waits for Options.RestartDelay; false if ctx ends first.
func (g *Group) awaitRestart(ctx context.Context, why error) bool {
	g.setState(State{Phase: resting, Err: why})
	t := time.NewTimer(g.opts.RestartDelay)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (g *Group) checkCall(ctx context.Context) error {
	if err := checkUsable(ctx, g.client, "rebalanser.New", g.err); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running {
		return ErrRunning
	}
	g.running = true
	if h, may := g.handler.(failing); may {
		select {
		case before := <-h.reportedFailures():
			_ = before // it was that of another Run
		default:
		}
	}
	return nil
}

func (g *Group) endRun() {
	g.setState(State{Phase: stopped})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = false
}
