package rebalanser_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// follower collects the states of a group.
type follower struct {
	w    *World
	stop context.CancelFunc
	over chan struct{} // closed when the iteration has ended

	// mu guards the elements so far.
	mu     sync.Mutex
	states []rebalanser.Status
	err    error
}

// follow follows the group with a client.
func (w *World) follow(c *session.Client) *follower {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Ctx)
	f := &follower{w: w, stop: cancel, over: make(chan struct{})}
	// The clean-up waits for the goroutine; it ends with ctx.
	go func() {
		defer close(f.over)
		for st, err := range rebalanser.Open(c, path, nil).States(ctx) {
			f.mu.Lock()
			if f.err = err; err == nil {
				f.states = append(f.states, st)
			}
			f.mu.Unlock()
		}
	}()
	w.Cleanup(func() { cancel(); <-f.over })
	return f
}

// takeStates returns the states since the last time, after the changes so far have settled.
func (f *follower) takeStates() []rebalanser.Status {
	f.w.Pass(200 * time.Millisecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.states
	f.states = nil
	return out
}

// last is the newest state, which must be new.
func (f *follower) last() rebalanser.Status {
	f.w.Helper()
	all := f.takeStates()
	require.NotEmpty(f.w, all)
	return all[len(all)-1]
}

// awaitEnd waits for the end, and returns the last element's error.
func (f *follower) awaitEnd() error {
	<-f.over
	return f.err
}

func TestStatesFollowTheGroup(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inBoth(t, func(w *World) {
		f := w.follow(w.Client())
		require.Equal(w, []rebalanser.Status{{Absent: true}}, f.takeStates())
		a := w.stock(2)
		require.Equal(w, rebalanser.Status{Mode: w.mode, Resources: 2, Unowned: names(2)}, f.last())
		n := w.node("c1", rebalanser.Options{}).run()
		w.Pass(time.Second)
		st := f.last()
		require.Equal(w, w.status(a), st)
		require.Len(w, st.Members, 1)
		require.Empty(w, st.Unowned)
		require.NoError(w, a.Pause(w.Ctx))
		require.True(w, f.last().Paused)
		n.stop()
		require.Equal(w, names(2), f.last().Unowned)
		require.NoError(w, a.Resume(w.Ctx))
		require.False(w, f.last().Paused)
		require.Empty(w, f.takeStates(), "nothing has changed")
	})
}

// An idle iteration sends nothing, and a change that leaves the Status as it is makes no
// element.
func TestStatesOfAGroupThatDoesNotChange(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inBoth(t, func(w *World) {
		w.stock(2)
		c := w.Client()
		f := w.follow(c)
		require.Len(w, f.takeStates(), 1)
		before := w.Requests(c)
		w.Pass(10 * time.Minute)
		require.Equal(w, before, w.Requests(c))
		require.NoError(w, w.Server.Set(path+"/resources/r00", []byte("data of another client")))
		require.Empty(w, f.takeStates())
		once := w.Requests(c) - before
		require.Positive(w, once, "States has read the group")
		for range 5 {
			require.NoError(w, w.Server.Set(path+"/resources/r00", nil))
		}
		require.Empty(w, f.takeStates())
		require.LessOrEqual(w, w.Requests(c)-before, 3*once, "changes that follow each other closely are read together")
	})
}

func TestStatesGoOnWhenTheGroupIsDeleted(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inBoth(t, func(w *World) {
		a := w.stock(2)
		f := w.follow(w.Client())
		require.Equal(w, 2, f.last().Resources)
		require.NoError(w, w.Server.DeleteAll(path))
		require.Equal(w, rebalanser.Status{Absent: true}, f.last())
		require.NoError(w, a.Create(w.Ctx))
		require.Equal(w, rebalanser.Status{Mode: w.mode}, f.last())
		require.NoError(w, w.Server.DeleteAll("/groups"))
		require.True(w, f.last().Absent)
		require.NoError(w, a.Create(w.Ctx))
		require.False(w, f.last().Absent)
		require.NoError(w, w.Server.DeleteAll(path+"/resources")) // a part alone
		_, err := w.admin().Resources(w.Ctx)
		require.ErrorIs(w, err, rebalanser.ErrNoGroup)
		f.takeStates()
		select {
		case <-f.over:
			t.Fatalf("the iteration has ended: %v", f.err)
		default:
		}
	})
}

func TestStatesShowRecordsThatCannotBeRead(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inBoth(t, func(w *World) {
		w.stock(1)
		f := w.follow(w.Client())
		require.Empty(w, f.last().Unreadable)
		for _, garbage := range []string{"garbage", `{"format":99}`} {
			require.NoError(w, w.Server.Set(path+"/config", []byte(garbage)))
			bad := f.last().Unreadable
			require.Len(w, bad, 1)
			require.Equal(w, path+"/config", bad[0].Path)
			require.ErrorIs(w, bad[0].Err, rebalanser.ErrRecord)
		}
		require.NoError(w, w.Server.Set(path+"/config", nil))
		require.Empty(w, f.last().Unreadable)
	})
}

// Connections, sessions and servers are lost between and during changes. No state is older
// than the one before, and the last is the present state.
func TestStatesGoOnOverLostConnectionsAndSessions(t *testing.T) {
	inBoth(t, func(w *World) {
		a, c := w.stock(0), w.Client()
		f := w.follow(c)
		f.takeStates()
		resources := 0
		for i := range 20 {
			switch i % 4 {
			case 0:
				w.Server.CutAll()
			case 1:
				w.Expire(c)
			case 2:
				require.NoError(w, w.Server.Stop(1))
			case 3:
				w.Server.BlackHole(zktest.Link{Session: w.ID(c)}, zktest.Both)
			}
			if i%4 == 2 {
				w.Pass(time.Second)
				require.NoError(w, w.Server.Restart(1))
			}
			_, err := a.AddResources(w.Ctx, fmt.Sprintf("r%02d", i))
			require.NoError(w, err)
			w.Pass(time.Minute)
			w.Server.Heal()
			w.Pass(time.Minute)
			for _, st := range f.takeStates() {
				require.GreaterOrEqual(w, st.Resources, resources)
				resources = st.Resources
			}
			require.Equal(w, i+1, resources)
		}
	})
}

// Each request of the follower meets each fault once, before or after the group changes.
func TestStatesSurviveEveryFaultAtEveryRequest(t *testing.T) {
	for name, fault := range map[string]zktest.Fault{
		"cut before": zktest.CutBefore, "reply lost": zktest.DropReplyCut, "cut after": zktest.CutAfter,
		"black hole": zktest.DropReplyHole, "expired before": zktest.ExpireBefore, "expired after": zktest.ExpireAfter,
	} {
		t.Run(name, func(t *testing.T) {
			met := 0
			for hit := true; hit; met++ {
				hit = statesUnderFault(t, met+1, fault)
			}
			require.Greater(t, met, 20, "requests")
		})
	}
}

// statesUnderFault follows a group that changes, with a fault at the n-th request of the
// follower; it reports whether there was such a request.
func statesUnderFault(t *testing.T, n int, fault zktest.Fault) (hit bool) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		a, c := w.stock(1), w.Client()
		w.ID(c) // its session has begun
		var mu sync.Mutex
		seen := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Client != "c2" || r.Op == "ping" || r.Op == "connect" {
				return zktest.Action{}
			}
			mu.Lock()
			defer mu.Unlock()
			if seen++; seen != n {
				return zktest.Action{}
			}
			hit = true
			return zktest.Action{Do: fault}
		})
		f := w.follow(c)
		w.Pass(time.Minute)
		require.Equal(w, 1, f.last().Resources)
		_, err := a.AddResources(w.Ctx, "new")
		require.NoError(w, err)
		w.Pass(time.Minute)
		require.Equal(w, 2, f.last().Resources)
	})
	return hit
}

