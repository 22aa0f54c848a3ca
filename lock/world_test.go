package lock_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// virtualLimit bounds a bubble in virtual time: a retry loop that never ends
// would otherwise run for ever, since time passes whenever all sleep.
const virtualLimit = 4 * time.Hour

// dir is where most tests have their lock.
const dir = "/locks/a"

// world is an in-memory server and its clients inside a synctest bubble.
type world struct {
	*testing.T
	srv *zktest.Server
	ctx context.Context
	n   int
}

// inWorld runs body in a bubble with a server; so may be nil. Everything is
// closed after body, and the bubble fails if a goroutine is left.
func inWorld(t *testing.T, so *zktest.Options, body func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts := zktest.Options{}
		if so != nil {
			opts = *so
		}
		opts.InMemory = true
		srv, err := zktest.Start(&opts)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, srv.Close()) })
		ctx, cancel := context.WithTimeout(context.Background(), virtualLimit)
		t.Cleanup(cancel)
		body(&world{T: t, srv: srv, ctx: ctx})
	})
}

// client connects a client with the default options, named "c1", "c2", ... for
// zktest.Link. It is closed with the world.
func (w *world) client() *session.Client { return w.clientWith(session.Options{}) }

func (w *world) clientWith(o session.Options) *session.Client {
	w.Helper()
	return w.clientAt(w.srv.Addr(), o)
}

// clientAt connects to some of the servers only.
func (w *world) clientAt(addr string, o session.Options) *session.Client {
	w.Helper()
	w.n++
	if o.Dialer == nil {
		o.Dialer = w.srv.Client(fmt.Sprintf("c%d", w.n))
	}
	c, err := session.Connect(w.ctx, addr, &o)
	require.NoError(w, err)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(w, c.Close(ctx))
	})
	return c
}

// id is the id of c's present session.
func (w *world) id(c *session.Client) int64 {
	w.Helper()
	s, err := c.Session(w.ctx)
	require.NoError(w, err)
	return s.ID()
}

// expire ends c's present session at the server.
func (w *world) expire(c *session.Client) {
	w.Helper()
	require.NoError(w, w.srv.ExpireSession(w.id(c)))
}

// within is a context that ends after d.
func (w *world) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(w.ctx, d)
	w.Cleanup(cancel)
	return ctx
}

// lock locks, and must succeed within a virtual minute.
func (w *world) lock(m *lock.Mutex) *lock.Held {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	h, err := m.Lock(ctx)
	require.NoError(w, err)
	return h
}

// unlock unlocks, and must succeed.
func (w *world) unlock(h *lock.Held) { w.Helper(); require.NoError(w, h.Unlock(w.ctx)) }

// acquire takes n permits within a virtual minute.
func (w *world) acquire(s *lock.Semaphore, n int) *lock.Permits {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	p, err := s.Acquire(ctx, n)
	require.NoError(w, err)
	return p
}

// won is the outcome of a Lock that runs beside the test.
type won struct {
	held *lock.Held
	err  error
	at   time.Time
}

// begin starts m.Lock and returns once it waits, or has ended.
func (w *world) begin(ctx context.Context, m *lock.Mutex) <-chan won {
	out := make(chan won, 1)
	// The bubble waits for it; it ends with ctx at the latest.
	go func() {
		h, err := m.Lock(ctx)
		out <- won{h, err, time.Now()}
	}()
	w.settle()
	return out
}

// settle lets everything come to rest: runs in a bubble.
func (w *world) settle() {
	time.Sleep(50 * time.Millisecond)
	synctest.Wait()
}

// pass lets virtual time pass: runs in a bubble.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// pending wants the Lock of out to be waiting still.
func (w *world) pending(out <-chan won) {
	w.Helper()
	select {
	case g := <-out:
		w.Fatalf("Lock returned (%v) when it should wait", g.err)
	default:
	}
}

// once runs do right before the first request that match accepts.
func (w *world) once(match func(zktest.Request) bool, do func()) {
	var first sync.Once
	w.srv.OnRequest(func(r zktest.Request) zktest.Action {
		if match(r) {
			first.Do(do)
		}
		return zktest.Action{}
	})
}

// children are the names below path; none if there is no path.
func (w *world) children(path string) []string {
	names, err := w.srv.Children(path)
	if err != nil {
		require.ErrorIs(w, err, zktest.ErrNoNode)
	}
	return names
}

// requests are the requests since the last ResetStats that recipes made:
// neither pings nor heartbeats of others nor handshakes.
func requests(counts map[string]int) int {
	n := 0
	for op, k := range counts {
		if op != "ping" && op != "connect" && op != "closeSession" {
			n += k
		}
	}
	return n
}

// of is how many requests client c's session made since the last ResetStats.
func (w *world) of(c *session.Client) int { return requests(w.srv.Stats().BySession[w.id(c)]) }

// seeds is how many random histories to try: n, or more if ZKTEST_SEEDS asks
// for more.
func seeds(n int) int {
	if more, err := strconv.Atoi(os.Getenv("ZKTEST_SEEDS")); err == nil {
		return max(n, more)
	}
	return n
}

// parentOf is the path above path.
func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }
