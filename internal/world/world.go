// Package world is for tests of recipes: a server in virtual time with its
// clients, every fault at every request of an operation, random faults, and
// other shared code of tests. Only tests import the package.
package world

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// virtualLimit bounds a bubble in virtual time: an endless retry loop would
// otherwise run indefinitely, because time passes whenever all goroutines
// sleep.
const virtualLimit = 4 * time.Hour

// World is an in-memory server and its clients inside a synctest bubble.
type World struct {
	*testing.T
	Server *zktest.Server
	// Ctx ends after four hours of virtual time.
	Ctx context.Context
	n   int // clients

	ledgers []*Ledger   // of the clients
	tasks   *TaskChains // nil: not required
}

// In runs body in a bubble with a server; so may be nil. Everything is closed
// after body, and the bubble fails if a goroutine is left.
func In(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts := *withProduct(so)
		opts.InMemory = true
		srv, err := zktest.Start(&opts)
		require.NoError(t, err)
		w := &World{T: t, Server: srv}
		t.Cleanup(w.checkLedgers)
		t.Cleanup(func() { require.NoError(t, srv.Close()) })
		ctx, cancel := context.WithTimeout(context.Background(), virtualLimit)
		t.Cleanup(cancel)
		w.Ctx = ctx
		body(w)
		synctest.Wait() // a client that is stopped before it hears of its write cannot report it
	})
}

// Client connects a client with the default options, named "c1", "c2", ... for
// zktest.Link. The client is closed with the world.
func (w *World) Client() *session.Client { return w.ClientWith(session.Options{}) }

// ClientWith is Client with options.
func (w *World) ClientWith(o session.Options) *session.Client {
	w.Helper()
	return w.ClientAt(w.Server.Addr(), o)
}

// ClientAt connects to some of the servers only.
func (w *World) ClientAt(addr string, o session.Options) *session.Client {
	w.Helper()
	w.n++
	if o.Dialer == nil {
		o.Dialer = w.Server.Client(fmt.Sprintf("c%d", w.n))
	}
	l := NewLedger()
	l.tasks = w.tasks
	o = withSharing(o)
	o.Observer = observe.Join(o.Observer, l)
	c, err := session.Connect(w.Ctx, addr, &o)
	require.NoError(w, err)
	w.ledgers = append(w.ledgers, l)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(w, c.Close(ctx))
	})
	return c
}

// ClientObserved is Client; the events of the client that shows selects arrive at the
// returned channel.
func (w *World) ClientObserved(shows func(observe.Event) bool) (*session.Client, chan observe.Event) {
	w.Helper()
	events := make(chan observe.Event, 10_000)
	return w.ClientWith(session.Options{Observer: observe.Func(func(_ context.Context, e observe.Event) {
		if shows(e) {
			events <- e
		}
	})}), events
}

// IsWaitOrHold selects the events of waits and holds.
func IsWaitOrHold(e observe.Event) bool {
	switch e.(type) {
	case observe.WaitBegun, observe.WaitQueued, observe.WaitEnded, observe.HoldBegun, observe.HoldEnded:
		return true
	}
	return false
}

// IsUnknown selects the events of calls that leave an outcome unknown.
func IsUnknown(e observe.Event) bool { _, is := e.(observe.OutcomeUnknown); return is }

// ToldUnknown checks that a call that has ended with err has been reported to events, those of
// IsUnknown, once if it leaves an outcome unknown, and otherwise not.
func (w *World) ToldUnknown(events <-chan observe.Event, recipe, path, op string, err error) {
	w.Helper()
	w.Settle()
	if errors.Is(err, session.ErrUnknownOutcome) {
		require.Len(w, events, 1)
		require.Equal(w, observe.OutcomeUnknown{Recipe: recipe, Path: path, Op: op, Err: err}, <-events)
	}
	require.Empty(w, events)
}

// ShareHolds allows waits on path of the present clients to share a hold; see Ledger.
func (w *World) ShareHolds(path string) {
	for _, l := range w.ledgers {
		l.ShareHolds(path)
	}
}

// RequireTaskChains requires at the end that the changes of tasks that the clients report,
// which all connect later, are whole; see TaskChains. A test that requires it stops no client
// that has not heard yet of what it has written.
func (w *World) RequireTaskChains() { w.tasks = &TaskChains{} }

// checkLedgers checks, after all clients were closed, that their events add up.
func (w *World) checkLedgers() {
	w.Helper()
	if w.Failed() {
		return
	}
	synctest.Wait()
	for i, l := range w.ledgers {
		require.NoError(w, l.Check(), "the events of c%d", i+1)
	}
	if w.tasks != nil {
		require.NoError(w, w.tasks.Check())
	}
}

// Session is c's present session.
func (w *World) Session(c *session.Client) *session.Session {
	w.Helper()
	s, err := c.Session(w.Ctx)
	require.NoError(w, err)
	return s
}

// ID is the id of c's present session.
func (w *World) ID(c *session.Client) int64 { w.Helper(); return w.Session(c).ID() }

// Expire ends c's present session at the server.
func (w *World) Expire(c *session.Client) {
	w.Helper()
	require.NoError(w, w.Server.ExpireSession(w.ID(c)))
}

// Within is a context that ends after d.
func (w *World) Within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(w.Ctx, d)
	w.Cleanup(cancel)
	return ctx
}

// Settle lets everything come to rest.
func (w *World) Settle() { w.Pass(50 * time.Millisecond) }

// Pass lets virtual time pass.
func (w *World) Pass(d time.Duration) {
	Pause(d)
	synctest.Wait()
}

// Pause lets virtual time pass; to be called in a bubble.
func Pause(d time.Duration) { time.Sleep(d) }

// Once runs do right before the first request accepted by match.
func (w *World) Once(match func(zktest.Request) bool, do func()) {
	var first sync.Once
	w.Server.OnRequest(func(r zktest.Request) zktest.Action {
		if match(r) {
			first.Do(do)
		}
		return zktest.Action{}
	})
}

// Children are the names below path; none if there is not a path.
func (w *World) Children(path string) []string {
	w.Helper()
	names, err := w.Server.Children(path)
	if err != nil {
		require.ErrorIs(w, err, zktest.ErrNoNode)
	}
	return names
}

// RequireNoWatches requires that no watches are left on the server, once everything has come to
// rest; not on a product on which stopped watches stay until their events.
func (w *World) RequireNoWatches(why ...any) {
	w.Helper()
	if Has(RemovesWatches) {
		require.Zero(w, w.Server.Stats().Watches, append([]any{"%v: %s", w.Server.Watches()}, fmt.Sprint(why...))...)
	}
}

// ResetStats sets the server's counters to zero once everything in the bubble waits: a
// heartbeat that is due already belongs to what was before.
func (w *World) ResetStats() {
	synctest.Wait()
	w.Server.ResetStats()
}

// Requests is how many requests c's session has made since the last
// ResetStats: no pings, no handshakes. A heartbeat that is due already is among them.
func (w *World) Requests(c *session.Client) int {
	w.Helper()
	synctest.Wait()
	n := 0
	for op, k := range w.Server.Stats().BySession[w.ID(c)] {
		if op != "ping" && op != "connect" && op != "closeSession" {
			n += k
		}
	}
	return n
}
