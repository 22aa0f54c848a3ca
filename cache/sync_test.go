package cache

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestReadsBehindASyncWithoutAnAnswerAreVoid_N35: the connection of the sync is lost
// before the sync is sent, and the next connection exists before the reads are sent.
// The answers to those reads may be older than the state that the session before has
// shown.
func TestReadsBehindASyncWithoutAnAnswerAreVoid_N35(t *testing.T) {
	world.Needs(t, world.Resumes)
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/c", []byte("0")))
		c := w.Client()
		v := NewValue(c, "/c", Bytes, nil)
		r := &runner[[]byte]{View: v.View, s: w.Session(c), inbox: newInbox(), watches: make(watches)}
		v.link = &link{s: r.s, inbox: r.inbox}
		defer r.close()
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		w.Server.Cut(r.s.ID())
		w.Settle()
		r.beginLoad()
		w.Server.Heal()
		w.Pass(5 * time.Second) // the next connection
		r.send()
		w.Settle()
		items, _ := r.takeItems()
		require.Len(w, items, 2, "the sync, and a read")
		require.Error(w, items[0].reply.err)
		require.NoError(w, items[1].reply.err)
		for _, it := range items {
			require.NoError(w, r.handleItem(w.Ctx, it))
		}
		require.Empty(w, r.machine.changes, "nothing is shown")
		require.Equal(w, r.s, r.synced, "it has made another sync")
		r.send()
		w.Settle()
		items, _ = r.takeItems()
		require.Len(w, items, 1)
		require.NoError(w, r.handleItem(w.Ctx, items[0]))
		require.Len(w, r.machine.changes, 1)
	})
}

// TestAConnectionThatComesBeforeTheFirstReadIsFollowed: between the beginning on
// one connection and the first read that is lost, and the read finds the next one
// there already. No watch was set that could tell of it.
func TestAConnectionThatComesBeforeTheFirstReadIsFollowed(t *testing.T) {
	world.Needs(t, world.Resumes)
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/c", []byte("0")))
		c := w.Client()
		v := NewValue(c, "/c", Bytes, nil)
		r := &runner[[]byte]{View: v.View, s: w.Session(c), inbox: newInbox(), watches: make(watches)}
		v.link = &link{s: r.s, inbox: r.inbox}
		v.synced = r.s
		defer r.close()
		r.beginLoad()
		w.Pass(time.Second)
		w.Server.Cut(r.s.ID())
		w.Pass(5 * time.Second)
		r.send()
		w.Settle()
		items, _ := r.takeItems()
		for _, it := range items {
			require.NoError(w, r.handleItem(w.Ctx, it))
		}
		r.publishChanges()
		require.True(w, v.Status().Synced)

		// The next one is not taken for this one.
		w.Server.Cut(r.s.ID())
		w.Pass(5 * time.Second)
		require.False(w, v.Status().Synced)
	})
}
