package discovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// lasting is the timeout of sessions that are not to be lost.
const lasting = 30 * time.Second

func connectApache(t *testing.T, cluster *apache.Cluster, timeout time.Duration) *session.Client {
	t.Helper()
	return world.Connect(t, cluster.Connect(), session.Options{Timeout: timeout})
}

// The operations on Apache's server: each type of instance is registered, seen, updated
// in place, moved in one transaction and taken away.
func TestRegistrationsOnApache_D6_D7_D8_N13(t *testing.T) {
	t.Parallel()
	// The server keeps services whose last instance has just left: they are listed below.
	cluster := apache.Require(t, &apache.Options{Heap: 96, ContainerInterval: time.Hour})
	root := "/apache-" + session.NewID()
	c, other := connectApache(t, cluster, lasting), connectApache(t, cluster, lasting)
	r := discovery.NewRegistry(c, root, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	seen := watchWeb(ctx, discovery.NewRegistry(other, root, nil))
	until := func(n, port int) {
		t.Helper()
		for list := range seen {
			if len(list) == n && (n == 0 || list[0].Port == port && list[0].Err == nil) {
				return
			}
		}
		t.Fatalf("%d on port %d were never seen", n, port)
	}
	until(0, 0)
	for _, typ := range types {
		g, err := r.Register(ctx, typed("one", typ))
		require.NoError(t, err)
		until(1, 8080)
		_, err = discovery.NewRegistry(other, root, nil).Register(ctx, discovery.Instance{Service: "web", ID: "one"})
		if typ != discovery.DynamicSequential {
			require.ErrorIs(t, err, discovery.ErrConflict)
			i := g.Instance()
			i.Port = 1
			require.NoError(t, g.Update(ctx, i))
			until(1, 1)
			require.NoError(t, g.Move(ctx, "api", i))
			until(0, 0)
			list, err := r.Instances(ctx, "api")
			require.NoError(t, err)
			require.Equal(t, []discovery.Instance{g.Instance()}, list)
			require.NoError(t, g.Unregister(ctx))
			list, err = r.Instances(ctx, "api")
			require.NoError(t, err)
			require.Empty(t, list)
			continue
		}
		require.NoError(t, err, "a name of its own")
		until(2, 8080)
		require.NoError(t, g.Unregister(ctx))
		until(1, 0)
		require.NoError(t, other.Close(ctx)) // and its registration with it
		other = connectApache(t, cluster, lasting)
		seen = watchWeb(ctx, discovery.NewRegistry(other, root, nil))
		until(0, 0)
	}
	services, err := r.Services(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"api", "web"}, services)
	cancel()
	for range seen {
	}
}

// Two of three servers are down until the instances have lost their sessions, and come
// back; a new leader gives every session its whole timeout. The instances are registered
// again as soon as their clients are connected, and each is listed once.
func TestOnApacheLostInstancesReplaceTheirFormerZnodes_CH52(t *testing.T) {
	t.Parallel()
	const timeout = 12 * time.Second
	cluster := apache.Require(t, &apache.Options{Servers: 3, Heap: 96, Own: true})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	root := "/former-" + session.NewID()
	var all []*discovery.Registration
	for n := range 4 {
		r := discovery.NewRegistry(connectApache(t, cluster, timeout), root, nil)
		g, err := r.Register(ctx, typed(fmt.Sprint("i", n), ephemerals[n%2]))
		require.NoError(t, err)
		all = append(all, g)
	}
	for _, i := range []int{0, 1} {
		require.NoError(t, cluster.Kill(ctx, i))
	}
	before := map[string]int64{}
	for _, g := range all {
		<-g.Context().Done()
		require.ErrorIs(t, context.Cause(g.Context()), session.ErrTrustRanOut)
		before[g.Instance().ID] = g.Token()
	}
	for _, i := range []int{0, 1} {
		require.NoError(t, cluster.Launch(ctx, i))
	}
	require.NoError(t, cluster.Await(ctx, 0, 1, 2))
	back := time.Now()
	for _, g := range all {
		for s, err := range g.States(ctx) {
			require.NoError(t, err)
			if s.Registered && s.Token != before[g.Instance().ID] {
				break
			}
		}
	}
	took := time.Since(back)
	t.Logf("registered again %v after the servers were back", took)
	require.Less(t, took, timeout/2)
	list, err := discovery.NewRegistry(connectApache(t, cluster, lasting), root, nil).Instances(ctx, service)
	require.NoError(t, err)
	require.Len(t, list, len(all))
	for _, i := range list {
		require.Greater(t, i.Token, before[i.ID])
	}
	for _, g := range all {
		require.NoError(t, g.Unregister(ctx))
	}
}

