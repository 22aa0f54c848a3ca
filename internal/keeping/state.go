package keeping

import (
	"context"
	"iter"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// State says whether the entry is registered at the moment.
type State struct {
	Registered bool
	// Path is the path of the znode, or of the last znode while none exists, and
	// Token its czxid, which grows with every registration.
	Path  string
	Token int64
	// Since is the time at which this state began.
	Since time.Time
	// Err says why the entry is not registered: an error of Words, or of package
	// session. Of a registered entry it is the trouble; see SetTrouble.
	Err error
	// round counts the contexts, of which each registered state has one.
	round int
	// final: nothing comes after this one.
	final bool
}

// same reports whether s and o tell the same.
func (s State) same(o State) bool {
	return s.Registered == o.Registered && s.round == o.round && s.Path == o.Path && s.Token == o.Token &&
		(s.Err == nil) == (o.Err == nil) && (s.Err == nil || s.Err.Error() == o.Err.Error())
}

// State is the present one.
func (k *Registrant) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// StatesOf is States, or the error of a nil context or a zero value of typ, of the
// package pkg.
func (k *Registrant) StatesOf(ctx context.Context, pkg, typ, source string) iter.Seq2[State, error] {
	if err := holding.BeginHeld(ctx, k != nil, typ, source, session.ErrInvalidArgument); err != nil {
		return func(yield func(State, error) bool) { yield(State{}, holding.Failure(ctx, pkg, "states", "", err)) }
	}
	return k.States(ctx)
}

// States iterates over the states: first the present one, then each newer one.
// It may skip states that passed while the loop's body ran; it never goes back.
// It ends after the unregistering, after the client's closing, or with ctx, whose
// error is the last element.
func (k *Registrant) States(ctx context.Context) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		var last State
		for first := true; ; first = false {
			k.mu.Lock()
			now, changed := k.state, k.changes.Next()
			k.mu.Unlock()
			if ctx.Err() != nil {
				yield(now, k.failure(ctx, "states of", k.title, context.Cause(ctx)))
				return
			}
			if (first || !now.same(last)) && !yield(now, nil) || now.final {
				return
			}
			last = now
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// Context is that of the present registration: it ends when that is lost, moved
// or given back; context.Cause says why. While nothing is registered it has
// ended already. The registration that follows on a lost one has another.
func (k *Registrant) Context() context.Context {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ctx
}

// Guard is a check of the present registration, which fails once its context has ended.
func (k *Registrant) Guard() session.Op {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.guard.While(k.ctx)
}

// setRegistered tells that the entry is registered, until ctx ends. guard checks its
// znode.
func (k *Registrant) setRegistered(ctx context.Context, p *place, guard session.Op) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := State{Registered: true, Path: p.path, Token: p.czxid, round: k.state.round}
	if k.ctx.Err() != nil {
		now.round++ // followers of the states must see that this is another registration
	}
	k.ctx, k.guard = ctx, guard
	k.setLocked(now)
}

// setUnregistered tells that it is not, and why.
func (k *Registrant) setUnregistered(err error, final bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() == nil {
		var end context.CancelCauseFunc
		k.ctx, end = context.WithCancelCause(k.ctx)
		end(err)
	}
	k.setLocked(State{Path: k.state.Path, Token: k.state.Token, Err: err, round: k.state.round, final: final})
}

// SetTrouble tells what is wrong with the registered entry, which exists nevertheless; nil:
// nothing any more. Without a registered entry it does nothing.
func (k *Registrant) SetTrouble(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.state; now.Registered {
		now.Err = err
		k.setLocked(now)
	}
}

func (k *Registrant) setLocked(s State) {
	if s.Since = time.Now(); s.same(k.state) {
		if s.Since = k.state.Since; !s.final {
			return
		}
	}
	k.state = s
	k.changes.Announce()
}
