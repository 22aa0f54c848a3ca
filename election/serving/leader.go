package serving

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Leader admits requests while it leads.
type Leader struct {
	e    *election.Elector
	opts Options
	err  error // of an invalid argument

	// mu guards the fields below, and requests, closed and idle of every term. Invariant:
	// current is the term that admits requests; nil if none does.
	mu      sync.Mutex
	running bool
	current *term
	changed await.Changes // of current
	known   known         // of the leader, for refused requests
}

// New makes a leader that stands in the election of e. New sends no request; the first call
// of a method reports an invalid argument. The option Grace of e has no effect on requests:
// see [Options.DrainTimeout]. o may be nil.
func New(e *election.Elector, o *Options) *Leader {
	l := &Leader{e: e}
	l.opts, l.err = o.withDefaults()
	if l.err == nil && e == nil {
		l.err = fmt.Errorf("%w: the elector is nil", ErrInvalidArgument)
	}
	return l
}

// check is the first check of every method that can fail.
func (l *Leader) check(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("%w: the context is nil", ErrInvalidArgument)
	}
	return l.checkMade()
}

// checkMade returns the error of an invalid argument of New.
func (l *Leader) checkMade() error {
	switch {
	case l.err != nil:
		return l.err
	case l.e == nil:
		return fmt.Errorf("%w: it has no elector: make it with serving.New", ErrInvalidArgument)
	}
	return nil
}

// term is one leadership, with the requests that it has admitted.
type term struct {
	lead *election.Leadership
	// ctx is for the requests: it ends with the leadership, and when draining takes too
	// long.
	ctx context.Context
	end context.CancelCauseFunc
	// accepting ends with ctx, and when no further request is admitted.
	accepting context.Context
	refuse    context.CancelFunc
	token     *fence.Token

	requests int
	closed   bool          // no further request is admitted
	idle     chan struct{} // closed when closed and requests is 0
}

// newTerm makes the term of a leadership that does not admit requests yet.
func newTerm(ctx context.Context, lead *election.Leadership) *term {
	t := &term{lead: lead, idle: make(chan struct{})}
	t.ctx, t.end = session.WithHolds(context.WithoutCancel(ctx), lead.Context())
	t.accepting, t.refuse = context.WithCancel(t.ctx)
	return t
}

// values returns ctx with the leadership, and with the fencing token if there is one.
func (t *term) values(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, leadershipKey{}, t.lead)
	if t.token != nil {
		ctx = fence.NewContext(ctx, *t.token)
	}
	return ctx
}

// leadershipKey is the key of the leadership in the context of a request.
type leadershipKey struct{}

// FromContext returns the leadership under which a request was admitted, and whether ctx is
// that of an admitted request, of Start or of Stop. A request must not resign: its context
// would end, and another instance could lead before the work has ended.
func FromContext(ctx context.Context) (*election.Leadership, bool) {
	lead, ok := ctx.Value(leadershipKey{}).(*election.Leadership)
	return lead, ok
}

// Admit admits a request, or returns an error that wraps ErrNotLeading. The caller works
// with the returned context and calls done at the end of the work, once or more often. Run
// gives the leadership back only after that.
//
// The context has ctx's values and the leadership ([FromContext]). It ends with ctx, when
// the leadership is lost, and when draining takes longer than [Options.DrainTimeout].
func (l *Leader) Admit(ctx context.Context) (admitted context.Context, done func(), err error) {
	l = receiver.OrZero(l)
	if err := l.check(ctx); err != nil {
		return nil, nil, fmt.Errorf("serving: admit: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("serving: admit: %w: %w", err, context.Cause(ctx))
	}
	t := l.enter()
	if t == nil {
		return nil, nil, fmt.Errorf("serving: admit: %w", ErrNotLeading)
	}
	both, cancel := session.WithHolds(t.values(ctx), t.ctx)
	return both, sync.OnceFunc(func() {
		cancel(nil)
		l.leave(t)
	}), nil
}

// enter counts a request of the present term; nil if no request is admitted.
func (l *Leader) enter() *term {
	t, _ := l.present()
	if t == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.closed {
		return nil
	}
	t.requests++
	return t
}

// leave counts the end of a request.
func (l *Leader) leave(t *term) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.requests--
	t.closeIfIdle()
}

// closeIfIdle is called with the leader's mu held.
func (t *term) closeIfIdle() {
	if t.closed && t.requests == 0 {
		close(t.idle)
	}
}

// present returns the term that admits requests, or nil, and a channel that is closed when
// that changes.
func (l *Leader) present() (*term, <-chan struct{}) {
	l.mu.Lock()
	t, changed := l.current, l.changed.Next()
	l.mu.Unlock()
	// The clock is compared: after a pause of the process, the leadership may be over
	// before a goroutine has noticed.
	if t != nil && session.ContextErr(t.ctx) != nil {
		return nil, changed
	}
	return t, changed
}

// Held returns the leadership while requests are admitted, and otherwise nil. It is for
// health.Held.
func (l *Leader) Held() session.Held {
	if t, _ := receiver.OrZero(l).present(); t != nil {
		return t.lead
	}
	return nil
}

// Observe iterates over whether requests are admitted: first the present state, then each
// change. Short states may be skipped. Observe runs in the caller's goroutine, and ends
// with ctx. Of an invalid Leader there is no state.
func (l *Leader) Observe(ctx context.Context) iter.Seq[bool] {
	l = receiver.OrZero(l)
	return func(yield func(bool) bool) {
		if l.check(ctx) != nil {
			return
		}
		for first, before := true, false; ctx.Err() == nil; {
			t, changed := l.present()
			if admits := t != nil; first || admits != before {
				first, before = false, admits
				if !yield(admits) {
					return
				}
				continue // the state may have changed meanwhile
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}
