package barrier_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// dir is where most tests have their barrier.
const dir = "/barriers/a"

// World is a world with barriers.
type World struct{ *world.World }

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) { body(&World{w}) })
}

// passed is the outcome of an Await running concurrently with the test.
type passed struct {
	round int64
	err   error
}

// await starts b.Await and returns when it waits or has ended.
func (w *World) await(ctx context.Context, b *barrier.Barrier) <-chan passed {
	out := make(chan passed, 1)
	// The bubble waits for the goroutine; it ends with ctx at the latest.
	go func() {
		round, err := b.Await(ctx)
		out <- passed{round, err}
	}()
	w.Settle()
	return out
}

// seated is the outcome of an Enter running concurrently with the test.
type seated struct {
	seat *barrier.Seat
	err  error
}

// enter starts d.Enter and returns when it waits or has ended.
func (w *World) enter(ctx context.Context, d *barrier.Double) <-chan seated {
	out := make(chan seated, 1)
	// The bubble waits for the goroutine; it ends with ctx at the latest.
	go func() {
		seat, err := d.Enter(ctx)
		out <- seated{seat, err}
	}()
	w.Settle()
	return out
}

// leave starts t.Leave and returns when it waits or has ended.
func (w *World) leave(ctx context.Context, t *barrier.Seat) <-chan error {
	out := make(chan error, 1)
	// The bubble waits for the goroutine; it ends with ctx at the latest.
	go func() { out <- t.Leave(ctx) }()
	w.Settle()
	return out
}

// pending asserts that out has no value yet.
func pending[T any](w *World, out <-chan T) {
	w.Helper()
	select {
	case got := <-out:
		w.Fatalf("it returned %+v when it should wait", got)
	default:
	}
}

// round wants out to have passed round n, within a virtual minute.
func (w *World) round(out <-chan passed, n int64) {
	w.Helper()
	select {
	case got := <-out:
		require.NoError(w, got.err)
		require.Equal(w, n, got.round)
	case <-time.After(time.Minute):
		w.Fatalf("no party passed")
	}
}

// seats wants all of outs to be inside, within a virtual minute each.
func (w *World) seats(n int64, outs ...<-chan seated) []*barrier.Seat {
	w.Helper()
	var all []*barrier.Seat
	for _, out := range outs {
		select {
		case got := <-out:
			require.NoError(w, got.err)
			require.Equal(w, n, got.seat.Round())
			require.NoError(w, got.seat.Context().Err())
			all = append(all, got.seat)
		case <-time.After(time.Minute):
			w.Fatalf("no party got in")
		}
	}
	return all
}

// left wants out to have ended without an error, within a virtual minute.
func (w *World) left(outs ...<-chan error) {
	w.Helper()
	for _, out := range outs {
		select {
		case err := <-out:
			require.NoError(w, err)
		case <-time.After(time.Minute):
			w.Fatalf("it does not return")
		}
	}
}

// clean wants no party and no watch to be left.
func (w *World) clean() {
	w.Helper()
	w.Settle()
	require.Empty(w, w.Children(dir))
	w.RequireNoWatches()
}

// barriers makes n barriers for the number of parties, each of a client of its own.
func (w *World) barriers(n, parties int, o *barrier.Options) (all []*barrier.Barrier, clients []*session.Client) {
	for range n {
		c := w.Client()
		clients = append(clients, c)
		all = append(all, barrier.New(c, dir, parties, o))
	}
	return all, clients
}

// doubles makes n double barriers for the number of parties, each of a client of its
// own.
func (w *World) doubles(n, parties int, o *barrier.Options) (all []*barrier.Double, clients []*session.Client) {
	for range n {
		c := w.Client()
		clients = append(clients, c)
		all = append(all, barrier.NewDouble(c, dir, parties, o))
	}
	return all, clients
}

// slow delays all traffic between client i and the server.
func (w *World) slow(i int, by time.Duration) {
	w.Server.Delay(zktest.Link{Client: fmt.Sprintf("c%d", i)}, zktest.Both, by)
}

// sum is how many requests counts says.
func sum(counts map[string]int) (n int) {
	for op, k := range counts {
		if op != "ping" && op != "connect" && op != "closeSession" {
			n += k
		}
	}
	return n
}
