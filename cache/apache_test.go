package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// steady is the timeout of sessions that are not to be lost.
const steady = 30 * time.Second

func connectApache(t testing.TB, cluster *apache.Cluster, o session.Options) *session.Client {
	t.Helper()
	c, err := session.Connect(context.Background(), cluster.Connect(), &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	return c
}

// real reads the content that a view of the tree below path should show.
func real(ctx context.Context, s *session.Session, path string, out map[string]string) error {
	data, _, err := s.Get(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	out[path] = string(data)
	names, _, err := s.Children(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil
	}
	for _, name := range names {
		if err := real(ctx, s, path+"/"+name, out); err != nil {
			return err
		}
	}
	return err
}

// TestStressOnApache is the stress test in real time, on a server that is
// killed, paused and restarted: N12, N35 as Apache keeps them.
func TestStressOnApache(t *testing.T) {
	t.Parallel()
	blows := 3
	if testing.Short() {
		blows = 1
	}
	cluster := apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96})
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	running, end := context.WithCancel(ctx)
	defer end()
	var all sync.WaitGroup
	watcher, writer := connectApache(t, cluster, session.Options{Timeout: 2 * time.Second}), connectApache(t, cluster, session.Options{Timeout: steady})
	views := []*watched{
		watch(running, &all, cache.NewTree(watcher, "/s", text, nil).View, "/s", aTree, 0),
		watch(running, &all, cache.NewTree(watcher, "/s", text, &cache.Options{Buffer: 2}).View, "/s", aTree, 50*time.Millisecond),
	}
	changing, calm := context.WithCancel(ctx)
	defer calm()
	// Waited for below; ends with changing.
	all.Go(func() { mutate(changing, writer, rand.New(rand.NewPCG(1, 1)), 40*time.Millisecond) })
	world.BreakServers(t, cluster, rand.New(rand.NewPCG(2, 2)), blows, func() int {
		least := views[0].view.Status().AsOf
		for _, wd := range views {
			if asOf := wd.view.Status().AsOf; asOf.Before(least) {
				least = asOf
			}
		}
		return int(least.UnixMilli())
	})
	calm()
	require.Eventually(t, func() bool {
		want := map[string]string{}
		s, err := writer.Session(ctx)
		if err != nil || real(ctx, s, "/s", want) != nil {
			return false
		}
		for _, wd := range views {
			if wd.view.WaitSynced(ctx) != nil || fmt.Sprint(contents(wd.view.Snapshot())) != fmt.Sprint(want) {
				return false
			}
			if wd.compare() != nil { // the slow reader comes later
				return false
			}
		}
		return true
	}, 2*world.Patience, 100*time.Millisecond)
	end()
	all.Wait()
	for _, wd := range views {
		require.NoError(t, <-wd.fail)
		require.NoError(t, wd.compare())
		require.Positive(t, wd.wi.events)
	}
}

// TestViewsOnApache_N9: zktest's numbers of requests and watches are those of
// Apache's servers.
func TestViewsOnApache_N9(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := connectApache(t, cluster, session.Options{Timeout: steady})
	base := "/views-" + session.NewID()
	s, err := c.Session(ctx)
	require.NoError(t, err)
	require.NoError(t, s.EnsurePath(ctx, base, session.Persistent, nil))
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	fill(t, s, base, n)
	v := cache.NewChildren(c, base, text, nil)
	tree := cache.NewTree(c, base, text, nil)
	ended := make(chan error, 2)
	running, end := context.WithCancel(ctx)
	for _, view := range []*cache.View[string]{v.View, tree.View} {
		// Waited for below; ends with running.
		go func() { ended <- view.Run(running) }()
	}
	require.NoError(t, v.WaitSynced(ctx))
	require.NoError(t, tree.WaitSynced(ctx))
	require.Equal(t, n, v.Len())
	require.Equal(t, n+1, tree.Len())

	_, err = s.Create(ctx, base+"/x", []byte("1"), session.Ephemeral, nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool { e, ok := v.Get("x"); return ok && e.Value == "1" }, world.Patience, time.Millisecond)
	require.NoError(t, s.Delete(ctx, base+"/x", -1))
	_, err = s.Create(ctx, base+"/x", []byte("2"), session.Persistent, nil)
	require.NoError(t, err)
	_, err = s.Create(ctx, base+"/x/y", []byte("3"), session.Persistent, nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		e, ok := v.Get("x")
		deep, found := tree.Lookup(base + "/x/y")
		return ok && found && e.Value == "2" && deep.Value == "3"
	}, world.Patience, time.Millisecond)
	require.True(t, v.Status().Synced)
	end()
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
}

// fill makes n children of path, all in progress together.
func fill(t testing.TB, s *session.Session, path string, n int) {
	t.Helper()
	const batch = 500
	for at := 0; at < n; at += batch {
		var ops []session.Op
		for i := at; i < min(n, at+batch); i++ {
			ops = append(ops, session.CreateOp(fmt.Sprintf("%s/child-%06d", path, i), []byte("some data of the usual length"), session.Persistent, nil))
		}
		_, err := s.Txn(context.Background(), ops...)
		require.NoError(t, err)
	}
}

// TestNodesOpenedLaterOnApache: servers that keep back the events of unreadable
// znodes (since 3.8.4 and 3.9.2, and some older ones that distributions have patched)
// report a znode that becomes readable later only with its next change.
func TestNodesOpenedLaterOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	owner := connectApache(t, cluster, session.Options{Timeout: steady, Credentials: []session.Credential{session.Digest("u", "p")}})
	s, err := owner.Session(ctx)
	require.NoError(t, err)
	base := "/closed-" + session.NewID()
	require.NoError(t, s.EnsurePath(ctx, base, session.Persistent, nil))
	v := cache.NewChildren(connectApache(t, cluster, session.Options{Timeout: steady}), base, text, nil)
	running, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	// Waited for below; ends with running.
	go func() { ended <- v.Run(running) }()
	require.NoError(t, v.WaitSynced(ctx))
	_, err = s.Create(ctx, base+"/p", []byte("private"), session.Persistent, &session.CreateOptions{ACL: session.CreatorACL()})
	require.NoError(t, err)
	_, err = s.SetACL(ctx, base+"/p", session.WorldACL(zk.PermAll), -1)
	require.NoError(t, err)
	_, err = s.Set(ctx, base+"/p", []byte("public"), -1)
	require.NoError(t, err)
	require.Eventually(t, func() bool { e, ok := v.Get("p"); return ok && e.Value == "public" }, world.Patience, time.Millisecond)
	end()
	require.NoError(t, <-ended)
}
