//go:build unix

package interop_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// awaitTrue polls until the answer is yes: other processes cannot notify the
// test.
func awaitTrue(t *testing.T, what string, yes func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, context.Cause(ctx))
		}
	}
}

// queued waits until the path has a child for each contender.
func queued(t *testing.T, c *session.Client, path string, n int) {
	t.Helper()
	awaitTrue(t, "queue of "+path, func() bool { return len(children(t, c, path)) == n })
}

// watched waits until enough sessions watch the path: then they have looked at
// it, and wait for it.
func watched(t *testing.T, path string, enough func(sessions []int64) bool) {
	t.Helper()
	cluster := apache.Require(t, options())
	awaitTrue(t, "watches of "+path, func() bool {
		var sessions []int64
		for i := range cluster.Servers() {
			text, err := cluster.FourLetter(t.Context(), i, "wchp")
			if err != nil {
				return false // the server is busy
			}
			sessions = append(sessions, watchers(t, text, path)...)
		}
		return enough(sessions)
	})
}

// watchers are the sessions that watch a path: wchp lists, below each path, one
// in a line.
func watchers(t *testing.T, wchp, path string) (sessions []int64) {
	t.Helper()
	at := false
	for line := range strings.Lines(wchp) {
		line = strings.TrimRight(line, "\r\n")
		id, indented := strings.CutPrefix(line, "\t")
		switch {
		case !indented:
			at = line == path
		case at:
			session, err := strconv.ParseUint(strings.TrimPrefix(id, "0x"), 16, 64)
			require.NoError(t, err)
			sessions = append(sessions, int64(session))
		}
	}
	return sessions
}

// children are the names below a path, none if the path does not exist.
func children(t *testing.T, c *session.Client, path string) []string {
	t.Helper()
	s := current(t, c)
	require.NoError(t, s.Sync(t.Context(), path))
	names, _, err := s.Children(t.Context(), path)
	if err != nil {
		require.ErrorIs(t, err, session.ErrNoNode)
	}
	return names
}

// countLines counts what a witness has of one worker.
func countLines(text, worker string) int {
	return strings.Count(text, "out "+worker+"\n") + strings.Count(text, "done "+worker+" ")
}
