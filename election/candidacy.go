package election

import (
	"context"
	"errors"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Candidacy is a place in the queue of an election, bound to one session. It
// must be given up with Withdraw, or with [Leadership.Resign] once it was won.
type Candidacy struct {
	e *Elector
	c *contender.Contender

	// turn is held by whoever uses c, which is for one goroutine at a time,
	// or lead. It is never held for long by one whose life has ended.
	turn chan struct{} // cap 1
	lead *Leadership   // once it is won

	life context.Context // ends with Withdraw
	end  context.CancelCauseFunc
	left holding.Release

	// mu guards watching: the name of the one before it when the rule was asked
	// last, "" when that was nobody, or the turn has come.
	mu       sync.Mutex
	watching string
}

// newCandidacy makes one without a place in the queue yet.
func newCandidacy(ctx context.Context, e *Elector) *Candidacy {
	k := &Candidacy{e: e, turn: make(chan struct{}, 1)}
	k.life, k.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return k
}

// Path is the candidate's znode.
func (k *Candidacy) Path() string { return k.c.Node().Path }

// Session is the session that the place is bound to.
func (k *Candidacy) Session() *session.Session { return k.c.Session() }

// Watching is the name of the candidate right before this one, which it watches at
// present; "" if none: before the first Await, once it leads, and when it is a
// candidate no more.
func (k *Candidacy) Watching() string {
	if k.life.Err() != nil || k.c.Session().Err() != nil {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.watching
}

// watch notes the last of those ahead as the one that the candidate watches.
func (k *Candidacy) watch(ahead []znode.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watching = ""
	if n := len(ahead); n > 0 {
		k.watching = ahead[n-1].Name
	}
}

// Await waits until the candidate leads. When ctx ends first the place in the
// queue stays, and Await can be called again. Once the candidate leads, and until
// Withdraw, every call returns the same leadership, whatever has become of it.
//
// If the place is lost, with its session or since somebody has deleted the
// znode, the error wraps session.ErrLost: stand again. After Withdraw it wraps
// ErrWithdrawn.
func (k *Candidacy) Await(ctx context.Context) (*Leadership, error) {
	const op = "await"
	for _, c := range []context.Context{ctx, k.life} {
		if c.Err() != nil {
			return nil, failure(ctx, op, k.e.path, context.Cause(c))
		}
	}
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(k.life, func() { cancel(context.Cause(k.life)) })
	defer stop()
	var l *Leadership
	var err error
	select {
	case k.turn <- struct{}{}:
		// Withdraw ends the life before it takes its turn, and "both" hears of
		// that a moment later: until then it may have discarded the znode, and
		// what was listed when the place was taken would still grant.
		if k.life.Err() == nil {
			l, err = k.await(both)
		}
		<-k.turn
	case <-both.Done():
		err = context.Cause(both)
	}
	if k.life.Err() != nil && l == nil {
		err = context.Cause(k.life)
	}
	if err != nil {
		return nil, failure(ctx, op, k.e.path, err)
	}
	return l, nil
}

// await is Await for who has the turn, or shares k with nobody.
func (k *Candidacy) await(ctx context.Context) (*Leadership, error) {
	if k.lead != nil {
		return k.lead, nil
	}
	err := k.c.Await(ctx)
	var hold *session.Hold
	if err == nil {
		k.watch(nil)
		hold, err = k.c.Hold(ctx)
	}
	if err == nil {
		k.lead = &Leadership{e: k.e, hold: hold, token: k.c.Node().Stat.Czxid}
		return k.lead, nil
	}
	if lost := k.c.Session().Err(); lost != nil && ctx.Err() == nil {
		return nil, lost
	}
	if errors.Is(err, contender.ErrGone) {
		k.watch(nil)
	}
	return nil, goneError(err)
}

// Withdraw leaves the election: the place in the queue, and the leadership if it
// was won and not given back yet. An Await that is under way ends. When Withdraw
// returns nil the znode is gone; if ctx ends first, the deletion goes on in the
// background until the znode or the session is gone. If the session is lost the
// error wraps session.ErrLost, as it does for a leadership that was lost before.
// A second call gets the same error, or ErrWithdrawn.
func (k *Candidacy) Withdraw(ctx context.Context) error {
	explain := func(err error) error { return failure(ctx, "withdraw", k.e.path, err) }
	return k.left.Once(ctx, ErrWithdrawn, explain, func() error {
		k.end(ErrWithdrawn)
		k.turn <- struct{}{} // an Await sees the end at once, it waits for no answer
		defer func() { <-k.turn }()
		if k.lead == nil {
			return k.c.Leave(ctx)
		}
		if err := k.lead.Resign(ctx); !errors.Is(err, ErrNotLeader) {
			return err
		}
		if k.lead.gone {
			return nil
		}
		return k.c.Leave(ctx) // who resigned has not waited for the server
	})
}
