package workerctl_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// scaling is a job that two clients enlarge; said is the first client's error.
type scaling struct {
	mine, others *workerctl.Job
	said         error
	times        atomic.Int32
}

// Under every two faults the result of Scale is true, and the change is applied once.
func TestScaleUnderEveryTwoFaults(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "Scale",
		Setup: func(e *matrix.Env, p *world.Party) error {
			if err := submitFirst(3, false)(e, p); err != nil {
				return err
			}
			sc := &scaling{others: p.State.(*workerctl.Job)}
			p.State = sc
			ofSize := func(path string) bool { return strings.HasSuffix(path, "/size") }
			e.Server.OnApply(func(txn zktest.Txn) {
				if txn.Code == 0 && slices.ContainsFunc(txn.Paths, ofSize) {
					sc.times.Add(1)
				}
			})
			var err error
			sc.mine, err = attach(context.Background(), p)
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			sc := p.State.(*scaling)
			sc.said = sc.mine.Scale(ctx, 5)
			return sc.said
		},
		Next: func(ctx context.Context, p *world.Party) error {
			sc := p.State.(*scaling)
			if err := world.CheckOutcome(sc.said, int(sc.times.Load())); err != nil {
				return err
			}
			for n, j := range map[int]*workerctl.Job{6: sc.mine, 7: sc.others} {
				if err := j.Scale(ctx, n); err != nil {
					return err
				}
				if in, err := sc.others.Info(ctx); err != nil || in.Workers != n {
					return fmt.Errorf("%d workers instead of %d: %w", in.Workers, n, err)
				}
			}
			return nil
		},
	}.RunPairs(t, 3)
}
