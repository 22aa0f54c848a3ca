package rebalanser

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Events that are not taken are kept up to a limit: beyond it, all resources are listed.
func TestTooManyEventsOfResourcesAreReplacedByAList(t *testing.T) {
	notified := 0
	l := newResourceList(&memberNode{at: "/g"}, func() { notified++ })
	event := func(i int) {
		l.onEvent(session.Event{Type: session.EventCreated, Path: "/g/resources/" + strconv.Itoa(i)})
	}
	for i := range maxPending {
		event(i)
	}
	pending, stale, _ := l.takePending()
	require.Len(t, pending, maxPending)
	require.False(t, stale)
	for i := range maxPending + 10 {
		event(i)
	}
	pending, stale, _ = l.takePending()
	require.Empty(t, pending)
	require.True(t, stale)
	require.Equal(t, 2, notified)
}

// Of several events of a name, the last one counts.
func TestEventsOfResourcesAreAppliedInOrder(t *testing.T) {
	l := newResourceList(&memberNode{at: "/g"}, func() {})
	l.names = []string{"b", "d", "f"}
	l.apply([]resourceEvent{{"a", true}, {"f", false}, {"d", false}, {"d", true}, {"c", true}, {"c", false}, {"g", true}, {"x", false}})
	require.Equal(t, []string{"a", "b", "d", "g"}, l.names)
	require.Equal(t, []string{"f"}, missingFrom([]string{"b", "d", "f"}, l.names))
	require.Empty(t, missingFrom(nil, l.names))
	require.Equal(t, l.names, missingFrom(slices.Clone(l.names), nil))
}

// A change that was read before an attempt failed is told by the next attempt.
func TestAChangeIsToldAfterAFailedRead(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		l := newResourceList(&memberNode{s: w.Session(c), at: "/g"}, func() {})
		for _, znode := range []string{"/g", "/g/resources", "/g/resources/a"} {
			require.NoError(w, w.Server.Create(znode, nil))
		}
		_, changed, _, err := l.read(w.Ctx)
		require.NoError(w, err)
		require.True(w, changed)
		require.NoError(w, w.Server.Delete("/g/resources/a"))
		require.NoError(w, w.Server.Create("/g/resources/b", nil))
		w.Settle()
		world.Pause(checkInterval) // so that the list is to be checked
		over, end := context.WithCancel(w.Ctx)
		end()
		// read would report a reply that arrives before its check of the context.
		w.Server.Delay(zktest.Link{}, zktest.ToClient, time.Millisecond)
		_, _, _, err = l.read(over)
		require.ErrorIs(w, err, context.Canceled)
		w.Server.Heal()
		gone, changed, _, err := l.read(w.Ctx)
		require.NoError(w, err)
		require.True(w, changed)
		require.Equal(w, []string{"a"}, gone)
		require.Equal(w, []string{"b"}, l.names)
		_, changed, _, err = l.read(w.Ctx)
		require.NoError(w, err)
		require.False(w, changed)
		l.stop()
	})
}
