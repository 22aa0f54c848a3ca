package dispatch_test

import (
	"context"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// One task, whose master or worker suffers the fault, and is stopped after the result.
func TestEventsOfMasterAndWorkerUnderEveryFault(t *testing.T) {
	t.Parallel()
	for file, parts := range map[string]string{"master": "Mw", "worker": "mW"} {
		t.Run(file, func(t *testing.T) {
			world.Trial{
				Name: file + ", of one task", Shows: ofTasks, Watched: true,
				Setup: func(e *matrix.Env, p *world.Party) error {
					c := startCrew(e, p, parts, echo)
					_, err := c.queue.Submit(context.Background(), dispatch.Task{ID: "before"})
					if err == nil {
						_, err = c.queue.Collect(context.Background(), "before")
					}
					return err
				},
				Op: func(ctx context.Context, p *world.Party) error {
					c := p.State.(*crew)
					_, err := c.queue.Submit(ctx, numbered(1))
					if err == nil {
						_, err = c.queue.Collect(ctx, numbered(1).ID)
					}
					world.Pause(time.Second) // the master may learn of its assignment behind the task's end
					c.stop()
					c.all.Wait()
					return err
				},
			}.RunObserved(t, *update, file)
		})
	}
}