// watchWeb watches the service until ctx ends, when it closes the channel.
func watchWeb(ctx context.Context, r *discovery.Registry) chan []discovery.Instance {
	out := make(chan []discovery.Instance, 1000)
	// Waited for by the reader of out; ends with ctx.
	go func() {
		defer close(out)
		for list, err := range r.Watch(ctx, "web") {
			if err != nil {
				return
			}
			out <- list
		}
	}()
	return out
}

// TestStressOnApache keeps registrations, and updates them, on a server that is
// killed, paused and restarted: in the end each is registered once, as it was wanted
// last, and no other znode exists.
func TestStressOnApache_CH51_CH53_CH58(t *testing.T) {
	t.Parallel()
	blows := 3
	if testing.Short() {
		blows = 1
	}
	cluster := apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96})
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	var all []*discovery.Registration
	for n := range 3 {
		r := discovery.NewRegistry(connectApache(t, cluster, 2*time.Second), base, nil)
		for _, typ := range types {
			i := typed(fmt.Sprint("i", n), typ)
			i.ID += typ.String()
			g, err := r.Register(ctx, i)
			require.NoError(t, err)
			all = append(all, g)
		}
	}
	trouble, calm := context.WithCancel(ctx)
	defer calm()
	over := make(chan error, len(all))
	updated := make([]atomic.Int64, len(all))
	for k, g := range all {
		// Waited for below; ends when the trouble does.
		go func() {
			for n := 0; trouble.Err() == nil; n++ {
				i := g.Instance()
				i.Payload = json.RawMessage(fmt.Sprint(n))
				short, cancel := context.WithTimeout(trouble, time.Duration(rand.Int64N(int64(3*time.Second))))
				err := g.Update(short, i)
				if err != nil && short.Err() == nil {
					over <- err
					cancel()
					return
				}
				if err == nil {
					updated[k].Add(1)
				}
				cancel()
				world.SleepContext(trouble, 100*time.Millisecond)
			}
			i := g.Instance()
			i.Payload = json.RawMessage(`"last"`)
			over <- g.Update(ctx, i)
		}()
	}
	world.BreakServers(t, cluster, rand.New(rand.NewPCG(2, 3)), blows, func() int {
		least := updated[0].Load()
		for k := range updated {
			least = min(least, updated[k].Load())
		}
		return int(least)
	})
	calm()
	for range all {
		require.NoError(t, <-over)
	}
	reader := discovery.NewRegistry(connectApache(t, cluster, lasting), base, nil)
	// A node of a session that was lost may outlive it for a while.
	require.Eventually(t, func() bool {
		list, err := reader.Instances(ctx, service)
		last := 0
		for _, i := range list {
			if string(i.Payload) == `"last"` {
				last++
			}
		}
		return err == nil && len(list) == len(all) && last == len(all)
	}, world.Patience, 100*time.Millisecond)
	for _, g := range all {
		require.Eventually(t, func() bool { return g.State().Registered }, world.Patience, 10*time.Millisecond, "%+v", g.State())
		require.NoError(t, g.Unregister(ctx))
	}
	require.Eventually(t, func() bool {
		list, err := reader.Instances(ctx, service)
		return len(list) == 0 && (err == nil || errors.Is(err, session.ErrNoNode))
	}, world.Patience, 100*time.Millisecond)
}
