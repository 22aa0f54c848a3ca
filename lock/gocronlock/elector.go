package gocronlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-co-op/gocron/v2"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/session"
)

// Elector is a gocron.Elector: the process that leads runs all jobs.
type Elector struct{ leader *serving.Leader }

var _ gocron.Elector = (*Elector)(nil)

// NewElector makes an elector for the election of leader, whose Run must be in progress.
func NewElector(leader *serving.Leader) *Elector { return &Elector{leader} }

// IsLeader returns nil while this process leads, and admits runs. Otherwise the error wraps
// serving.ErrNotLeading. IsLeader sends no request: it compares the clock with the time
// until which the leadership can be trusted.
func (e *Elector) IsLeader(ctx context.Context) error {
	_, done, err := e.admit(ctx)
	if err != nil {
		return fmt.Errorf("gocronlock: %w", err)
	}
	done()
	return nil
}

func (e *Elector) admit(ctx context.Context) (context.Context, func(), error) {
	if e == nil || e.leader == nil {
		return nil, nil, fmt.Errorf("%w: it has no leader: make it with gocronlock.NewElector", session.ErrInvalidArgument)
	}
	return e.leader.Admit(ctx)
}

// Task makes the task of a job that runs only while this process leads. fn's context is the
// job's, ends when the leadership is lost, and has the leadership (serving.FromContext).
// The leader's Run waits for fn, within its drain timeout, before it gives the leadership
// back. If the leadership is lost, the error of the task wraps session.ErrLost, besides the
// error of fn.
func (e *Elector) Task(fn func(ctx context.Context) error) gocron.Task {
	return gocron.NewTask(func(ctx context.Context) error {
		admitted, done, err := e.admit(ctx)
		if err != nil {
			return fmt.Errorf("gocronlock: run: %w", err)
		}
		defer done()
		err = fn(admitted)
		if session.ContextErr(admitted) != nil && ctx.Err() == nil {
			err = errors.Join(err, fmt.Errorf("gocronlock: run: %w", context.Cause(admitted)))
		}
		return err
	})
}
