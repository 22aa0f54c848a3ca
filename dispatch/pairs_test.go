package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// Under every two faults the result of Submit is true, and the task exists once.
func TestSubmitUnderEveryTwoFaults(t *testing.T) {
	t.Parallel()
	task := dispatch.Task{ID: "x", Payload: []byte("x")}
	var said error
	tr := world.Trial{
		Name: "Submit", Watched: true,
		Setup: with("", nil, dispatch.Task{ID: "before"}),
		Op: func(ctx context.Context, p *world.Party) error {
			_, said = dispatch.New(p.Tested, path, nil).Submit(ctx, task)
			return said
		},
		Next: func(ctx context.Context, p *world.Party) error {
			c := p.State.(*crew)
			list, err := c.queue.List(ctx)
			if err != nil {
				return err
			}
			times := len(slices.DeleteFunc(list, func(in dispatch.Info) bool { return in.ID != "x" }))
			if err := world.CheckOutcome(said, times); err != nil {
				return err
			}
			for _, client := range []*dispatch.Queue{dispatch.New(p.Tested, path, nil), c.queue} {
				if _, err := client.Submit(ctx, task); err != nil {
					return err
				}
			}
			other := task
			other.Payload = []byte("y")
			if _, err := c.queue.Submit(ctx, other); !errors.Is(err, dispatch.ErrConflict) {
				return err
			}
			c.start(dispatch.NewMaster(p.Other, path, nil).Run)
			c.start(dispatch.NewWorker(p.Other, path, echo, nil).Run)
			return sound(1)(ctx, p)
		},
	}
	tr.RunPairs(t, 41)
}
