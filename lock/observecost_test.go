package lock_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// handover is a lock that two goroutines hand to each other.
type handover struct {
	client *session.Client
	path   string
	held   *lock.Held // of a lock of its own
	m      *lock.Mutex
}

// newHandover makes a lock of a client with the given observer, which may be nil.
func newHandover(tb testing.TB, o observe.Observer) handover {
	tb.Helper()
	ctx := context.Background()
	server, err := zktest.Start(nil)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, server.Close()) })
	c, err := session.Connect(ctx, server.Addr(), &session.Options{Observer: o})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, c.Close(ctx)) })
	held, err := lock.New(c, "/locks/other", nil).Lock(ctx)
	require.NoError(tb, err)
	return handover{c, "/locks/handed", held, lock.New(c, "/locks/handed", &lock.Options{LocalHandover: time.Minute})}
}

// run takes the lock n times, in two goroutines.
func (h handover) run(tb testing.TB, n int) {
	tb.Helper()
	ctx := context.Background()
	half := func(n int) error {
		for range n {
			held, err := h.m.Lock(ctx)
			if err != nil {
				return err
			}
			runtime.Gosched() // so that the other one queues up
			if err := held.Unlock(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	other := make(chan error, 1)
	// Waited for below; ends with its half.
	go func() { other <- half(n - n/2) }()
	require.NoError(tb, half(n/2))
	require.NoError(tb, <-other)
}

// observeNothing makes the calls by which a hand-over would be reported.
func (h handover) observeNothing(ctx context.Context) {
	w := observing.BeginWait(ctx, h.client, observe.Lock, h.path)
	hold := w.Granted(h.held, true)
	hold.Ending()
	hold.HandedOver()
	hold.End(nil)
}

// The time of a hand-over within the process, without and with an observer, and the part
// of the former that goes into having no observer.
func BenchmarkLocalHandover(b *testing.B) {
	for name, o := range map[string]observe.Observer{
		"no observer": nil,
		"observer":    observe.Func(func(context.Context, observe.Event) {}),
	} {
		b.Run(name, func(b *testing.B) {
			h := newHandover(b, o)
			b.ReportAllocs()
			b.ResetTimer()
			h.run(b, b.N)
		})
	}
	b.Run("having none", func(b *testing.B) {
		h, ctx := newHandover(b, nil), b.Context()
		b.ReportAllocs()
		for b.Loop() {
			h.observeNothing(ctx)
		}
	})
}

// Without an observer, the reports of a hand-over cost no allocation, and less than 1 % of
// its time.
func TestHavingNoObserverCostsNothing(t *testing.T) {
	h, ctx := newHandover(t, nil), t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() { h.observeNothing(ctx) }))
	const hands, calls = 2_000, 20_000
	least := func(what func()) time.Duration {
		least := time.Duration(1<<63 - 1)
		for range 20 {
			began := time.Now()
			what()
			least = min(least, time.Since(began))
		}
		return least
	}
	h.run(t, hands)
	handing := least(func() { h.run(t, hands) }) / hands
	nothing := float64(least(func() {
		for range calls {
			h.observeNothing(ctx)
		}
	})) / calls
	t.Logf("a hand-over takes %v, having no observer %.1f ns of it", handing, nothing)
	require.Less(t, nothing, float64(handing)/100)
}
