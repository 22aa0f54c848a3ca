package rebalanser_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// The events whose growth is measured.
const (
	firstShare = "first"
	addOne     = "add"
	removeOne  = "remove"
	killOne    = "kill"

	// The mere reads and transactions of a first assignment in resource mode, and the mere
	// transactions.
	floor         = "floor"
	floorOfWrites = "writes"
)

// eventCost is what all clients together have taken for an event.
type eventCost struct {
	traffic
	took time.Duration
}

// growing is a group whose events are measured.
type growing struct {
	*crowd
	wire    *wire
	plugs   []*plug
	clients []*session.Client
	admin   *rebalanser.Admin
}

// The session timeouts of the member that is cut off, and of all other clients, whose
// heartbeats are rare.
const (
	shortTimeout = 10 * time.Second
	longTimeout  = 40 * time.Second
)

func (g *growing) connect(timeout time.Duration) (*session.Client, *plug) {
	p := &plug{w: g.wire}
	client, err := session.Connect(g.Context(), g.addr, &session.Options{Timeout: timeout, Dialer: p.dial, MaxReply: 64 << 20})
	require.NoError(g, err)
	g.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = client.Close(ctx)
	})
	return client, p
}

// rest waits until the clients are silent, and returns what they have sent and received.
func (g *growing) rest() traffic {
	const silence, most = 50 * time.Millisecond, 100
	tick := time.NewTicker(silence)
	defer tick.Stop()
	before := g.wire.traffic()
	for range most {
		<-tick.C
		now := g.wire.traffic()
		if now.since(before).bytes < 2000 { // heartbeats
			return before
		}
		before = now
	}
	return before
}

// during measures f, and what follows until the group is at rest.
func (g *growing) during(f func()) eventCost {
	before, began := g.rest(), time.Now()
	f()
	took := time.Since(began)
	return eventCost{g.rest().since(before), took}
}

// ownedAre waits until n resources are owned.
func (g *growing) ownedAre(n int) {
	limit := time.After(5 * time.Minute)
	for {
		g.mu.Lock()
		total := g.total
		g.mu.Unlock()
		if total == n {
			return
		}
		select {
		case <-g.news:
		case <-limit:
			g.Fatalf("%d of %d are owned", total, n)
		}
	}
}

// grow runs the events in a group of that size.
func grow(b *testing.B, addr string, mode rebalanser.Mode, members, resources int) map[string]eventCost {
	out := map[string]eventCost{}
	g := &growing{crowd: newCrowd(b, addr, mode, 0), wire: &wire{}}
	var all []string
	for i := range resources {
		all = append(all, fmt.Sprintf("resource-%06d", i))
	}
	client, _ := g.connect(longTimeout)
	g.admin = rebalanser.Open(client, path, &rebalanser.Options{Mode: mode})
	_, err := g.admin.AddResources(b.Context(), all...)
	require.NoError(b, err)
	for i := range members {
		timeout := longTimeout
		if i == members/2 {
			timeout = shortTimeout
		}
		client, p := g.connect(timeout)
		g.clients, g.plugs = append(g.clients, client), append(g.plugs, p)
	}
	delay := 3*time.Second + time.Duration(members)*20*time.Millisecond
	g.n = resources
	out[firstShare] = g.during(func() {
		for i, client := range g.clients {
			g.join(fmt.Sprint("m", i), client, delay)
		}
		g.settled(members)
	})
	g.Logf("assigned %d, in %d calls", g.assigned, g.calls)
	if first := out[firstShare]; true {
		first.took -= delay
		out[firstShare] = first
	}
	out[addOne] = g.during(func() {
		_, err := g.admin.AddResources(b.Context(), "resource-one")
		require.NoError(b, err)
		g.ownedAre(resources + 1)
	})
	out[removeOne] = g.during(func() {
		_, err := g.admin.RemoveResources(b.Context(), "resource-000077")
		require.NoError(b, err)
		g.ownedAre(resources)
	})
	if mode == rebalanser.ResourceBarrier {
		out[floor] = g.during(func() { g.takeRaw("/floor", resources, true) })
		out[floorOfWrites] = g.during(func() { g.takeRaw("/writes", resources, false) })
	}
	out[killOne] = g.kill(members)
	stopped := make(chan struct{})
	for _, stop := range g.running {
		// The loop below waits for the goroutine; it ends when the member has left.
		go func() {
			stop()
			stopped <- struct{}{}
		}()
	}
	for range g.running {
		<-stopped
	}
	clear(g.running)
	return out
}

