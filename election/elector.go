package election

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Elector takes part in the election of a path, or observes it.
type Elector struct {
	client *session.Client
	path   string
	opts   Options
	room   *contender.Room
	err    error // of invalid arguments
}

// New makes an elector for the election on path, whose children are the
// candidates. New sends nothing; the first call of a method reports an invalid
// argument. o may be nil.
func New(client *session.Client, path string, o *Options) *Elector {
	e := &Elector{client: client, path: path}
	e.opts, e.err = o.withDefaults()
	e.room = contender.NewRoom(path+lockformat.RoomSuffix, e.opts.MaxQueue)
	if e.err == nil {
		if err := session.ValidatePath(path); err != nil {
			e.err = fmt.Errorf("%w: path: %w", ErrInvalidArgument, err)
		}
	}
	if e.err == nil && path == "/" {
		e.err = fmt.Errorf("%w: the path is the root; an election must be below it", ErrInvalidArgument)
	}
	if e.err == nil && client == nil {
		e.err = fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	}
	return e
}

// Path returns the path argument of [New].
func (e *Elector) Path() string { return receiver.OrZero(e).path }

// checkCall is the first check of every method.
func (e *Elector) checkCall(ctx context.Context) error {
	return holding.Begin(ctx, e.client, "election.New", e.err, ErrInvalidArgument)
}

// failure is for the values that an elector returns; a zero value of their types has
// no elector.
func (e *Elector) failure(ctx context.Context, op string, err error) error {
	if e == nil {
		return failure(ctx, op, "", err)
	}
	return failure(ctx, op, e.path, err)
}

// Campaign waits until it leads. ctx bounds the wait, not the leadership; when
// ctx ends, no znode is left behind. If the place in the queue is lost during the
// wait, for example with its session, Campaign takes another place at the end.
func (e *Elector) Campaign(ctx context.Context) (*Leadership, error) {
	e = receiver.OrZero(e)
	return e.campaign(ctx, "campaign")
}

func (e *Elector) campaign(ctx context.Context, op string) (*Leadership, error) {
	if err := e.checkCall(ctx); err != nil {
		return nil, failure(ctx, op, e.path, err)
	}
	waiting := observing.BeginWait(ctx, e.client, observe.Leadership, e.path)
	l, err := e.awaitLeadership(ctx, waiting)
	if err != nil {
		err = failure(ctx, op, e.path, err)
	}
	waiting.End(err)
	l.reportBegin()
	return l, err
}

// awaitLeadership queues up until it leads. The caller reports the beginning.
func (e *Elector) awaitLeadership(ctx context.Context, waiting *observing.Wait) (*Leadership, error) {
	var backoff contender.Backoff
	for {
		backoff.Begin()
		k, err := e.enqueueCandidate(ctx)
		if err != nil {
			return nil, err
		}
		l, err := k.place.Win(ctx, waiting)
		if err == nil {
			return l, nil
		}
		c := k.place.Contender()
		c.LeaveBehind() // its watches, too, if the node has gone
		if ctx.Err() != nil || !holding.IsLoss(err) {
			return nil, err
		}
		backoff.Pause(ctx, c.Session())
	}
}

// Stand takes a place in the queue, and does not wait for its turn: call
// [Candidacy.Await] to wait. A candidate that does not await its turn keeps the
// candidates behind it from leading, until the candidacy is withdrawn. After an
// error, no znode is left behind.
func (e *Elector) Stand(ctx context.Context) (*Candidacy, error) {
	e = receiver.OrZero(e)
	const op = "stand"
	if err := e.checkCall(ctx); err != nil {
		return nil, failure(ctx, op, e.path, err)
	}
	k, err := e.enqueueCandidate(ctx)
	if err != nil {
		return nil, failure(ctx, op, e.path, err)
	}
	return k, nil
}
