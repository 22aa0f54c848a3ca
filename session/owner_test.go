package session

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A heartbeat checks only the existence of a node. The owner is checked by the
// watch of the hold, which reads the owner.
func TestHoldEndsWhenAStrangerHasMadeItsNodeAgain(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		h := w.createHeld(w.s, "/h")
		require.NoError(w, w.srv.Delete("/h"))
		require.NoError(w, w.srv.Create("/h", nil))
		w.sleep(w.s.Timeout() / 5) // two heartbeats
		require.ErrorIs(w, h.Err(), errDeleted)
	})
}

// The server reports to a recursive subscription the creation and the deletion of a
// child, and not the change of the list of the parent: the session itself fires the
// watches of that list.
func TestListBesideARecursiveSubscriptionFiresOnEachChange(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/n", "")
		var all heard
		_, err := w.s.Subscribe(w.ctx, "/n", true, all.notify)
		require.NoError(w, err)
		watch := func() *Watch {
			_, _, list, err := w.s.ChildrenW(w.ctx, "/n")
			require.NoError(w, err)
			return list
		}
		list := watch()
		w.createNode("/n/a", "")
		require.Equal(w, EventChildrenChanged, w.fires(list).Type, "created")
		list = watch()
		require.NoError(w, w.srv.Set("/n/a", []byte("data")))
		synctest.Wait()
		require.False(w, list.Fired(), "changed: the list is as before")
		require.NoError(w, w.srv.Delete("/n/a"))
		require.Equal(w, EventChildrenChanged, w.fires(list).Type, "deleted")
	})
}

// A read that was never sent gets no answer to undo its registration.
func TestReadThatWasNeverSentLeavesNoWatch(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.close(w.client)
		_, err := w.s.StartExists("/n", true).Wait(w.ctx)
		require.Error(w, err)
		require.Zero(w, w.s.watches.count())
	})
}
