// Package standing has places in a queue that are taken at once and awaited later: the
// candidacies of an election, and the places in the queue of a lock or a semaphore.
package standing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Recipe is what a recipe does with its places. H is the hold that a place is awaited for.
type Recipe[H any] struct {
	Client *session.Client
	Kind   observe.Kind
	Path   string
	// Withdrawn is the error of calls after a withdrawal.
	Withdrawn error
	// Failure names operation and path.
	Failure func(ctx context.Context, op, path string, err error) error
	// Entered checks a contender that has queued up; may be nil.
	Entered func(ctx context.Context, c *contender.Contender) error
	// Hold makes the hold of a contender that was granted. It reports neither the end of
	// the wait nor the beginning of the hold.
	Hold func(ctx context.Context, c *contender.Contender, waiting *observing.Wait) (*H, error)
	// Begin reports the beginning of a hold.
	Begin func(h *H)
	// GiveBack gives a hold back. confirmed is false if the hold was given back before, and
	// no server has confirmed that yet.
	GiveBack func(ctx context.Context, h *H) (confirmed bool, err error)
}

// Place is a place in a queue, bound to one session.
type Place[H any] struct {
	recipe Recipe[H]
	c      *contender.Contender

	// turn is held by the goroutine that uses c, which is for one goroutine at a time,
	// or won. A goroutine whose life has ended never holds turn for long.
	turn chan struct{}     // cap 1
	won  atomic.Pointer[H] // once it is won

	life context.Context // ends with Withdraw
	end  context.CancelCauseFunc
	left holding.Release

	// mu guards watching: the nearest contender that the rule wanted to watch when it was
	// applied last; "" if the turn has come.
	mu       sync.Mutex
	watching string
}

// Take queues up at the server, in the next session if one is lost on the way; a closed
// client has no next session, and Take returns its error. After an error, nothing is left
// behind.
func Take[H any](ctx context.Context, r Recipe[H], queue contender.Spec) (*Place[H], error) {
	p := &Place[H]{recipe: r, turn: make(chan struct{}, 1)}
	p.life, p.end = context.WithCancelCause(context.WithoutCancel(ctx))
	queue.Rule = p.noting(queue.Rule)
	if queue.Rank != nil {
		queue.Rank.Place.Rule = p.noting(queue.Rank.Place.Rule)
	}
	var backoff contender.Backoff
	for {
		backoff.Begin()
		s, err := r.Client.Session(ctx)
		if err != nil {
			return nil, err
		}
		p.c, err = contender.Enter(ctx, s, queue)
		if err == nil {
			if err = p.completePlace(ctx); err != nil {
				p.c.LeaveBehind()
			}
		}
		gone := errors.Is(err, contender.ErrGone)
		switch {
		case err == nil:
			return p, nil
		case ctx.Err() != nil || !gone && !holding.IsLoss(err):
			return nil, err
		case gone:
			backoff.Pause(ctx, s)
		}
	}
}

// noting is the rule, which also notes the contender that it wants to watch.
func (p *Place[H]) noting(rule contender.Rule) contender.Rule {
	return func(q znode.Queue, self int) contender.Decision {
		d := rule(q, self)
		p.setWatching(d.Watch)
		return d
	}
}

// completePlace completes the place of a contender that has queued up.
func (p *Place[H]) completePlace(ctx context.Context) error {
	if p.recipe.Entered != nil {
		if err := p.recipe.Entered(ctx, p.c); err != nil {
			return err
		}
	}
	return p.c.GoOutside(ctx)
}

// Contender is the place in the queue.
func (p *Place[H]) Contender() *contender.Contender { return p.c }

// Watching is the name of the nearest contender that is watched at present; "" before the
// first Await, once the place is granted, and after its end.
func (p *Place[H]) Watching() string {
	if p.life.Err() != nil || p.c.Session().Err() != nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watching
}

// setWatching notes the first of names as the contender that is watched.
func (p *Place[H]) setWatching(names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watching = ""
	if len(names) > 0 {
		p.watching = names[0]
	}
}

// Granted reports whether an Await has won the hold.
func (p *Place[H]) Granted() bool { return p.won.Load() != nil }

// endError is the error of a call that begins after the end of ctx, or of the place.
func (p *Place[H]) endError(ctx context.Context) error {
	for _, c := range []context.Context{ctx, p.life} {
		if c.Err() != nil {
			return context.Cause(c)
		}
	}
	return nil
}

