package session

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// N1, N7, N8, D18.
func TestEveryOperationOnApache(t *testing.T) {
	given := os.Getenv(apache.EnvServers) != ""
	cluster := apache.Require(t, &apache.Options{Own: !given})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	folder := fmt.Sprintf("/operations-%x", time.Now().UnixNano()) // a given ensemble has former ones
	c, err := Connect(ctx, cluster.Connect()+folder, &Options{Timeout: 30 * time.Second})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(ctx)) }()
	s, err := c.Session(ctx)
	require.NoError(t, err)
	require.NoError(t, s.EnsurePath(ctx, "/", Persistent, nil))
	everyOperation(ctx, t, s)
	if given {
		return // the rest needs TTL nodes and subscriptions, and restarts the server
	}
	everyWatch(ctx, t, s)
	words, err := cluster.FourLetter(ctx, 0, "wchs")
	require.NoError(t, err)
	require.Contains(t, words, "Total watches:0", "nothing is left of stopped watches")

	h := heldOn(ctx, t, s)
	require.NoError(t, cluster.Restart(ctx, 0))
	_, _, err = s.Get(ctx, "/")
	require.NoError(t, err, "the session outlives its server's restart")
	require.NoError(t, h.Err())
	require.NoError(t, s.Delete(ctx, h.Path(), -1))
	<-h.Context().Done()
	require.ErrorIs(t, h.Err(), ErrNodeDeleted)
}

// everyWatch is a tour of watches, subscriptions and kinds of nodes.
func everyWatch(ctx context.Context, t require.TestingT, s *Session) {
	require.NoError(t, s.EnsurePath(ctx, "/w/x", Container, nil))
	_, _, data, err := s.GetW(ctx, "/w/x")
	require.NoError(t, err)
	_, _, list, err := s.ChildrenW(ctx, "/w/x")
	require.NoError(t, err)
	_, there, absent, err := s.ExistsW(ctx, "/w/x/y")
	require.NoError(t, err)
	require.False(t, there)
	events := make(chan Event, 10)
	sub, err := s.Subscribe(ctx, "/w", true, func(ev Event) { events <- ev })
	require.NoError(t, err)
	_, err = s.Set(ctx, "/w/x", []byte("1"), -1)
	require.NoError(t, err)
	_, err = s.Create(ctx, "/w/x/y", nil, PersistentTTL, &CreateOptions{TTL: time.Hour})
	require.NoError(t, err)
	for watch, want := range map[*Watch]Event{
		data: {EventDataChanged, "/w/x"}, list: {EventChildrenChanged, "/w/x"}, absent: {EventCreated, "/w/x/y"},
	} {
		ev, err := watch.Wait(ctx)
		require.NoError(t, err)
		require.Equal(t, want, ev)
	}
	require.Equal(t, Event{EventDataChanged, "/w/x"}, <-events)
	require.Equal(t, Event{EventCreated, "/w/x/y"}, <-events)
	_, _, again, err := s.GetW(ctx, "/w/x")
	require.NoError(t, err)
	again.Stop()
	sub.Stop()
	node, err := s.CreateProtected(ctx, "/w/x/"+ProtectedName("p-"), nil, EphemeralSequential, nil)
	require.NoError(t, err)
	require.Equal(t, s.ID(), node.Stat.EphemeralOwner)
	require.NoError(t, s.EnsureDeleted(ctx, node.Path))
	require.NoError(t, s.Sync(ctx, "/w"))
}

func heldOn(ctx context.Context, t require.TestingT, s *Session) *Hold {
	node, err := s.CreateProtected(ctx, "/w/"+ProtectedName("h-"), nil, EphemeralSequential, nil)
	require.NoError(t, err)
	h, err := s.Hold(ctx, node.Path, nil)
	require.NoError(t, err)
	return h
}
