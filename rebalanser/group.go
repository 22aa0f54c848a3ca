package rebalanser

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/session"
)

// Group shares resources out among its members, of which it is one while Run runs.
type Group struct {
	client  *session.Client
	at      layout
	handler Handler
	opts    Options
	err     error // what is wrong with the arguments

	// mu guards what follows: running is true while Run is under way, state is
	// what the member is like, and changed is closed and replaced with each change.
	mu      sync.Mutex
	running bool
	state   State
	changed chan struct{}
}

// New makes a member of the group on path, such as "/rebalanser/orders". It does
// nothing yet; a wrong argument is reported by the first call of Run. o may be nil.
func New(client *session.Client, path string, h Handler, o *Options) *Group {
	g := &Group{client: client, at: layout(path), handler: h, changed: make(chan struct{})}
	g.state = State{Phase: stopped}
	g.opts, g.err = o.withDefaults()
	switch {
	case g.err != nil:
	case client == nil:
		g.err = fmt.Errorf("%w: the client is nil", ErrArgument)
	case h == nil:
		g.err = fmt.Errorf("%w: the handler is nil", ErrArgument)
	default:
		g.err = validPath(path)
	}
	return g
}

// Path is the path that the group was made with.
func (g *Group) Path() string { return string(g.at) }

// Run takes part in the group until ctx ends: then it gives everything up in order,
// leaves, and returns nil. It blocks; the goroutine is the caller's. While it runs the
// handler is told what the member owns.
//
// Over lost sessions it goes on: it becomes a new client, which owns nothing
// until its handler is told. Otherwise it ends
// with an error when the handler fails or panics; when the group has another mode
// (ErrMode), or the instance id stays in use (ErrInstanceInUse); when the session is
// lost while it leaves (session.ErrLost); when the client is closed or the servers
// refuse something (session.ErrClosed, session.ErrNoAuth).
//
// Whatever the reason, when it returns no handler runs, and nothing is owned. It waits
// for a handler that does not return for ever. One Run at a time: a second one fails
// with ErrRunning.
func (g *Group) Run(ctx context.Context) error {
	if err := g.begin(ctx); err != nil {
		return failure(ctx, "run", g.Path(), err)
	}
	defer g.end()
	for {
		m, err := g.join(ctx)
		if err == nil {
			err = m.run(ctx)
		}
		switch {
		case ctx.Err() != nil && (err == nil || m == nil):
			return nil // nothing was owned, or is any more
		case !errors.Is(err, errRejoin):
			return failure(ctx, "run", g.Path(), err)
		}
	}
}

func (g *Group) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if g.err != nil {
		return g.err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running {
		return ErrRunning
	}
	g.running = true
	if h, may := g.handler.(failing); may {
		select {
		case before := <-h.failed():
			_ = before // it was that of another Run
		default:
		}
	}
	return nil
}

func (g *Group) end() {
	g.set(State{Phase: stopped})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = false
}
