package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// The master deletes payloads and results of tasks deleted by hand, one bucket
// at a time. Payloads and results of existing tasks stay.
func TestMasterSweepsWhatBelongsToNoTask(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		m := w.master(nil)
		w.worker(echo, nil)
		for n := range 40 {
			w.submit(q, numbered(n))
		}
		w.submit(q, dispatch.Task{ID: "waits", Delay: 100 * time.Hour})
		w.Settle()
		_ = m.end()
		require.NoError(w, w.Server.DeleteAll(path+"/tasks"))
		w.submit(q, numbered(0)) // another task with an old id, waiting
		w.submit(q, dispatch.Task{ID: "newer"})
		newer := ""
		for _, n := range w.Server.Dump() {
			if strings.HasPrefix(n.Path, path+"/tasks/") && strings.HasSuffix(n.Path, "/newer") {
				newer = n.Path
			}
		}
		require.NoError(w, w.Server.Set(newer, []byte(`{"format":2}`)))
		w.master(nil)
		w.Pass(2 * time.Hour)
		require.Equal(w, "done", string(w.get(q, numbered(0).ID).State))
		left := map[string]int{}
		for _, name := range remains(w.Server) {
			left[strings.Split(name, "/")[0]]++
		}
		delete(left, "workers")
		delete(left, "alive")
		require.Equal(w, map[string]int{"tasks": 2, "data": 2, "results": 1}, left, "%v", remains(w.Server))
		require.Equal(w, "0", string(w.collect(q, numbered(0).ID).Output))
	})
}

// A queue without deletions costs the master ten requests a minute.
func TestSweepIsCheap(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.countBeats()
		mc, q := w.Client(), w.queue()
		for n := range 20 {
			w.submit(q, dispatch.Task{ID: fmt.Sprint(n), Delay: 100 * time.Hour})
		}
		w.beside(dispatch.NewMaster(mc, path, nil).Run)
		w.Pass(time.Minute + time.Second)
		counts := w.counts(mc, func() { w.Pass(60 * time.Minute) })
		t.Logf("%v", counts)
		require.Equal(w, map[string]int{"getChildren2": 60 * (2 + 6), "sync": 60, "exists": 60}, counts,
			"two of them list the folders and the workers, and one is about the published counts")
	})
}

// A master under faults, while sweeping, deletes only payloads and results
// without a task.
func TestSweepUnderEveryFault(t *testing.T) {
	t.Parallel()
	c := world.Trial{
		Name: "sweep",
		Setup: func(e *matrix.Env, p *world.Party) error {
			c := startCrew(e, p, "", nil)
			q, ctx := c.queue, context.Background()
			for n := range 32 {
				if _, err := q.Submit(ctx, numbered(n)); err != nil {
					return err
				}
				if err := q.Cancel(ctx, numbered(n).ID); err != nil && n != 0 {
					return err
				}
			}
			e.Server.OnApply(func(zktest.Txn) {}) // the tree does not fit together from now on
			if err := e.Server.DeleteAll(path + "/tasks"); err != nil {
				return err
			}
			if _, err := q.Submit(ctx, numbered(0)); err != nil {
				return err
			}
			c.start(dispatch.NewWorker(p.Other, path, echo, nil).Run)
			return nil
		},
		Counts: func(r zktest.Request) bool {
			return r.Op == "multi" && !r.OnlyChecks || r.Op == "getData"
		},
	}.Case()
	c.Op = func(_ context.Context, e *matrix.Env) error {
		p := e.State.(*world.Party)
		crew := p.State.(*crew)
		crew.start(dispatch.NewMaster(p.Tested, path, nil).Run)
		world.Pause(4 * time.Minute) // for some of the buckets
		return nil
	}
	c.Check = func(e *matrix.Env) error {
		if e.Err != nil {
			return e.Err
		}
		crew := e.State.(*world.Party).State.(*crew)
		over, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		left := slices.DeleteFunc(remains(e.Server), func(name string) bool {
			return !strings.HasPrefix(name, "data/") && !strings.HasPrefix(name, "results/")
		})
		r, err := crew.queue.Collect(over, numbered(0).ID)
		if err != nil || string(r.Output) != "0" {
			return fmt.Errorf("the task that was submitted: %+v: %w", r, err)
		}
		if parts := 2 * (32 + 1); len(left) >= parts {
			return fmt.Errorf("nothing was swept: %q", left)
		}
		return nil
	}
	explore(t, c, false)
}
