package rebalanser_test

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// fragile is the function of an Each: it fails with a single resource as long
// as bad is set, and works on the others until they must be given up.
type fragile struct {
	mu    sync.Mutex
	name  string
	bad   func() error // the behavior for this resource; nil: as for the others
	tries []time.Time
	owned map[string]int
}

func newFragile(name string, bad func() error) *fragile {
	return &fragile{name: name, bad: bad, owned: map[string]int{}}
}

func (f *fragile) set(bad func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad = bad
}

func (f *fragile) work(ctx context.Context, r *rebalanser.Resource) error {
	f.mu.Lock()
	bad := f.bad
	if r.Name() == f.name {
		f.tries = append(f.tries, time.Now())
	} else {
		f.owned[r.Name()]++
	}
	f.mu.Unlock()
	if r.Name() == f.name && bad != nil {
		return bad()
	}
	<-ctx.Done()
	return ctx.Err()
}

// gaps are the pauses between the tries, in seconds.
func (f *fragile) gaps() (out []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := 1; i < len(f.tries); i++ {
		out = append(out, int(f.tries[i].Sub(f.tries[i-1]).Round(time.Second).Seconds()))
	}
	return out
}

// members starts n members with f.
func (w *World) members(n int, f *fragile, o rebalanser.Options) (out []*node) {
	o.Mode = w.mode
	for i := range n {
		out = append(out, &node{w: w, client: w.Client(), recorder: &recorder{memberID: fmt.Sprint("c", i+1)}})
		out[i].group = rebalanser.New(out[i].client, path, rebalanser.Each(f.work), &o)
		out[i].run()
	}
	return out
}

// missing is an error whose text is a field: a nil pointer has none.
type missing struct{ text string }

func (m *missing) Error() string { return m.text }

// With RetryDelay, a resource with a failing function ends no member, and
// disturbs no other resource, for all kinds of failures.
func TestBadResourceIsRetriedAndDisturbsNothing(t *testing.T) {
	texts := map[string]string{"Goexit": "Goexit", "a nil pointer": "*rebalanser_test.missing was returned, and its methods panic"}
	for how, bad := range map[string]func() error{
		"an error": func() error { return errHandler }, "a panic": func() error { panic(errHandler) },
		"Goexit": func() error { runtime.Goexit(); return nil }, "a nil pointer": func() error { return (*missing)(nil) },
	} {
		t.Run(how, func(t *testing.T) {
			inBoth(t, func(w *World) {
				a := w.stock(10)
				f := newFragile("r03", bad)
				all := w.members(5, f, rebalanser.Options{RetryDelay: time.Second})
				w.Pass(5 * time.Minute)
				for _, n := range all {
					require.Empty(w, n.done, "%s goes on", n.memberID)
				}
				st := w.status(a)
				require.Empty(w, st.Unowned)
				require.Len(w, st.Failing, 1)
				require.Equal(w, "r03", st.Failing[0].Resource)
				require.Contains(w, st.Failing[0].Err, cmp.Or(texts[how], errHandler.Error()))
				failing := 0
				for _, n := range all {
					if failing += n.group.State().Failing; n.group.State().Failing > 0 {
						require.Equal(w, n.group.State().Client, st.Failing[0].Client)
					}
				}
				require.Equal(w, 1, failing)

				// The resource recovers, and is no longer listed.
				f.set(nil)
				w.Pass(5 * time.Minute)
				require.Empty(w, w.status(a).Failing)
				for _, n := range all {
					require.Zero(w, n.group.State().Failing)
					n.stop()
				}
				require.NoError(w, leftBehind(w.Server))
			})
		})
	}
}

func TestPausesBetweenRetriesDoubleUpToAMinute(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(1)
		f := newFragile("r00", func() error { return errHandler })
		n := w.members(1, f, rebalanser.Options{RetryDelay: 4 * time.Second})[0]
		w.Pass(4*time.Minute + time.Second)
		require.Equal(w, []int{4, 8, 16, 32, 60, 60, 60}, f.gaps())

		// A call as long as the pause before it ends the series of failures.
		f.set(func() error { world.Pause(2 * time.Minute); return errHandler })
		w.Pass(3 * time.Minute)
		f.set(func() error { return errHandler })
		w.Pass(30 * time.Second)
		gaps := f.gaps()
		require.Equal(w, []int{124, 8, 16}, gaps[len(gaps)-3:], "%v", gaps)
		n.stop()
	})
}

