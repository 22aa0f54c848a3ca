package workerctl_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// watch runs a roster and notes its changes.
func (w *World) watch(j *workerctl.Job) (r *workerctl.Roster, told func() []string, end func() error) {
	r = j.Roster()
	ctx, cancel := context.WithCancel(w.Ctx)
	ran, followed := make(chan error, 1), make(chan error, 1)
	var list []string
	// Waited for by end; ends with ctx.
	go func() { ran <- r.Run(ctx) }()
	require.NoError(w, r.WaitSynced(w.Within(time.Minute)))
	// Waited for by end; ends with ctx, or the job.
	go func() {
		var last error
		for c, err := range r.Changes(ctx) {
			if last = err; err == nil {
				list = append(list, fmt.Sprintf("%s %d/%d", c.What, c.Member.ID, c.Member.Incarnation))
			}
		}
		followed <- last
	}()
	told = func() []string {
		w.Settle()
		out := list
		list = nil
		return out
	}
	return r, told, func() error {
		w.Settle()
		cancel()
		<-ran
		return <-followed
	}
}

func TestChangesAreToldApart_T2_T5_T25(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 5)
		crew := w.crew(3)
		w.leave(crew[0])
		require.NoError(w, w.Server.ExpireSession(crew[1].Session().ID()))
		w.Settle()
		r, told, end := w.watch(w.attach(w.Client()))
		require.Equal(w, []string{"present 0/1", "present 1/1", "present 2/1"}, told())
		var states []workerctl.State
		for _, m := range r.Joined() {
			states = append(states, m.State)
		}
		require.Equal(w, []workerctl.State{"left", "dead", "running"}, states)
		require.Len(w, r.Running(), 1)

		back := w.join(w.attach(w.Client()), nth(1))
		require.Equal(w, []string{"restarted 1/2"}, told())
		twin := w.join(w.attach(w.Client()), nth(1))
		require.Equal(w, []string{"restarted 1/3"}, told(), "its former self has not died")
		_ = back
		fresh := w.join(w.attach(w.Client()), nth(3))
		require.Equal(w, []string{"joined 3/1"}, told())
		require.NoError(w, fresh.Update(w.Ctx, map[string]string{"a": "b"}))
		require.Equal(w, []string{"updated 3/1"}, told())
		w.leave(fresh)
		require.Equal(w, []string{"left 3/1"}, told())
		require.NoError(w, w.Server.ExpireSession(twin.Session().ID()))
		require.Equal(w, []string{"dead 1/3"}, told())
		require.Len(w, r.Joined(), 4)
		require.ErrorIs(w, end(), context.Canceled)
	})
}

// T25: the local view answers without a request.
// Ids are numbers: 10 comes after 9.
func TestRosterListsWorkersInTheOrderOfTheirIDs_T25(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 12)
		w.crew(12)
		r, _, end := w.watch(w.attach(w.Client()))
		w.Settle()
		for _, list := range [][]workerctl.Member{r.Joined(), r.Running()} {
			require.Len(w, list, 12)
			for id, m := range list {
				require.Equal(w, id, m.ID)
			}
		}
		_ = end()
	})
}

func TestRosterAnswersWithoutRequests_T25(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 3)
		w.crew(3)
		c := w.Client()
		r, _, end := w.watch(w.attach(c))
		w.Settle()
		w.ResetStats()
		for range 100 {
			require.Len(w, r.Running(), 3)
			require.Len(w, r.Joined(), 3)
		}
		require.Zero(w, w.Requests(c))
		_ = end()
		w.Settle()
		require.Zero(w, w.Server.Stats().BySession[w.ID(c)]["getData"])
	})
}

func TestChangesEndWithTheJob(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		crew := w.crew(2)
		_, told, end := w.watch(w.attach(w.Client()))
		told()
		w.leave(crew[0])
		require.Equal(w, []string{"left 0/1"}, told())
		require.NoError(w, j.Kill(w.Ctx))
		require.ErrorIs(w, end(), workerctl.ErrOver)
		require.Empty(w, told(), "no worker has failed")
	})
}