// Servers older than 3.6 have no subscriptions: States reads every second.
func TestStatesOfOldServers(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, &zktest.Options{OldServer: true}, func(w *World) {
		c := w.Client()
		f := w.follow(c)
		require.True(w, f.last().Absent)
		w.stock(1)
		w.Pass(time.Second)
		require.Equal(w, 1, f.last().Resources)
		w.Expire(c)
		require.NoError(w, w.Server.Create(path+"/resources/new", nil))
		w.Pass(3 * time.Second)
		require.Equal(w, 2, f.last().Resources)
		count := func(op string) int { return w.Server.Stats().BySession[w.ID(c)][op] }
		reads, refused := count("multi"), count("addWatch")
		w.Pass(time.Minute)
		require.InDelta(w, 60, count("multi")-reads, 2, "one proof that reads are new, once a second")
		require.Equal(w, refused, count("addWatch"), "once in each session")
		require.Empty(w, f.takeStates())
	})
}

func TestStatesEnd(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		w.stock(1)
		watches := func() int { w.Settle(); return w.Server.Stats().Watches }

		f := w.follow(w.Client())
		require.Equal(w, 1, f.last().Resources)
		require.Positive(w, watches())
		f.stop()
		require.ErrorIs(w, f.awaitEnd(), context.Canceled)
		require.Zero(w, watches(), "the subscription is gone")

		c := w.Client()
		f = w.follow(c)
		f.takeStates()
		require.NoError(w, c.Close(w.Ctx))
		require.ErrorIs(w, f.awaitEnd(), session.ErrClosed)

		// The loop's body leaves the loop, or panics.
		a := w.admin()
		for st, err := range a.States(w.Ctx) {
			require.NoError(w, err)
			require.Equal(w, 1, st.Resources)
			break
		}
		require.Zero(w, watches())
		require.Panics(w, func() {
			for range a.States(w.Ctx) {
				panic("in the body")
			}
		})
		require.Zero(w, watches())
	})
}

func TestStatesThatMayNotBeReadEnd(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		w.stock(1)
		f := w.follow(w.Client())
		f.takeStates()
		_, err := w.Session(w.Client()).SetACL(w.Ctx, path+"/epoch", []session.ACL{{Perms: 2, Scheme: "world", ID: "anyone"}}, -1)
		require.NoError(w, err)
		require.NoError(w, w.Server.Set(path+"/resources/r00", nil))
		require.ErrorIs(w, f.awaitEnd(), session.ErrNoAuth)
		require.ErrorContains(w, f.err, "rebalanser: follow the state of "+path+": ")
	})
}

func TestStatesOfInvalidArguments(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		ended, cancel := context.WithCancel(w.Ctx)
		cancel()
		for _, c := range []struct {
			admin *rebalanser.Admin
			ctx   context.Context
			want  error
		}{
			{nil, w.Ctx, rebalanser.ErrInvalidArgument},
			{&rebalanser.Admin{}, w.Ctx, rebalanser.ErrInvalidArgument},
			{rebalanser.Open(nil, path, nil), w.Ctx, rebalanser.ErrInvalidArgument},
			{rebalanser.Open(w.Client(), "no path", nil), w.Ctx, rebalanser.ErrInvalidArgument},
			{w.admin(), nil, rebalanser.ErrInvalidArgument},
			{w.admin(), ended, context.Canceled},
		} {
			n := 0
			for st, err := range c.admin.States(c.ctx) {
				n++
				require.ErrorIs(w, err, c.want)
				require.Empty(w, st)
			}
			require.Equal(w, 1, n)
		}
	})
}
