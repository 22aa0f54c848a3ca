package kubelock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/kubelock"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const dir, recordPath = "/election/controller", "/election/controller.record"

var errWork = errors.New("work failed") // read only

// replica is a process with a lock, and the twin of client-go's elector.
type replica struct {
	*lock
	client *session.Client
	stop   context.CancelFunc
	out    chan error
	began  chan context.Context // the context of the work
	ended  chan time.Time
}

// start runs a replica, whose work ends with its context.
func start(w *world.World, id string) *replica {
	r := &replica{client: w.Client(), out: make(chan error, 1), began: make(chan context.Context, 10), ended: make(chan time.Time, 10)}
	r.lock = kubelock.New[record](r.client, dir, id, nil)
	ctx, stop := context.WithCancel(w.Ctx)
	r.stop = stop
	// The bubble waits for it; it ends with ctx, or the leadership.
	go func() {
		r.out <- r.Run(ctx, func(ctx context.Context) error {
			e := twin{lock: r.lock}
			e.run(ctx, func(ctx context.Context) {
				r.began <- ctx
				<-ctx.Done()
				r.ended <- time.Now()
			})
			return ctx.Err()
		})
	}()
	w.Settle()
	return r
}

// get reads the record as another client.
func get(w *world.World, r *replica) record {
	w.Helper()
	out, _, err := r.Get(w.Ctx)
	require.NoError(w, err)
	return *out
}

func TestReplicasLeadOneAfterAnother(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		a, b := start(w, "a"), start(w, "b")
		<-a.began
		require.NotNil(w, a.Held())
		require.Nil(w, b.Held())
		w.Pass(5 * time.Minute)
		require.Empty(w, b.began)
		r := get(w, b)
		require.Equal(w, "a", r.HolderIdentity)
		require.Equal(w, 1, r.LeaderTransitions)
		require.WithinDuration(w, time.Now(), r.RenewTime, 2*retryPeriod)
		require.Len(w, w.Children(dir), 1, "a standby is no candidate")

		stopped := time.Now()
		a.stop()
		require.NoError(w, <-a.out)
		<-b.began
		require.Less(w, time.Since(stopped), 2*retryPeriod, "no lease has to run out")
		require.False(w, (<-a.ended).After(time.Now()))
		require.Equal(w, record{HolderIdentity: "b", LeaseDurationSeconds: 15, RenewTime: get(w, a).RenewTime, LeaderTransitions: 2}, get(w, a))
		b.stop()
		require.NoError(w, <-b.out)
		require.Empty(w, get(w, a).HolderIdentity)
		require.Equal(w, 2, get(w, a).LeaderTransitions, "the record is kept")
		require.Empty(w, w.Children(dir))
	})
}

// The context of the work ends before another replica leads, also that of a replica that is
// cut off, and the former leader does not take the lock again.
func TestLossEndsTheWorkBeforeAnotherLeads(t *testing.T) {
	for name, lose := range map[string]func(w *world.World, a *replica){
		"expired": func(w *world.World, a *replica) { w.Expire(a.client) },
		"deleted": func(w *world.World, a *replica) {
			require.NoError(w, w.Server.Delete(a.Held().(*election.Leadership).Path()))
		},
		"black hole": func(w *world.World, _ *replica) { w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both) },
	} {
		t.Run(name, func(t *testing.T) {
			world.In(t, nil, func(w *world.World) {
				a, b := start(w, "a"), start(w, "b")
				ctx := <-a.began
				lose(w, a)
				<-b.began
				led := time.Now()
				require.False(w, (<-a.ended).After(led))
				require.ErrorIs(w, context.Cause(ctx), session.ErrLost)
				require.Error(w, session.ContextErr(ctx))
				require.ErrorIs(w, <-a.out, session.ErrLost)
				w.Server.Heal()
				b.stop()
				require.NoError(w, <-b.out)
			})
		})
	}
}

// A crash: the record reads as released once the session has expired.
func TestCrashedLeaderIsReplacedAfterItsSessionTimeout(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		a, b := start(w, "a"), start(w, "b")
		<-a.began
		crashed := time.Now()
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		<-b.began
		require.InDelta(w, session.DefaultTimeout+retryPeriod, time.Since(crashed), float64(5*time.Second))
		w.Server.Heal()
		require.ErrorIs(w, <-a.out, session.ErrLost)
		b.stop()
		require.NoError(w, <-b.out)
	})
}