// An id that was removed from the job and assigned again is reported as another
// worker, even to a reader busy in between.
func TestWorkerOfAReassignedIDIsTold(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		crew := w.crew(2)
		w.leave(crew[1])
		r := j.Roster()
		ctx, cancel := context.WithCancel(w.Ctx)
		ran := make(chan error, 1)
		// Waited for below; ends with ctx.
		go func() { ran <- r.Run(ctx) }()
		require.NoError(w, r.WaitSynced(ctx))
		told := ""
		for c, err := range r.Changes(w.Within(time.Minute)) {
			if err != nil {
				told += "ended"
				break
			}
			if told += fmt.Sprintf("%s %d %s, ", c.What, c.Member.ID, c.Member.State); c.What != "present" {
				break
			}
			if c.Member.ID == 1 { // busy
				require.NoError(w, j.Scale(w.Ctx, 1))
				require.NoError(w, j.Scale(w.Ctx, 2))
				w.join(j, named("new"))
				w.Settle()
			}
		}
		require.Equal(w, "present 0 running, present 1 left, joined 1 running, ", told)
		cancel()
		<-ran
	})
}

// A reader that misses the last changes before the job is removed still learns
// how the workers of a finished job have left, and is told only known facts.
func TestChangesTellHowTheLastWorkersHaveLeft(t *testing.T) {
	for name, c := range map[string]struct {
		fails bool
		told  []string
	}{
		"finished": {false, []string{"left 0/1", "left 1/1"}},
		"failed":   {true, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.submit(w.Client(), 2)
				crew := w.crew(2)
				reader := w.Client()
				_, told, end := w.watch(w.attach(reader))
				told()
				require.NoError(w, w.Server.ExpireSession(crew[0].Session().ID()))
				require.Equal(w, []string{"dead 0/1"}, told())
				w.Server.BlackHole(zktest.Link{Session: w.ID(reader)}, zktest.ToClient)
				again := w.join(w.attach(w.Client()), nth(0))
				w.leave(again)
				if c.fails {
					require.NoError(w, crew[1].Fail(w.Ctx, "disk full"))
				} else {
					w.leave(crew[1])
				}
				w.Server.Heal()
				time.Sleep(time.Minute) // virtual: the reader has a connection again
				require.ErrorIs(w, end(), workerctl.ErrOver)
				require.ElementsMatch(w, c.told, told())
			})
		})
	}
}

func TestChangesEndWithAJobWithoutWorkers(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		r := j.Roster()
		ctx, cancel := context.WithCancel(w.Ctx)
		ran, followed := make(chan error, 1), make(chan error, 1)
		// Waited for below; ends with ctx.
		go func() { ran <- r.Run(ctx) }()
		// Waited for below; ends with the job.
		go func() {
			for _, err := range r.Changes(w.Within(time.Minute)) {
				followed <- err
			}
		}()
		w.Settle()
		require.NoError(w, j.Kill(w.Ctx))
		require.ErrorIs(w, <-followed, workerctl.ErrOver)
		cancel()
		<-ran
	})
}

// A view without updates reports its age, and catches up in a new session.
func TestRosterSaysHowOldItIs_T25(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 3)
		crew := w.crew(2)
		c := w.Client()
		require.Equal(w, time.Duration(math.MaxInt64), w.attach(c).Roster().Stale())
		r, _, end := w.watch(w.attach(c))
		w.Pass(time.Minute)
		require.Less(w, r.Stale(), session.DefaultTimeout/3+time.Second)
		w.Server.BlackHole(linkOf(4), zktest.Both)
		w.leave(crew[1])
		w.Pass(time.Minute)
		require.Len(w, r.Running(), 2, "the last known state")
		require.GreaterOrEqual(w, r.Stale(), time.Minute)
		w.Server.Heal()
		w.Pass(10 * time.Second)
		require.Len(w, r.Running(), 1)
		require.Less(w, r.Stale(), session.DefaultTimeout/3+time.Second)
		require.ErrorIs(w, end(), context.Canceled)
	})
}

// Thousands of concurrent deaths are not verified one by one.
func TestThousandsThatDieAtOnceAreToldSoon(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const n = 1000
		c := w.Client()
		j := w.submit(c, n)
		var last *workerctl.Worker
		for i := range n {
			last = w.join(j, nth(i))
		}
		_, told, end := w.watch(w.attach(w.Client()))
		require.Len(w, told(), n)
		w.Server.Delay(zktest.Link{}, zktest.Both, 5*time.Millisecond)
		require.NoError(w, w.Server.ExpireSession(last.Session().ID()))
		w.Pass(time.Second)
		if !world.Has(world.Subscriptions) {
			w.Pass(2 * time.Second) // the list comes before the members
		}
		require.Len(w, told(), n)
		w.Server.Heal()
		require.ErrorIs(w, end(), context.Canceled)
	})
}
