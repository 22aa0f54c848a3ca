package workerctl_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// A worker that meets the others, of which there are none, in each way.
func TestEventsOfBarriersUnderEveryFault(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "Join, WaitAll, Barrier, Phase, Leave", Setup: submitFirst(1, false), Shows: ofWorkers,
		Excuses: []error{workerctl.ErrNotRemoved},
		Op: func(ctx context.Context, p *world.Party) error {
			k, err := attachAndJoin(ctx, p)
			if err != nil {
				return err
			}
			j, err := attach(ctx, p)
			if err == nil {
				err = j.WaitAll(ctx)
			}
			if err == nil {
				_, err = k.Barrier(ctx, "step")
			}
			if err == nil {
				err = k.Phase(ctx, "step")
			}
			err = errors.Join(err, k.Leave(ctx))
			if k.Context().Err() == nil { // a call whose context has ended changes nothing
				within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
				defer cancel()
				err = errors.Join(err, k.Leave(within))
			}
			return err
		},
	}.RunObserved(t, *update, "barriers")
}

// A roster that sees another client's worker join and leave. The job goes on: its end could
// be seen before the leave.
func TestEventsOfARosterUnderEveryFault(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "follow a roster", Setup: submitFirst(2, false),
		Next:  func(ctx context.Context, p *world.Party) error { return p.State.(*workerctl.Job).Kill(ctx) },
		Shows: func(e observe.Event) bool { _, ok := e.(observe.MemberChanged); return ok },
		Op: func(ctx context.Context, p *world.Party) error {
			j, err := attach(ctx, p)
			if err != nil {
				return err
			}
			r := j.Roster()
			life, stop := context.WithCancel(context.WithoutCancel(ctx))
			over := make(chan error, 1)
			// Waited for below; ends with life.
			go func() { over <- r.Run(life) }()
			err = r.WaitSynced(ctx)
			if err == nil {
				k, failed := p.State.(*workerctl.Job).Join(context.Background(), nth(0))
				if err = failed; err == nil {
					world.Pause(time.Minute) // it is seen, also by the next session
					err = k.Leave(context.Background())
					world.Pause(time.Minute)
				}
			}
			stop()
			<-over
			return err
		},
	}.RunObserved(t, *update, "roster")
}
