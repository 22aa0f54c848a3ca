package election

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Candidacy is a place in the queue of an election, bound to one session. Give it
// up with Withdraw, or with [Leadership.Resign] after a win.
type Candidacy struct {
	e *Elector
	c *contender.Contender

	// turn is held by the goroutine that uses c, which is for one goroutine at a time,
	// or lead. A goroutine whose life has ended never holds turn for long.
	turn chan struct{}              // cap 1
	lead atomic.Pointer[Leadership] // once it is won

	life context.Context // ends with Withdraw
	end  context.CancelCauseFunc
	left holding.Release

	// mu guards watching: the name of the candidate ahead when the rule was applied
	// last; "" without a candidate ahead, or if the turn has come.
	mu       sync.Mutex
	watching string
}

// newCandidacy makes a candidacy without a place in the queue yet.
func newCandidacy(ctx context.Context, e *Elector) *Candidacy {
	k := &Candidacy{e: e, turn: make(chan struct{}, 1)}
	k.life, k.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return k
}

// mustContender is the place in the queue; a zero Candidacy has none.
func (k *Candidacy) mustContender() *contender.Contender {
	holding.MustBeMade(k != nil && k.c != nil, "election.Candidacy", "election.Elector.Stand")
	return k.c
}

// checkCall is the first check of Await and Withdraw.
func (k *Candidacy) checkCall(ctx context.Context, op string) error {
	if err := holding.BeginHeld(ctx, k.c != nil, "election.Candidacy", "election.Elector.Stand", ErrInvalidArgument); err != nil {
		return k.e.failure(ctx, op, err)
	}
	return nil
}

// Path returns the path of the candidate's znode. It changes when the candidate moves to
// "<path>.waiting" and back: see [Options.MaxQueue].
func (k *Candidacy) Path() string { return k.mustContender().Node().Path }

// Session returns the session of the candidacy.
func (k *Candidacy) Session() *session.Session { return k.mustContender().Session() }

// Watching returns the name of the predecessor that this candidate watches at
// present. The name is "" before the first Await, while the candidate leads, and
// after the candidacy has ended.
func (k *Candidacy) Watching() string {
	if s := k.Session(); k.life.Err() != nil || s.Err() != nil {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.watching
}

// setWatching notes the last candidate ahead as the one that this candidate watches.
func (k *Candidacy) setWatching(ahead []znode.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watching = ""
	if n := len(ahead); n > 0 {
		k.watching = ahead[n-1].Name
	}
}

// Await waits until the candidate leads. If ctx ends first, the place in the
// queue stays, and Await can be called again. Once the candidate leads, and until
// Withdraw, every call returns the same leadership, even if the leadership was
// lost.
//
// Each call that waits is a wait of its own for an observer of the client. The observer must
// not withdraw the candidacy while it receives an observe.WaitQueued of that wait.
//
// If the place is lost, with its session or because its znode was deleted, the
// error wraps session.ErrLost: stand again. After Withdraw the error wraps
// ErrWithdrawn.
func (k *Candidacy) Await(ctx context.Context) (*Leadership, error) {
	k = receiver.OrZero(k)
	const op = "await"
	if err := k.checkCall(ctx, op); err != nil {
		return nil, err
	}
	for _, c := range []context.Context{ctx, k.life} {
		if c.Err() != nil {
			return nil, failure(ctx, op, k.e.path, context.Cause(c))
		}
	}
	if l := k.lead.Load(); l != nil {
		return l, nil
	}
	waiting := observing.BeginWait(ctx, k.e.client, observe.Leadership, k.e.path)
	l, won, err := k.awaitTurn(ctx, waiting)
	if err != nil {
		err = failure(ctx, op, k.e.path, err)
	}
	waiting.End(err)
	if won {
		l.reportBegin()
	}
	return l, err
}

// awaitTurn waits for the turn of this goroutine, and then until the candidate leads. won
// is false if another goroutine has won the leadership meanwhile.
func (k *Candidacy) awaitTurn(ctx context.Context, waiting *observing.Wait) (l *Leadership, won bool, err error) {
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(k.life, func() { cancel(context.Cause(k.life)) })
	defer stop()
	select {
	case k.turn <- struct{}{}:
		// Withdraw ends the life before it takes its turn, and "both" ends a moment
		// later: until then Withdraw may have deleted the znode, and the listing from
		// when the place was taken would still grant.
		if k.life.Err() == nil {
			won = k.lead.Load() == nil
			l, err = k.await(both, waiting)
		}
		<-k.turn
	case <-both.Done():
		err = context.Cause(both)
	}
	if k.life.Err() != nil && l == nil {
		err = context.Cause(k.life)
	}
	return l, won && l != nil, err
}

// await is Await for a goroutine that has the turn, or does not share k. The caller
// reports the end of the wait, and the beginning of the leadership.
func (k *Candidacy) await(ctx context.Context, waiting *observing.Wait) (*Leadership, error) {
	if l := k.lead.Load(); l != nil {
		return l, nil
	}
	k.c.Observe(waiting)
	err := k.c.Await(ctx)
	var hold *session.Hold
	if err == nil {
		k.setWatching(nil)
		hold, err = k.c.Hold(ctx)
	}
	if err == nil {
		l := newLeadership(k.e, hold, k.c.Node().Stat.Czxid, waiting)
		k.lead.Store(l)
		return l, nil
	}
	if lost := k.c.Session().Err(); lost != nil && ctx.Err() == nil {
		return nil, lost
	}
	if errors.Is(err, contender.ErrGone) {
		k.setWatching(nil)
	}
	return nil, goneError(err)
}

// Withdraw leaves the election: it gives up the place in the queue, and the
// leadership if the candidate leads. An Await in progress ends. If Withdraw
// returns nil, the znode is gone; if ctx ends first, the deletion continues in
// the background until the znode or the session is gone. If the session is lost,
// or the leadership was lost before, the error wraps session.ErrLost. A second
// call returns the same error, or ErrWithdrawn.
func (k *Candidacy) Withdraw(ctx context.Context) error {
	k = receiver.OrZero(k)
	if err := k.checkCall(ctx, "withdraw"); err != nil {
		return err
	}
	explain := func(ctx context.Context, err error) error { return failure(ctx, "withdraw", k.e.path, err) }
	return k.left.Once(ctx, ErrWithdrawn, explain, func(ctx context.Context) error {
		k.end(ErrWithdrawn)
		// An Await sees the end at once, it waits for no answer. A later Await does not use
		// its turn: the report of Resign must not keep it from that.
		k.turn <- struct{}{}
		l := k.lead.Load()
		<-k.turn
		if l == nil {
			return k.c.Leave(ctx)
		}
		if err := l.Resign(ctx); !errors.Is(err, ErrNotLeader) {
			return err
		}
		if l.gone {
			return nil
		}
		return k.c.Leave(ctx) // Resign has not waited for the server
	})
}
