package rebalanser_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// ownThePresent checks that the members own the resources that exist, each once.
func (w *World) ownThePresent(all ...*node) {
	w.Helper()
	var owned []string
	for _, n := range all {
		owned = append(owned, w.of(n.memberID)...)
	}
	require.ElementsMatch(w, w.Children(path+"/resources"), owned)
}

// lists is how often the resources or the barriers are listed during f and the minute after it.
func (w *World) lists(f func()) int {
	var n atomic.Int64
	stop := w.Server.OnRequest(func(r zktest.Request) zktest.Action {
		if r.Op == "getChildren2" && (r.Path == path+"/resources" || r.Path == path+"/barriers") {
			n.Add(1)
		}
		return zktest.Action{}
	})
	defer stop()
	f()
	w.Pass(time.Minute)
	return int(n.Load())
}

// A resource that is added or removed, by this package or another tool, is named by an event:
// no client lists the resources. The barriers are listed once a hundredth of the resources was
// removed.
func TestAChangeOfTheResourcesCostsNoList(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inBoth(t, func(w *World) {
		admin := w.stock(1000)
		c := w.node("c1", rebalanser.Options{}).run()
		w.Pass(20 * time.Millisecond)
		require.Zero(w, w.lists(func() {
			_, err := admin.AddResources(w.Ctx, "x", "y")
			require.NoError(w, err)
		}))
		w.ownThePresent(c)
		require.Zero(w, w.lists(func() {
			_, err := admin.RemoveResources(w.Ctx, "x")
			require.NoError(w, err)
		}))
		w.ownThePresent(c)
		require.Zero(w, w.lists(func() {
			require.NoError(w, w.Server.Create(path+"/resources/z", nil))
			require.NoError(w, w.Server.Create(path+"/resources/z/below", nil))
			require.NoError(w, w.Server.Set(path+"/resources/z", []byte("data")))
			require.NoError(w, w.Server.Delete(path+"/resources/y"))
		}))
		w.ownThePresent(c)
		if w.mode == rebalanser.ResourceBarrier {
			require.Contains(w, w.Children(path+"/barriers"), "y")
			require.LessOrEqual(w, w.lists(func() {
				_, err := admin.RemoveResources(w.Ctx, names(1000)[:10]...)
				require.NoError(w, err)
			}), 3)
			require.NotContains(w, w.Children(path+"/barriers"), "y")
			require.Len(w, w.Children(path+"/barriers"), 991)
		}
	})
}

// On a new connection the coordinator compares the number of changes, and lists the resources
// only if there were any meanwhile.
func TestChangesBetweenTwoConnectionsAreFound(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inBoth(t, func(w *World) {
		w.stock(20)
		c := w.node("c1", rebalanser.Options{}).run()
		w.Pass(20 * time.Millisecond)
		require.Zero(w, w.lists(func() { w.Server.CutAll() }))
		require.NoError(w, w.Server.Stop(1))
		w.Pass(time.Second)
		w.Once(func(r zktest.Request) bool { return r.Op == "connect" }, func() {
			if err := w.Server.Delete(path + "/resources/r07"); err != nil {
				w.Error(err)
			}
			if err := w.Server.Create(path+"/resources/x", nil); err != nil {
				w.Error(err)
			}
		})
		require.NoError(w, w.Server.Restart(1))
		w.Pass(3 * time.Second)
		require.Contains(w, w.of("c1"), "x")
		require.NotContains(w, w.of("c1"), "r07")
		w.ownThePresent(c)
	})
}

// The servers withhold the events of a resource that the coordinator may not read. Its
// coming and going are found within five seconds.
func TestAResourceThatMayNotBeReadIsFoundSoon(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		for _, mode := range modes() {
			inWorld(t, mode, o, func(w *World) {
				w.stock(4)
				c := w.node("c1", rebalanser.Options{}).run()
				w.Pass(time.Minute)
				owner := w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("a", "b")}})
				secret := &session.CreateOptions{ACL: zk.DigestACL(zk.PermAll, "a", "b")}
				_, err := w.Session(owner).Create(w.Ctx, path+"/resources/secret", nil, session.Persistent, secret)
				require.NoError(w, err)
				w.Pass(6 * time.Second)
				w.ownThePresent(c)
				require.NoError(w, w.Server.Delete(path+"/resources/secret"))
				w.Pass(6 * time.Second)
				w.ownThePresent(c)
				// An administrator that may not read the resource sees that it exists.
				_, err = w.Session(owner).Create(w.Ctx, path+"/resources/secret", nil, session.Persistent, secret)
				require.NoError(w, err)
				added, err := w.admin().AddResources(w.Ctx, "secret", "open")
				require.NoError(w, err)
				require.Equal(w, []string{"open"}, added)
				w.Pass(6 * time.Second)
				w.ownThePresent(c)
			})
		}
	}
}

// A session can have a subscription of another kind to the same path: then the coordinator
// lists the resources after each change.
func TestWithoutItsSubscriptionTheCoordinatorListsAfterEachChange(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inBoth(t, func(w *World) {
		admin := w.stock(4)
		client := w.Client()
		sub, err := w.Session(client).Subscribe(w.Ctx, path+"/resources", false, func(session.Event) {})
		require.NoError(w, err)
		c := w.nodeOf(client, "c1", rebalanser.Options{}).run()
		w.Pass(time.Second)
		w.ownThePresent(c)
		for i := range 5 {
			_, err := admin.AddResources(w.Ctx, fmt.Sprint("x", i))
			require.NoError(w, err)
			w.Pass(time.Second)
			w.ownThePresent(c)
		}
		w.Server.CutAll()
		require.NoError(w, w.Server.Delete(path+"/resources/x2"))
		w.Pass(3 * time.Second)
		w.ownThePresent(c)
		sub.Stop()
	})
}

// Whatever comes and goes, and whatever connections are lost: soon after the last change the
// members own the resources that exist.
func TestRandomChangesOfTheResourcesAreFollowed(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	inBoth(t, func(w *World) {
		w.stock(10)
		all := w.start(2, rebalanser.Options{})
		long := strings.Repeat("x", 300) // so that shards have bases, and differences to them
		rng := rand.New(rand.NewPCG(1, uint64(w.mode)))
		for round := range rounds {
			for range rng.IntN(12) {
				resource := fmt.Sprintf("%s/resources/x%d%s", path, rng.IntN(60), long)
				if w.Server.Create(resource, nil) != nil {
					require.NoError(w, w.Server.Delete(resource))
				}
				switch rng.IntN(12) {
				case 0:
					w.Server.CutAll()
				case 1:
					world.Pause(time.Duration(rng.IntN(200)) * time.Millisecond)
				}
			}
			if round%5 == 0 {
				w.Pass(4 * time.Second)
				if !world.Has(world.Resumes) {
					w.Pass(20 * time.Second) // all sessions were lost
				}
				w.ownThePresent(all...)
			}
		}
	})
}