// client-go renews a record that another has taken over and given back, and its work goes on.
// This lock refuses, until Run has returned.
func TestLostLockIsNotTakenAgainBehindTheBackOfTheWork(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		l := kubelock.New[record](c, dir, "me", nil)
		mine := record{HolderIdentity: "me", LeaseDurationSeconds: 15}
		require.ErrorIs(w, l.Update(w.Ctx, mine), kubelock.ErrNotRunning)
		for range 2 {
			err := l.Run(w.Ctx, func(ctx context.Context) error {
				require.ErrorIs(w, l.Update(ctx, record{}), kubelock.ErrHeld, "nothing to release")
				require.NoError(w, l.Create(ctx, mine))
				require.NoError(w, l.Update(ctx, mine))
				require.NoError(w, session.ContextErr(ctx))
				w.Expire(c)
				<-ctx.Done()
				w.Pass(time.Minute)
				err := l.Update(w.Ctx, mine)
				require.ErrorIs(w, err, session.ErrLost)
				require.ErrorContains(w, err, "it can be taken again when Run has returned")
				require.Empty(w, w.Children(dir))
				return errWork
			})
			require.ErrorIs(w, err, session.ErrLost)
			require.ErrorIs(w, err, errWork)
		}
	})
}

// client-go releases before the work has returned; the leadership is given back after it.
func TestLeadershipIsGivenBackWhenTheFunctionHasReturned(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		l := kubelock.New[record](w.Client(), dir, "me", nil)
		other := kubelock.New[record](w.Client(), dir, "other", nil)
		try := func() (err error) {
			_ = other.Run(w.Ctx, func(ctx context.Context) error {
				err = other.Update(ctx, record{HolderIdentity: "other"})
				return nil
			})
			return err
		}
		require.NoError(w, l.Run(w.Ctx, func(ctx context.Context) error {
			require.NoError(w, l.Update(ctx, record{HolderIdentity: "me", LeaderTransitions: 7}))
			err := try()
			require.ErrorIs(w, err, kubelock.ErrHeld)
			require.ErrorContains(w, err, "me")
			require.NoError(w, l.Update(ctx, record{LeaderTransitions: 7}))
			r, _, err := other.Get(ctx)
			require.NoError(w, err)
			require.Equal(w, record{LeaderTransitions: 7}, *r)
			require.ErrorIs(w, try(), kubelock.ErrHeld)
			require.NotNil(w, l.Held())
			require.NoError(w, ctx.Err())
			return nil
		}))
		require.NoError(w, try())
		require.Nil(w, l.Held())
		require.Panics(w, func() {
			_ = l.Run(w.Ctx, func(ctx context.Context) error {
				require.NoError(w, l.Update(ctx, record{HolderIdentity: "me"}))
				panic("work")
			})
		})
		require.NoError(w, l.Run(w.Ctx, func(ctx context.Context) error {
			require.NoError(w, l.Update(ctx, record{HolderIdentity: "me"}))
			return l.Held().Release(ctx) // by the function itself
		}))
		require.NoError(w, try())
		require.Empty(w, w.Children(dir))
	})
}

// The clock decides after a pause of the process, before any goroutine has run.
func TestContextOfTheFunctionKnowsTheClock(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		l := kubelock.New[record](w.Client(), dir, "me", nil)
		err := l.Run(w.Ctx, func(ctx context.Context) error {
			require.NoError(w, l.Update(ctx, record{HolderIdentity: "me"}))
			lead := l.Held().Context()
			derived, cancel := context.WithCancel(ctx)
			defer cancel()
			w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
			for lead.Err() == nil {
				require.NoError(w, session.ContextErr(derived))
				world.Pause(time.Millisecond)
			}
			require.Error(w, ctx.Err())
			require.Error(w, session.ContextErr(derived))
			require.ErrorIs(w, context.Cause(ctx), session.ErrTrustRanOut)
			return nil
		})
		require.ErrorIs(w, err, session.ErrLost)
		w.Server.Heal()
	})
}

func TestRunEndsWithNilOnlyIfAllWasGivenBack(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		l := kubelock.New[record](w.Client(), dir, "me", nil)
		for _, fn := range []func(ctx context.Context) error{
			func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			func(ctx context.Context) error { <-ctx.Done(); return nil },
			func(ctx context.Context) error {
				err := l.Update(ctx, record{HolderIdentity: "me"})
				<-ctx.Done()
				return errors.Join(err, context.Cause(ctx))
			},
		} {
			require.NoError(w, l.Run(w.Within(time.Second), fn))
			require.Empty(w, w.Children(dir))
		}
		require.ErrorIs(w, l.Run(w.Within(time.Second), func(ctx context.Context) error { <-ctx.Done(); return errWork }), errWork)
		require.Equal(w, errWork, l.Run(w.Ctx, func(context.Context) error { return errWork }))
		ended, cancel := context.WithCancel(w.Ctx)
		cancel()
		require.ErrorIs(w, l.Run(ended, func(context.Context) error { return nil }), context.Canceled)
	})
}
