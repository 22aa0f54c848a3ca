package election

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Leadership is what an election was won for. It must be given back with Resign,
// also when it was lost.
type Leadership struct {
	e     *Elector
	hold  *session.Hold
	token int64

	end  holding.Release
	gone bool // the server has confirmed it; set in end
}

// Context ends when the leadership is given back and when it is lost;
// context.Cause tells which: session.ErrReleased, or an error that wraps
// session.ErrLost and the reason. It ends before the servers can let somebody else
// lead, unless this process itself was paused; then its Err tells the truth as
// soon as the process runs again. Pass it to everything that must stop when the
// leadership is lost.
func (l *Leadership) Context() context.Context { return l.hold.Context() }

// Term numbers the leaderships of a path: it is the number in the name of the
// candidate's znode, so that anybody can read it there. It grows with each
// leadership, with gaps, for as long as the path exists; the servers remove the
// path some time after the last candidate has left, and the next one starts from
// 0. To fence off former leaders use Token.
func (l *Leadership) Term() int64 {
	// The name has a number: the session has refused one that it cannot read.
	seq, _ := session.Sequence(znode.Base(l.hold.Path()))
	return int64(seq)
}

// Token is a fencing token: the zxid at which the candidate's znode was created.
// It grows with each leadership of the path, also over a path that was deleted
// and made again, and anybody can read it with stat. Whatever the leader writes
// to can refuse a token below one that it has seen.
func (l *Leadership) Token() int64 { return l.token }

// Guard is a check for a transaction, which then fails if this is no leadership
// any more: session.Txn(ctx, l.Guard(), ...).
func (l *Leadership) Guard() session.Op { return l.hold.Guard() }

// Session is the session in which the election was won.
func (l *Leadership) Session() *session.Session { return l.hold.Session() }

// Path is the znode that stands for the leadership.
func (l *Leadership) Path() string { return l.hold.Path() }

// ID is that of [Options], or its default.
func (l *Leadership) ID() string { return l.e.opts.ID }

// Resign gives the leadership back: with one request, of which the next
// candidate learns without asking. If it was lost before, the error says so and
// wraps session.ErrLost. If ctx ends before the server has confirmed, the deletion
// goes on in the background until the znode or the session is gone. A second call
// gets the same error, or ErrNotLeader. End what leads before: the next one may
// lead as soon as Resign is called.
func (l *Leadership) Resign(ctx context.Context) error {
	explain := func(err error) error { return failure(ctx, "resign", l.e.path, err) }
	return l.end.Once(ctx, ErrNotLeader, explain, func() error {
		if lost := l.hold.Err(); lost != nil {
			return lost
		}
		l.hold.End(session.ErrReleased)
		err := holding.Delete(ctx, l.hold.Session(), l.hold.Path())
		l.gone = err == nil
		return err
	})
}

// run runs fn for [Elector.Run], and resigns. again says that the leadership was
// lost before fn returned, while ctx had not ended.
func (l *Leadership) run(ctx context.Context, fn func(context.Context, *Leadership) error) (again bool, err error) {
	stopped := false
	err = holding.Run(ctx, l.Context(), func(ctx context.Context) error { return fn(ctx, l) }, func(ctx context.Context) error {
		stopped = ctx.Err() != nil
		again = holding.IsLoss(l.hold.Err())
		err := l.Resign(ctx)
		if holding.IsLoss(err) || errors.Is(err, ErrNotLeader) {
			return nil // what counts is what was so when fn returned
		}
		return err
	})
	if !stopped {
		return again, err
	}
	cause := failure(ctx, "run", l.e.path, context.Cause(ctx))
	if err == nil || errors.Is(cause, err) {
		return false, cause // which says it already
	}
	return false, errors.Join(cause, err)
}
