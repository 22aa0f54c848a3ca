package barrier_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Servers do not report the deletion of a gate to a waiter without read
// permission.
func TestWaiterPassesAGateThatItMayNotRead(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		inWorld(t, o, func(w *World) {
			closer := barrier.NewGate(w.Client(), dir, &barrier.Options{ACL: session.WorldACL(zk.PermDelete)})
			require.NoError(w, closer.Set(w.Ctx))
			waiter := barrier.NewGate(w.Client(), dir, nil)
			closed, err := waiter.Closed(w.Ctx)
			require.NoError(w, err)
			require.True(w, closed)
			out := make(chan error, 1)
			// Waited for below; ends with the context.
			go func() { out <- waiter.Wait(w.Within(time.Hour)) }()
			w.Pass(time.Minute)
			require.Empty(w, out)
			require.NoError(w, waiter.Remove(w.Ctx))
			w.Pass(6 * time.Second)
			require.Len(w, out, 1)
			require.NoError(w, <-out)
			require.Empty(w, w.Server.Watches())
		})
	}
}

// Servers do not report the end of a party whose znode the others may not read: to leave
// fails at once, and names the znode.
func TestLeavingAnUnreadablePartyIsRefused(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		inWorld(t, o, func(w *World) {
			first := w.enter(w.Ctx, barrier.NewDouble(w.Client(), dir, 2, nil))
			w.Settle()
			c := w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("a", "b")}})
			second := w.enter(w.Ctx, barrier.NewDouble(c, dir, 2, &barrier.Options{ACL: zk.DigestACL(zk.PermAll, "a", "b")}))
			seats := w.seats(1, first, second)
			err := seats[0].Leave(w.Within(time.Minute))
			require.ErrorIs(w, err, session.ErrNoAuth)
			require.ErrorContains(w, err, seats[1].Path())
			require.ErrorContains(w, err, "READ permission")
			require.NoError(w, seats[1].Leave(w.Within(time.Minute)))
			w.Settle()
			require.NotContains(w, w.Children(dir), seats[0].Path()[len(dir)+1:])
		})
	}
}
