package workerctl_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// traffic counts what the clients of a benchmark send and receive, without heartbeats,
// pings and the traffic of connecting, whose numbers depend on the time only.
type traffic struct{ requests, events, bytes atomic.Int64 }

func (c *traffic) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: conn, sent: frames{of: c, count: c.countRequest}, received: frames{of: c, count: c.countReply}}, nil
}

type countedConn struct {
	net.Conn
	sent, received frames
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.sent.add(p)
	return c.Conn.Write(p)
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.add(p[:n])
	return n, err
}

// frames finds the frames in one direction of a connection: a length and as many bytes.
type frames struct {
	of    *traffic
	count func(head []byte, length int)
	head  []byte // the length and the first 12 bytes of a frame
	left  int    // of a frame that is counted
	shook bool   // the handshake is over
}

func (f *frames) add(p []byte) {
	for len(p) > 0 {
		if skip := min(f.left, len(p)); skip > 0 {
			p, f.left = p[skip:], f.left-skip
			continue
		}
		f.head, p = append(f.head, p[0]), p[1:]
		if len(f.head) < 4 {
			continue
		}
		length := int(binary.BigEndian.Uint32(f.head))
		if len(f.head) < 4+min(length, 12) {
			continue
		}
		if f.shook {
			f.count(f.head[4:], 4+length)
		}
		f.left, f.head, f.shook = length-len(f.head)+4, f.head[:0], true
	}
}

const (
	opPing, opCheck, opMulti = 11, 13, 14
	xidEvent, xidPing        = -1, -2
)

func (c *traffic) countRequest(head []byte, length int) {
	op := binary.BigEndian.Uint32(head[4:])
	if op == opPing || op == opMulti && binary.BigEndian.Uint32(head[8:]) == opCheck {
		return
	}
	c.requests.Add(1)
	c.bytes.Add(int64(length))
}

func (c *traffic) countReply(head []byte, length int) {
	switch int32(binary.BigEndian.Uint32(head)) {
	case xidPing:
		return
	case xidEvent:
		c.events.Add(1)
	}
	c.bytes.Add(int64(length))
}

// growth is the traffic and the time of n workers.
type growth struct {
	n                       int
	requests, events, bytes int64
	took                    time.Duration
}

// report writes a row of a table, with the exponent of each figure in n after a smaller
// one.
func (g growth) report(b *testing.B, before growth) {
	b.ReportMetric(float64(g.requests), "requests")
	b.ReportMetric(float64(g.events), "events")
	b.ReportMetric(float64(g.bytes), "bytes")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(g.took.Seconds(), "s")
	exponent := func(now, was float64) string {
		if before.n == 0 || was == 0 {
			return "-"
		}
		return fmt.Sprintf("%.2f", math.Log(now/was)/math.Log(float64(g.n)/float64(before.n)))
	}
	b.Logf("| %d | %d | %s | %d | %s | %.1f MB | %s | %.1f s | %s |", g.n,
		g.requests, exponent(float64(g.requests), float64(before.requests)),
		g.events, exponent(float64(g.events), float64(before.events)),
		float64(g.bytes)/1e6, exponent(float64(g.bytes), float64(before.bytes)),
		g.took.Seconds(), exponent(g.took.Seconds(), before.took.Seconds()))
}

// BenchmarkGrowth has n, 2n and 4n workers, each with a session of its own, join a job at
// once: in "joins" alone; in "rosters", each also follows the roster, from before the
// first join until it has seen all workers; in "waits", each waits for all others, and in
// "failfast" with Options.FailFast. In "floor", each client has a recursive watch on a
// folder and creates one znode in it, without workers: the least that a roster can cost
// whose watch reports each join. The time ends when the last worker knows of all that it
// waits for. A row has the requests, events, bytes and time, each with its exponent in n.
// ZKBENCH_WORKERS is n, 50 by default.
func BenchmarkGrowth(b *testing.B) {
	n := world.BenchNumber(b, "ZKBENCH_WORKERS", 50)
	for _, shape := range []struct {
		name   string
		opts   *workerctl.Options
		follow func(*crowd, context.Context, *workerctl.Job) error
	}{
		{"floor", nil, (*crowd).followEvents},
		{"joins", nil, nil},
		{"rosters", nil, (*crowd).followRoster},
		{"waits", nil, (*crowd).waitAll},
		{"failfast", &workerctl.Options{FailFast: true}, (*crowd).waitAll},
	} {
		b.Run(shape.name, func(b *testing.B) {
			var before growth
			for _, n := range []int{n, 2 * n, 4 * n} {
				b.Run(fmt.Sprintf("workers=%d", n), func(b *testing.B) {
					var g growth
					for b.Loop() {
						b.StopTimer()
						c := newCrowd(b, n, shape.opts)
						c.bare = shape.name == "floor"
						b.StartTimer()
						g = c.join(b, shape.follow)
						b.StopTimer()
						c.end(b)
						b.StartTimer()
					}
					g.report(b, before)
					before = g
				})
			}
		})
	}
}

