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
)

// The benchmarks run over TCP on the test server, or, with ZKBENCH_APACHE=1, on a
// standalone Apache ZooKeeper. Each member has a session of its own.

// tally is a handler that counts the resources owned by all members, and
// signals when all are owned.
type tally struct {
	// mu guards owned, and calls of changed.
	mu              sync.Mutex
	owned           map[string]int
	total           int
	calls, assigned int
	news            chan struct{}
}

// counter is the handler of a single member.
type counter struct {
	*tally
	memberID string
}

func (c counter) change(n int) {
	c.mu.Lock()
	c.owned[c.memberID] += n
	c.calls++
	c.assigned += max(0, n)
	c.total += n
	c.mu.Unlock()
	select {
	case c.news <- struct{}{}:
	default:
	}
}

func (c counter) Assigned(_ context.Context, rs []*rebalanser.Resource) error {
	c.change(len(rs))
	return nil
}

func (c counter) Revoked(_ context.Context, rs []*rebalanser.Resource) error {
	c.change(-len(rs))
	return nil
}

func (c counter) Lost(rs []*rebalanser.Resource) { c.change(-len(rs)) }

// crowd is a group of many members.
type crowd struct {
	testing.TB
	*tally
	addr    string
	mode    rebalanser.Mode
	n       int // resources
	running map[string]func()
}

func newCrowd(b testing.TB, addr string, mode rebalanser.Mode, resources int) *crowd {
	c := &crowd{TB: b, addr: addr, mode: mode, n: resources, running: map[string]func(){}}
	c.tally = &tally{owned: map[string]int{}, news: make(chan struct{}, 1)}
	admin := rebalanser.Open(c.connect(), path, &rebalanser.Options{Mode: mode})
	require.NoError(b, admin.Create(b.Context()))
	var all []string
	for i := range resources {
		all = append(all, fmt.Sprintf("resource-%06d", i))
	}
	_, err := admin.AddResources(b.Context(), all...)
	require.NoError(b, err)
	return c
}

// end lets all members leave.
func (c *crowd) end() {
	for _, stop := range c.running {
		stop()
	}
}

func (c *crowd) connect() *session.Client {
	client, err := session.Connect(c.Context(), c.addr, &session.Options{Timeout: 40 * time.Second})
	require.NoError(c, err)
	c.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = client.Close(ctx)
	})
	return client
}

// join starts a member. The first ones wait for each other.
func (c *crowd) join(memberID string, client *session.Client, delay time.Duration) {
	g := rebalanser.New(client, path, counter{c.tally, memberID}, &rebalanser.Options{Mode: c.mode, ID: memberID, InitialDelay: delay})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	// The function in running waits for the goroutine; it ends with ctx.
	go func() { done <- g.Run(ctx) }()
	c.running[memberID] = func() {
		cancel()
		if err := <-done; err != nil {
			c.Error(err)
		}
	}
}

// settled waits until n members own everything in equal shares.
func (c *crowd) settled(members int) {
	limit := time.After(5 * time.Minute)
	for {
		c.mu.Lock()
		fair := c.total == c.n
		for memberID := range c.running {
			k := c.owned[memberID]
			fair = fair && k >= c.n/members && k <= (c.n+members-1)/members
		}
		total := c.total
		c.mu.Unlock()
		if fair {
			return
		}
		select {
		case <-c.news:
		case <-limit:
			c.Fatalf("%d of %d are owned", total, c.n)
		}
	}
}

// One operation is: a member joins a group at rest, until the member has its
// share; then the member leaves, until the others have the share. The benchmark
// also reports the time until a group of members started together owns
// everything. ZKBENCH_MEMBERS and ZKBENCH_RESOURCES set its size.
func BenchmarkRebalancing(b *testing.B) {
	members, resources := world.BenchNumber(b, "ZKBENCH_MEMBERS", 20), world.BenchNumber(b, "ZKBENCH_RESOURCES", 2000)
	for _, mode := range modes() {
		b.Run(fmt.Sprintf("%v/members=%d/resources=%d", mode, members, resources), func(b *testing.B) {
			c := newCrowd(b, world.BenchServer(b), mode, resources)
			defer c.end()
			clients := make([]*session.Client, members)
			for i := range clients {
				clients[i] = c.connect()
			}
			const delay = 3 * time.Second
			began := time.Now()
			for i, client := range clients {
				c.join(fmt.Sprint("m", i), client, delay)
			}
			c.settled(members)
			start := time.Since(began) - delay
			last := c.connect()
			var joins, leaves time.Duration
			for b.Loop() {
				began := time.Now()
				c.join("last", last, 0)
				c.settled(members + 1)
				joins += time.Since(began)
				began = time.Now()
				c.running["last"]()
				delete(c.running, "last")
				c.settled(members)
				leaves += time.Since(began)
			}
			b.ReportMetric(float64(start.Milliseconds()), "ms/start")
			b.ReportMetric(float64(joins.Milliseconds())/float64(b.N), "ms/join")
			b.ReportMetric(float64(leaves.Milliseconds())/float64(b.N), "ms/leave")
		})
	}
}

// One operation is the status of the whole group.
func BenchmarkStatus(b *testing.B) {
	resources := world.BenchNumber(b, "ZKBENCH_RESOURCES", 2000)
	for _, mode := range modes() {
		b.Run(fmt.Sprintf("%v/resources=%d", mode, resources), func(b *testing.B) {
			c := newCrowd(b, world.BenchServer(b), mode, resources)
			defer c.end()
			c.join("one", c.connect(), 0)
			c.settled(1)
			a := rebalanser.Open(c.connect(), path, &rebalanser.Options{Mode: mode})
			for b.Loop() {
				st, err := a.Status(b.Context())
				require.NoError(b, err)
				require.Empty(b, st.Unowned)
			}
		})
	}
}