// takeRaw makes the clients read and create that number of znodes in equal shares, with the
// requests of members that take barriers.
func (g *growing) takeRaw(dir string, resources int, read bool) {
	const perTxn = 249
	record := make([]byte, 80)
	s, err := g.clients[0].Session(g.Context())
	require.NoError(g, err)
	_, err = s.Create(g.Context(), dir, nil, session.Persistent, nil)
	require.NoError(g, err)
	var all sync.WaitGroup
	clients := slices.Delete(slices.Clone(g.clients), len(g.clients)/2, len(g.clients)/2+1) // its session is short
	for i, client := range clients {
		// Waited for below; ends with the replies.
		all.Go(func() {
			s, err := client.Session(g.Context())
			if err != nil {
				g.Error(err)
				return
			}
			var paths []string
			for k := i; k < resources; k += len(clients) {
				paths = append(paths, fmt.Sprintf("%s/resource-%06d", dir, k))
			}
			var reads []*session.Future[session.Seen]
			for _, path := range paths {
				if read {
					reads = append(reads, s.StartGet(path, true))
				}
			}
			for _, f := range reads {
				_, _ = f.Wait(g.Context()) // it does not exist
			}
			var txns []*session.Future[[]session.Result]
			for part := range slices.Chunk(paths, perTxn) {
				var ops []session.Op
				for _, path := range part {
					ops = append(ops, session.CreateOp(path, nil, session.Persistent, nil), session.SetOp(path, record, 0))
				}
				txns = append(txns, s.StartTxn(ops...))
			}
			for _, f := range txns {
				if _, err := f.Wait(g.Context()); err != nil {
					g.Logf("the floor is too low: %v", err) // the server is overloaded
				}
			}
		})
	}
	all.Wait()
}

// kill cuts a member off, and measures from the moment at which the servers have removed the
// member's znode until the other members own everything.
func (g *growing) kill(members int) eventCost {
	victim := members / 2
	memberID := fmt.Sprint("m", victim)
	st, err := g.admin.Status(g.Context())
	require.NoError(g, err)
	var node string
	for _, m := range st.Members {
		if m.ID == memberID {
			node = path + "/clients/" + m.Client
		}
	}
	s, err := g.clients[0].Session(g.Context())
	require.NoError(g, err)
	_, _, watch, err := s.ExistsW(g.Context(), node)
	require.NoError(g, err)
	expired := make(chan time.Time, 1)
	watch.OnFire(func(session.Event) { expired <- time.Now() })
	before := g.rest()
	g.mu.Lock()
	n := g.total
	g.mu.Unlock()
	cut := time.Now()
	g.plugs[victim].cut()
	at := <-expired
	g.Logf("a member was cut off; its znode was gone after %v", at.Sub(cut).Round(time.Millisecond))
	g.ownedAre(n)
	took := time.Since(at)
	return eventCost{g.rest().since(before), took}
}

// exponent is that of the growth from n to 4n.
func exponent(small, large float64) float64 {
	if small <= 0 || large <= 0 {
		return 0
	}
	return math.Log(large/small) / math.Log(4)
}

// One operation is a whole life of a group: all members share all resources out, one resource
// is added, one is removed, and one member is cut off. The benchmark does so with n, 2n and
// 4n resources, and reports what all clients together have sent and received: pings are left
// out. ZKBENCH_RESOURCES is 4n, and ZKBENCH_MEMBERS the number of members; with
// ZKBENCH_GROW=members, the members grow, and not the resources; with ZKBENCH_GROW=no, only the
// full size is measured. The floor is what the same clients need in the same run for the mere
// requests of a first assignment in resource mode.
func BenchmarkGrowthOfGroups(b *testing.B) {
	members, resources := world.BenchNumber(b, "ZKBENCH_MEMBERS", 20), world.BenchNumber(b, "ZKBENCH_RESOURCES", 8000)
	for _, mode := range modes() {
		b.Run(fmt.Sprintf("%v/members=%d/resources=%d", mode, members, resources), func(b *testing.B) {
			for b.Loop() {
				var all []map[string]eventCost
				parts := []int{4, 2, 1}
				if os.Getenv("ZKBENCH_GROW") == "no" {
					parts = []int{1}
				}
				for _, part := range parts {
					m, r := members, resources/part
					if os.Getenv("ZKBENCH_GROW") == "members" {
						m, r = members/part, resources
					}
					all = append(all, grow(b, world.BenchServerOf(b, 256+r/500), mode, m, r))
				}
				reportGrowth(b, all)
			}
		})
	}
}

// reportGrowth reports the figures at 4n, with the exponents of the growth from n to 4n.
func reportGrowth(b *testing.B, all []map[string]eventCost) {
	for _, event := range []string{firstShare, floor, floorOfWrites, addOne, removeOne, killOne} {
		small, large := all[0][event], all[len(all)-1][event]
		if large.requests == 0 {
			continue // global mode has no such floor
		}
		for _, at := range all {
			e := at[event]
			b.Logf("%-7s %9d requests %11d bytes %9.1f ms", event, e.requests, e.bytes, float64(e.took.Microseconds())/1000)
		}
		if len(all) > 1 {
			b.Logf("%-7s exponents: requests %.2f, bytes %.2f, time %.2f", event,
				exponent(float64(small.requests), float64(large.requests)), exponent(float64(small.bytes), float64(large.bytes)),
				exponent(float64(small.took), float64(large.took)))
		}
		b.ReportMetric(float64(large.took.Microseconds())/1000, "ms/"+event)
		b.ReportMetric(float64(large.requests), "requests/"+event)
		b.ReportMetric(float64(large.bytes)/1000, "kB/"+event)
	}
}
