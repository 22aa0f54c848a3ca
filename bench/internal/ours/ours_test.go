package ours

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// startPeer returns a peer with an additional session, on a test server.
func startPeer(t *testing.T) (Peer, *session.Session) {
	t.Helper()
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	c, err := session.Connect(t.Context(), srv.Addr(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	s, err := c.Session(t.Context())
	require.NoError(t, err)
	return Peer{Servers: srv.Addr(), Timeout: 10 * time.Second}, s
}

func never() error { panic("no observer is to be told") }

func TestEveryKindOfTurnsIsMeasured(t *testing.T) {
	p, s := startPeer(t)
	require.NotEmpty(t, p.Version())
	for i, c := range []task.Task{
		{Kind: task.Lock, Clients: 1, Workers: 1},
		{Kind: task.Lock, Clients: 3, Workers: 3},
		{Kind: task.Lock, Clients: 1, Workers: 8},
		{Kind: task.Semaphore, Clients: 3, Workers: 3, Permits: 2},
		{Kind: task.RWLock, Clients: 3, Workers: 3, Writes: 10},
		{Kind: task.Counter, Clients: 2, Workers: 4},
		{Kind: task.Barrier, Clients: 3, Workers: 3},
		{Kind: task.Election, Clients: 3, Workers: 3},
	} {
		c.Path, c.WarmMS, c.TimeMS = fmt.Sprintf("/%d", i), 20, 100
		// A machine that stalls may get nothing done in so short a time.
		for value := 0.0; value == 0; c.TimeMS *= 2 {
			measured, err := p.Measure(t.Context(), c, never)
			require.NoError(t, err, c.Kind)
			require.GreaterOrEqual(t, measured.Value, 0.0, c.Kind)
			value = measured.Value
			require.Less(t, c.TimeMS, int64(100_000), c.Kind)
		}
		// No contender is left, since the sessions are closed.
		names, _, err := s.Children(t.Context(), c.Path)
		require.NoError(t, err, c.Kind)
		if c.Kind != task.Barrier {
			require.Empty(t, names, c.Kind)
		}
	}
}

func TestEveryKindOfViewIsMeasured(t *testing.T) {
	p, s := startPeer(t)
	require.NoError(t, s.EnsurePath(t.Context(), "/v", session.Persistent, nil))
	child := func(i int) string { return fmt.Sprintf("/v/child-%06d", i) }
	create := func() error {
		for i := range 5 {
			if _, err := s.Create(t.Context(), child(i), task.Stamp(), session.Persistent, nil); err != nil {
				return err
			}
		}
		return nil
	}
	view := task.Task{Path: "/v", Clients: 1, Workers: 1, Nodes: 5, WarmMS: 20, TimeMS: 100}

	view.Kind = task.Creates
	out, err := p.Measure(t.Context(), view, create)
	require.NoError(t, err)
	require.Positive(t, out.Value)

	view.Kind = task.Load
	out, err = p.Measure(t.Context(), view, never)
	require.NoError(t, err)
	require.Positive(t, out.Value)

	view.Kind = task.Change
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	out, err = p.Measure(t.Context(), view, func() error {
		// Waited for below; ends with ctx.
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				_, _ = s.Set(ctx, child(3), task.Stamp(), -1) // until told to end
			}
		}()
		return nil
	})
	cancel()
	<-ended
	require.NoError(t, err)
	require.Positive(t, out.Value)

	view.Kind, view.Nodes = task.Load, 6
	_, err = p.Measure(t.Context(), view, never)
	require.ErrorContains(t, err, "5 of 6")
}

func TestAnUnknownKindIsRefused(t *testing.T) {
	p, _ := startPeer(t)
	_, err := p.Measure(t.Context(), task.Task{Kind: task.Set, Path: "/x", Clients: 1, Workers: 1}, never)
	require.ErrorContains(t, err, `"set"`)
}

// A run in which no round of a barrier ended has no time of a round.
func TestBarrierWithoutARoundHasNoTime(t *testing.T) {
	of := task.Task{Kind: task.Barrier, Workers: 1000, TimeMS: 2500}
	_, err := roundTime(of, 0)
	require.ErrorContains(t, err, "no round has ended in 2.5s")
	ms, err := roundTime(of, 4000)
	require.NoError(t, err)
	require.InDelta(t, 250, ms, 0.001)
}