// A parked resource is given up and lost like any other: at once, and its
// former owner no longer lists the resource.
func TestParkedResourceIsGivenUpAtOnce(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(1)
		f := newFragile("r00", func() error { return errHandler })
		n := w.members(1, f, rebalanser.Options{RetryDelay: time.Hour})[0]
		w.Pass(time.Minute)
		require.Len(w, w.status(a).Failing, 1)
		_, err := a.RemoveResources(w.Ctx, "r00")
		require.NoError(w, err)
		w.Pass(time.Second)
		require.Empty(w, w.status(a).Failing)
		require.Zero(w, n.group.State().Owned)

		_, err = a.AddResources(w.Ctx, "r00")
		require.NoError(w, err)
		w.Pass(time.Minute)
		require.Len(w, w.status(a).Failing, 1)
		w.Expire(n.client)
		w.Pass(time.Minute)
		st := w.status(a)
		require.Len(w, st.Failing, 1)
		require.Equal(w, 1, st.Failing[0].Failures, "the count restarts in the next membership")
		began := time.Now()
		n.stop()
		require.Less(w, time.Since(began), time.Second)
		require.NoError(w, leftBehind(w.Server))
	})
}

// A server's refusal to store the failures ends no membership.
func TestRefusedReportOfFailuresEndsNothing(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		require.NoError(w, w.Server.Create(path+"/failures", nil))
		admin := w.Session(w.Client())
		_, err := admin.SetACL(w.Ctx, path+"/failures", session.WorldACL(session.PermRead), -1)
		require.NoError(w, err)
		n := w.members(1, newFragile("r00", func() error { return errHandler }), rebalanser.Options{RetryDelay: time.Second})[0]
		w.Pass(5 * time.Minute)
		require.Equal(w, 1, n.group.State().Failing)
		require.Empty(w, w.status(a).Unowned)
		n.stop()
	})
}

// A lost reply to the write of the failures changes nothing.
func TestReportOfFailuresSurvivesLostReplies(t *testing.T) {
	for _, op := range []string{"create", "setData"} {
		inBoth(t, func(w *World) {
			a := w.stock(2)
			hit := func(q zktest.Request) bool {
				return (q.Op == op || world.Creates(q.Op) && world.Creates(op)) && strings.HasPrefix(q.Path, path+"/failures/")
			}
			w.Server.FailNth(hit, 1, zktest.Action{Do: zktest.DropReplyCut})
			n := w.members(1, newFragile("r00", func() error { return errHandler }), rebalanser.Options{RetryDelay: time.Second})[0]
			w.Pass(time.Minute)
			require.Len(w, w.status(a).Failing, 1)
			require.Greater(w, w.status(a).Failing[0].Failures, 4)
			n.stop()
			require.NoError(w, leftBehind(w.Server))
		})
	}
}

// With RestartDelay a failure of the handler makes the member join again.
func TestMemberJoinsAgainAfterAFailureOfItsHandler(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		n := w.node("c2", rebalanser.Options{RestartDelay: 10 * time.Second})
		var fail atomic.Bool
		fail.Store(true)
		n.before = func(_ context.Context, what string, rs []*rebalanser.Resource) error {
			if what[:1] == "+" && fail.Load() {
				for _, r := range rs {
					w.yield("c2", r) // the resource of a failing call counts as given up
				}
				return errHandler
			}
			return nil
		}
		n.run()
		w.Pass(5 * time.Second)
		require.Equal(w, "restarting", n.group.State().Phase)
		require.ErrorIs(w, n.group.State().Err, errHandler)
		for _, m := range w.status(a).Members {
			require.True(w, m.Gone)
		}
		fail.Store(false)
		w.Pass(10 * time.Second)
		require.Equal(w, "member", n.group.State().Phase)
		require.NoError(w, n.group.State().Err)
		require.Equal(w, names(2), w.of("c2"))
		n.stop()

		// During the delay Run ends with its context.
		fail.Store(true)
		n.run()
		w.Pass(5 * time.Second)
		began := time.Now()
		n.stop()
		require.Zero(w, time.Since(began))

		// An error that a retry cannot change is returned.
		other := rebalanser.GlobalBarrier
		if w.mode == other {
			other = rebalanser.ResourceBarrier
		}
		g := rebalanser.New(w.Client(), path, n.recorder, &rebalanser.Options{Mode: other, RestartDelay: time.Second})
		require.ErrorIs(w, g.Run(w.Within(time.Minute)), rebalanser.ErrMode)
	})
}

// Resources outside all members' subscriptions are named, other resources are
// not.
func TestStatusNamesWhatNoSubscriptionCovers(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(12)
		require.Empty(w, w.status(a).Uncovered, "the group has no member")
		one := w.node("c2", rebalanser.Options{Subscription: []string{"r0[0-4]"}}).run()
		w.Settle()
		require.Equal(w, names(12)[5:], w.status(a).Uncovered)
		two := w.node("c3", rebalanser.Options{Subscription: []string{"r1*", "r00"}}).run()
		w.Settle()
		require.Equal(w, names(12)[5:10], w.status(a).Uncovered)
		three := w.node("c4", rebalanser.Options{}).run()
		w.Settle()
		require.Empty(w, w.status(a).Uncovered)
		for _, n := range []*node{three, two, one} {
			n.stop()
		}
	})
}