// crowd is the workers of a job with a session each.
type crowd struct {
	*traffic
	n       int
	clients []*session.Client
	jobs    []*workerctl.Job
	ready   sync.WaitGroup
	bare    bool // there are no workers, but znodes
}

func newCrowd(b *testing.B, n int, opts *workerctl.Options) *crowd {
	// All workers are in one process, whose heap is that of n processes.
	percent := debug.SetGCPercent(400)
	b.Cleanup(func() { debug.SetGCPercent(percent) })
	c := &crowd{traffic: &traffic{}, n: n}
	addr := world.BenchServer(b)
	for i := range n {
		client, err := session.Connect(b.Context(), addr, &session.Options{
			Dialer: c.dial, Timeout: 40 * time.Second, SharedHeartbeats: "", TickTime: 2 * time.Second,
		})
		require.NoError(b, err)
		c.clients = append(c.clients, client)
		if i == 0 {
			_, err = workerctl.Submit(b.Context(), client, workerctl.Spec{Name: "growth", Workers: n}, opts)
			require.NoError(b, err)
		}
		j, err := workerctl.Attach(b.Context(), client, "growth", opts)
		require.NoError(b, err)
		c.jobs = append(c.jobs, j)
	}
	return c
}

// join has all workers join, and follow what they follow.
func (c *crowd) join(b *testing.B, follow func(*crowd, context.Context, *workerctl.Job) error) growth {
	ctx, cancel := context.WithTimeout(b.Context(), 8*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	if follow != nil {
		c.ready.Add(c.n)
		for _, j := range c.jobs {
			// Waited for below; ends with ctx.
			all.Go(func() {
				if err := follow(c, ctx, j); err != nil {
					b.Error(err)
				}
			})
		}
		c.ready.Wait()
	}
	c.requests.Store(0)
	c.events.Store(0)
	c.bytes.Store(0)
	began := time.Now()
	for i, j := range c.jobs {
		// Waited for below; ends with ctx.
		all.Go(func() {
			if err := c.joinOne(ctx, j, i); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	return growth{n: c.n, requests: c.requests.Load(), events: c.events.Load(), bytes: c.bytes.Load(), took: time.Since(began)}
}

// joinOne has the i-th worker join, or creates its znode.
func (c *crowd) joinOne(ctx context.Context, j *workerctl.Job, i int) error {
	if !c.bare {
		_, err := j.Join(ctx, nth(i))
		return err
	}
	return c.clients[i].Retry(ctx, func(s *session.Session) error {
		_, err := s.Create(ctx, fmt.Sprintf("%s/%d-1-0123456789abcdef", j.Path(), i), make([]byte, 200), session.Persistent, nil)
		return err
	})
}

// followEvents counts the events of the folder in which the znodes are created.
func (c *crowd) followEvents(ctx context.Context, j *workerctl.Job) error {
	s, err := c.client(j).Session(ctx)
	if err != nil {
		return err
	}
	var seen atomic.Int64
	all := make(chan struct{})
	sub, err := s.Subscribe(ctx, j.Path(), true, func(session.Event) {
		if seen.Add(1) == int64(c.n) {
			close(all)
		}
	})
	c.ready.Done()
	if err != nil {
		return err
	}
	defer sub.Stop()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *crowd) client(j *workerctl.Job) *session.Client {
	return c.clients[slices.Index(c.jobs, j)]
}

// followRoster follows the roster of j until all workers have joined.
func (c *crowd) followRoster(ctx context.Context, j *workerctl.Job) error {
	r := j.Roster()
	ctx, end := context.WithCancel(ctx)
	ran := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { ran <- r.Run(ctx) }()
	err := r.WaitSynced(ctx)
	c.ready.Done()
	seen := 0
	for _, e := range r.Changes(ctx) {
		if err = e; err != nil {
			break
		}
		if seen++; seen == c.n {
			break
		}
	}
	end()
	<-ran
	return err
}

func (c *crowd) waitAll(ctx context.Context, j *workerctl.Job) error {
	c.ready.Done()
	return j.WaitAll(ctx)
}

func (c *crowd) end(b *testing.B) {
	var all sync.WaitGroup
	for _, client := range c.clients {
		// Waited for below; ends when the session is closed.
		all.Go(func() { _ = client.Close(context.WithoutCancel(b.Context())) })
	}
	all.Wait()
}
