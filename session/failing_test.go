package session

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCallsAndStatesSayWhyThereIsNoSession(t *testing.T) {
	d := &diary{}
	inWorld(t, nil, &Options{Logger: slog.New(slog.NewTextHandler(d, nil))}, func(w *world) {
		h := w.createHeld(w.s, "/h")
		require.NoError(w, w.srv.Stop(1))
		w.sleep(time.Second)
		_, _, err := w.s.Get(w.within(time.Second), "/")
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.ErrorContains(w, err, "connection refused", "suspended")
		require.ErrorContains(w, w.client.State().Cause, "connection refused", "suspended")

		<-h.Context().Done()
		w.sleep(10 * time.Second)
		_, err = w.client.Session(w.within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NotErrorIs(w, err, context.Canceled)
		require.ErrorContains(w, err, "connection refused", "lost")
		cause := w.client.State().Cause
		require.ErrorIs(w, cause, ErrTrustRanOut)
		require.ErrorContains(w, cause, "connection refused", "lost")
		require.Contains(w, d.logged(), `msg="no connection"`)

		require.NoError(w, w.srv.Restart(1))
		w.session(w.client)
		require.NoError(w, w.client.State().Cause)
		require.Contains(w, d.logged(), `msg="session connected"`)

		before := strings.Count(d.logged(), `msg="no connection"`)
		require.NoError(w, w.srv.Stop(1))
		w.sleep(time.Hour / 2)
		require.Less(w, strings.Count(d.logged(), `msg="no connection"`)-before, 37, "less and less often")
	})
}

// A client closed by its owner logs no error for the end of its session.
func TestClosingAClientThatReconnectsLogsNoError(t *testing.T) {
	d := &diary{}
	inWorld(t, nil, &Options{Logger: slog.New(slog.NewTextHandler(d, nil))}, func(w *world) {
		h := w.createHeld(w.s, "/h")
		require.NoError(w, w.srv.Stop(1))
		<-h.Context().Done()
		w.sleep(10 * time.Second)
		w.close(w.client)
	})
	require.NotContains(t, d.logged(), "level=ERROR")
}
