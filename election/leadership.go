package election

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Leadership is a won election. Give it back with Resign, even after a loss.
type Leadership struct {
	e     *Elector
	hold  *session.Hold
	token int64
	since time.Time // of the win

	value    proclamation
	end      holding.Release
	observed *observing.Hold
}

var _ session.Held = (*Leadership)(nil)

// newLeadership makes the leadership that has ended the wait. The caller reports its
// beginning, once no turn of the candidacy is taken.
func newLeadership(e *Elector, hold *session.Hold, token int64, waiting *observing.Wait) *Leadership {
	l := &Leadership{e: e, hold: hold, token: token, since: time.Now(), value: proclamation{turn: make(chan struct{}, 1)}}
	l.observed = waiting.NewHold(l, false)
	l.end.Observe(l.observed)
	return l
}

// reportBegin reports the beginning of the leadership; of nil, nothing.
func (l *Leadership) reportBegin() {
	if l != nil {
		l.observed.Begin()
	}
}

// mustHold is the znode's hold; a zero Leadership has none.
func (l *Leadership) mustHold() *session.Hold {
	holding.MustBeMade(l != nil && l.hold != nil, "election.Leadership", "election.Elector")
	return l.hold
}

// Context ends when the leadership is given back and when it is lost, and
// context.Cause tells which: session.ErrReleased, or an error that wraps
// session.ErrLost and the reason. The context ends before the servers can let
// another candidate lead, unless this process was paused; after a pause, its Err
// is correct as soon as the process runs again. Pass the context to everything
// that must stop when the leadership is lost.
func (l *Leadership) Context() context.Context { return l.mustHold().Context() }

// Term numbers the leaderships of a path. The term is the number in the name of
// the candidate's znode, so any client can read it there. The term grows with
// each leadership, with gaps, as long as the path exists: the servers remove the
// path some time after the last candidate has left, and the next term starts from
// 0. To fence off former leaders, use Token.
func (l *Leadership) Term() int64 {
	// The name has a number: the session has refused one that it cannot read.
	seq, _ := session.Sequence(znode.Base(l.mustHold().Path()))
	return int64(seq)
}

// Token is a fencing token: the zxid at which the candidate's znode was created.
// The token grows with each leadership of the path, even after the path was
// deleted and created again, and any client can read it with stat. The leader's
// store can refuse a token below the highest that it has seen.
func (l *Leadership) Token() int64 {
	_ = l.mustHold()
	return l.token
}

// Guard is a check for a transaction, which fails if the leadership has ended:
// s.Txn(ctx, l.Guard(), ...).
func (l *Leadership) Guard() session.Op { return l.mustHold().Guard() }

// Session returns the session in which the election was won.
func (l *Leadership) Session() *session.Session { return l.mustHold().Session() }

// Path returns the path of the candidate's znode.
func (l *Leadership) Path() string { return l.mustHold().Path() }

// ID returns the ID of [Options], or its default.
func (l *Leadership) ID() string {
	_ = l.mustHold()
	return l.e.opts.ID
}

// Resign gives the leadership back with one request; the next candidate learns of
// it without a request. End the leader's work before: the next candidate may lead
// as soon as Resign is called. If the leadership was lost before, the error wraps
// session.ErrLost and the reason. If ctx ends before the server has confirmed the
// resignation, or no server answers for a session timeout (also session.ErrLost),
// the deletion continues in the background until the znode or the session is
// gone. A second call returns the same error, or ErrNotLeader.
func (l *Leadership) Resign(ctx context.Context) error {
	l = receiver.OrZero(l)
	if err := holding.BeginHeld(ctx, l.hold != nil, "election.Leadership", "election.Elector", ErrInvalidArgument); err != nil {
		return l.e.failure(ctx, "resign", err)
	}
	explain := func(ctx context.Context, err error) error { return failure(ctx, "resign", l.e.path, err) }
	return l.end.Once(ctx, ErrNotLeader, explain, func(ctx context.Context) error {
		if lost := l.hold.Err(); lost != nil {
			l.hold.Session().EnsureRemainsDeleted(l.hold.Path())
			return lost
		}
		l.hold.End(session.ErrReleased)
		return holding.Delete(ctx, l.hold.Session(), l.hold.Path())
	})
}

// Release is Resign, by the name that all holds share; see [session.Held].
func (l *Leadership) Release(ctx context.Context) error { return l.Resign(ctx) }

// run runs fn for [Elector.Run], and resigns. again says that the leadership was
// lost before fn returned, or the leader had to make way, while ctx had not ended.
func (l *Leadership) run(ctx context.Context, fn func(context.Context, *Leadership) error) (again bool, err error) {
	preempt := l.newPreemption(ctx)
	err = holding.RunUnder(ctx, preempt.hold, l.e.opts.Grace, func(own context.Context) error { return fn(own, l) }, func(own context.Context, err error) error {
		// The state when fn returned counts: giving back takes its time.
		stopped, lost := ctx.Err() != nil, holding.IsLoss(l.hold.Err())
		preempted := preempt.stop()
		ended := stopped && (holding.IsContextEnd(ctx, err) || holding.IsContextEnd(own, err))
		resigned := l.giveBack(context.WithoutCancel(ctx))
		switch again = (lost || preempted && (resigned == nil || holding.IsLoss(resigned))) && !stopped; {
		case again:
			return nil // Run campaigns again
		case preempted && !stopped:
			return resigned
		case resigned == nil && !ended:
			return err
		case err == nil || ended:
			return resigned
		}
		return errors.Join(err, resigned)
	})
	return again, err
}

// giveBack resigns, and returns nil when a server has confirmed that the znode is gone,
// also if fn has resigned without waiting for that.
func (l *Leadership) giveBack(ctx context.Context) error {
	if confirmed, err := l.end.Settle(l.Resign(ctx), ErrNotLeader); confirmed || err != nil {
		return err
	}
	s := l.hold.Session()
	within, cancel := s.GiveBackContext(ctx)
	defer cancel()
	if err := s.EnsureDeleted(within, l.hold.Path()); err != nil {
		return failure(within, "resign", l.e.path, err)
	}
	return nil
}
