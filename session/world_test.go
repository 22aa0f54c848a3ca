package session

import (
	"context"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// virtualLimit bounds a bubble in virtual time: an endless retry loop would
// otherwise run indefinitely, because time passes whenever all goroutines
// sleep.
const virtualLimit = time.Hour

// world is an in-memory server and a client inside a synctest bubble.
type world struct {
	*testing.T
	srv    *zktest.Server
	client *Client
	s      *Session // the client's first session
	ctx    context.Context
}

// inWorld runs body in a bubble with a server and a connected client. Both
// options may be nil. Everything is closed after body, and the bubble fails if
// a goroutine is left.
func inWorld(t *testing.T, so *zktest.Options, co *Options, body func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts := zktest.Options{}
		if so != nil {
			opts = *so
		}
		opts.InMemory = true
		srv, err := zktest.Start(&opts)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), virtualLimit)
		defer cancel()
		w := &world{T: t, srv: srv, ctx: ctx}
		defer func() { require.NoError(t, srv.Close()) }()
		w.client = w.connect("", co)
		defer w.close(w.client)
		w.s, err = w.client.Session(ctx)
		require.NoError(t, err)
		body(w)
	})
}

// connect makes another client; name is for zktest.Link.
func (w *world) connect(name string, o *Options) *Client {
	w.Helper()
	opts := Options{}
	if o != nil {
		opts = *o
	}
	if opts.Dialer == nil {
		opts.Dialer = w.srv.Client(name)
	}
	c, err := Connect(w.ctx, w.srv.Addr(), &opts)
	require.NoError(w, err)
	return c
}

// close closes a client, however broken the server is.
func (w *world) close(c *Client) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(w, c.Close(ctx))
}

// session is the present session of c.
func (w *world) session(c *Client) *Session {
	w.Helper()
	s, err := c.Session(w.ctx)
	require.NoError(w, err)
	return s
}

// within is a context that ends after d.
func (w *world) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(w.ctx, d)
	w.Cleanup(cancel)
	return ctx
}

// createNode creates a persistent znode as the administrator.
func (w *world) createNode(path, data string) {
	w.Helper()
	require.NoError(w, w.srv.Create(path, []byte(data)))
}

// exists asks the server itself.
func (w *world) exists(path string) bool {
	_, err := w.srv.Get(path)
	return err == nil
}

// sleep lets virtual time pass; worlds run in a bubble.
func (w *world) sleep(d time.Duration) { time.Sleep(d) }

// rounds is how many schedules a randomized test tries: n, or more if
// ZKTEST_SEEDS asks for more, and fewer with -short.
func rounds(n int) int {
	if testing.Short() {
		n /= 4
	}
	if more, err := strconv.Atoi(os.Getenv("ZKTEST_SEEDS")); err == nil {
		return max(n, more)
	}
	return n
}

// seeds returns the seeds 0 to n-1, or the seed in ZKTEST_SEED, like
// internal/world, which imports this package.
func seeds(t *testing.T, n int) []uint64 {
	t.Helper()
	if only := os.Getenv("ZKTEST_SEED"); only != "" {
		seed, err := strconv.ParseUint(only, 10, 64)
		require.NoError(t, err)
		return []uint64{seed}
	}
	require.Positive(t, n, "no history to run")
	list := make([]uint64, n)
	for i := range list {
		list[i] = uint64(i)
	}
	return list
}

// runMatrix runs a racy case.
func runMatrix(t *testing.T, c matrix.Case) matrix.Result {
	t.Helper()
	c.Racy = true
	return matrix.Run(t, c)
}

func TestASeedBeyondTheRangeRunsAlone(t *testing.T) {
	t.Setenv("ZKTEST_SEED", "731")
	require.Equal(t, []uint64{731}, seeds(t, 3))
	t.Setenv("ZKTEST_SEED", "")
	require.Equal(t, []uint64{0, 1, 2}, seeds(t, 3))
}
