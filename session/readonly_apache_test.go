package session_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// readOnlyCluster is three servers, of which those without a quorum carry out reads, if they
// make local sessions.
func readOnlyCluster(t *testing.T, localSessions string) *apache.Cluster {
	t.Helper()
	return apache.Require(t, &apache.Options{
		Own: true, Servers: 3, Properties: map[string]string{"readonlymode.enabled": "true"},
		Config: map[string]string{"localSessionsEnabled": localSessions, "localSessionsUpgradingEnabled": localSessions},
	})
}

// A client that holds something and one that starts in the outage read from the last server,
// and go on where they were when there is a quorum again.
func TestServerWithoutAQuorumIsReadFromOnApache(t *testing.T) {
	real := readOnlyCluster(t, "true")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c, err := session.Connect(ctx, real.Connect(), &session.Options{Timeout: time.Minute, ReadOnly: true})
	require.NoError(t, err)
	defer c.Close(ctx)
	s, err := c.Session(ctx)
	require.NoError(t, err)
	_, err = s.Create(ctx, "/a", []byte("x"), session.Persistent, nil)
	require.NoError(t, err)
	node, err := s.Create(ctx, "/e", nil, session.Ephemeral, nil)
	require.NoError(t, err)
	hold, err := s.Hold(ctx, node.Path, nil)
	require.NoError(t, err)

	for _, server := range []int{1, 2} {
		require.NoError(t, real.Kill(ctx, server))
	}
	require.Eventually(t, func() bool { return c.State().ReadOnly != "" }, time.Minute, 10*time.Millisecond, "%+v", c.State())
	assert.Equal(t, real.Servers()[0], c.State().ReadOnly)
	late, err := session.Connect(ctx, real.Connect(), &session.Options{Timeout: time.Minute, ReadOnly: true})
	require.NoError(t, err)
	defer late.Close(ctx)
	for _, client := range []*session.Client{c, late} {
		reading, err := client.ReadSession(ctx)
		require.NoError(t, err)
		require.True(t, reading.ReadOnly())
		data, _, err := reading.Get(ctx, "/a")
		require.NoError(t, err)
		assert.Equal(t, "x", string(data))
		_, err = reading.Create(ctx, "/b", nil, session.Ephemeral, nil)
		require.ErrorIs(t, err, session.ErrReadOnly)
	}
	require.NoError(t, hold.Context().Err())

	require.NoError(t, real.Restart(ctx, 1))
	now, err := late.Session(ctx)
	require.NoError(t, err)
	_, err = now.Create(ctx, "/b", nil, session.Ephemeral, nil)
	require.NoError(t, err)
	require.NoError(t, s.Sync(ctx, "/"))
	require.NoError(t, hold.Context().Err(), "the session lives on, with what it holds")
	_, held, err := now.Exists(ctx, "/e")
	require.NoError(t, err)
	assert.True(t, held)
	for _, client := range []*session.Client{c, late} {
		require.Eventually(t, func() bool { return client.State().ReadOnly == "" }, time.Minute, 10*time.Millisecond)
		reading, err := client.ReadSession(ctx)
		require.NoError(t, err)
		assert.False(t, reading.ReadOnly())
	}
}

// A server without localSessionsEnabled makes no sessions; the log says what is missing.
func TestServerWithoutLocalSessionsIsNamedOnApache(t *testing.T) {
	real := readOnlyCluster(t, "false")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var log safeLog
	c, err := session.Connect(ctx, real.Connect(), &session.Options{Timeout: time.Minute, ReadOnly: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	defer c.Close(ctx)
	for _, server := range []int{1, 2} {
		require.NoError(t, real.Kill(ctx, server))
	}
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "localSessionsEnabled") }, time.Minute, 10*time.Millisecond)
	assert.Empty(t, c.State().ReadOnly)
	within, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	_, err = c.ReadSession(within)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, 1, strings.Count(log.String(), "localSessionsEnabled"), log.String())
}

// safeLog is a buffer for several goroutines.
type safeLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