// Ahead is how many contenders are ahead; 0 once the place is granted. It does not wait for
// an Await in progress.
func (p *Place[H]) Ahead(ctx context.Context) (int, error) {
	const op = "look ahead"
	if err := p.endError(ctx); err != nil {
		return 0, p.failure(ctx, op, err)
	}
	if p.Granted() {
		return 0, nil
	}
	n, err := p.c.Ahead(ctx)
	switch {
	case err == nil:
		return n, nil
	case p.life.Err() != nil:
		err = context.Cause(p.life) // its znode has gone for that
	case p.Granted():
		return 0, nil
	}
	return 0, p.failure(ctx, op, p.lossOf(ctx, err))
}

// Await waits for the hold. After an error the place stays, unless it is lost: then the
// error wraps session.ErrLost. Once it has the hold, and until Withdraw, every call returns
// the same one.
func (p *Place[H]) Await(ctx context.Context) (*H, error) {
	const op = "await"
	if err := p.endError(ctx); err != nil {
		return nil, p.failure(ctx, op, err)
	}
	if h := p.won.Load(); h != nil {
		return h, nil
	}
	waiting := observing.BeginWait(ctx, p.recipe.Client, p.recipe.Kind, p.recipe.Path)
	h, won, err := p.awaitTurn(ctx, waiting)
	if err != nil {
		err = p.failure(ctx, op, err)
	}
	waiting.End(err)
	if won {
		p.recipe.Begin(h)
	}
	return h, err
}

// awaitTurn waits for the turn of this goroutine, and then until the place is granted. won
// is false if another goroutine has won the hold meanwhile.
func (p *Place[H]) awaitTurn(ctx context.Context, waiting *observing.Wait) (h *H, won bool, err error) {
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(p.life, func() { cancel(context.Cause(p.life)) })
	defer stop()
	select {
	case p.turn <- struct{}{}:
		// Withdraw ends the life before it takes its turn, and "both" ends a moment
		// later: until then Withdraw may have deleted the znode, and the listing from
		// when the place was taken would still grant.
		if p.life.Err() == nil {
			won = p.won.Load() == nil
			h, err = p.Win(both, waiting)
		}
		<-p.turn
	case <-both.Done():
		err = context.Cause(both)
	}
	if p.life.Err() != nil && h == nil {
		err = context.Cause(p.life)
	}
	return h, won && h != nil, err
}

// Win is Await for a goroutine that has the turn, or does not share the place. The caller
// reports the end of the wait, and the beginning of the hold.
func (p *Place[H]) Win(ctx context.Context, waiting *observing.Wait) (*H, error) {
	if h := p.won.Load(); h != nil {
		return h, nil
	}
	p.c.Observe(waiting)
	err := p.c.Await(ctx)
	var h *H
	if err == nil {
		p.setWatching(nil)
		h, err = p.recipe.Hold(ctx, p.c, waiting)
	}
	if err == nil {
		p.won.Store(h)
		return h, nil
	}
	return nil, p.lossOf(ctx, err)
}

// lossOf is the loss of the place, if err is a consequence of it, and otherwise err.
func (p *Place[H]) lossOf(ctx context.Context, err error) error {
	if lost := p.c.Session().Err(); lost != nil && ctx.Err() == nil {
		return lost
	}
	if errors.Is(err, contender.ErrGone) {
		p.setWatching(nil)
		return fmt.Errorf("%w: %w: %w", session.ErrLost, session.ErrNodeDeleted, err)
	}
	return err
}

// Withdraw gives up the place, and the hold if the place has won it. An Await in progress
// ends. After a nil error the znode is gone; otherwise its deletion continues in the
// background until the znode or the session is gone.
func (p *Place[H]) Withdraw(ctx context.Context) error {
	explain := func(ctx context.Context, err error) error { return p.failure(ctx, "withdraw", err) }
	return p.left.Once(ctx, p.recipe.Withdrawn, explain, func(ctx context.Context) error {
		p.end(p.recipe.Withdrawn)
		// An Await sees the end at once, it waits for no answer. A later Await does not use
		// its turn: the report of the giving back must not keep it from that.
		p.turn <- struct{}{}
		h := p.won.Load()
		<-p.turn
		if h != nil {
			if confirmed, err := p.recipe.GiveBack(ctx, h); confirmed || err != nil {
				return err
			}
		}
		return p.c.Leave(ctx)
	})
}

func (p *Place[H]) failure(ctx context.Context, op string, err error) error {
	return p.recipe.Failure(ctx, op, p.recipe.Path, err)
}
