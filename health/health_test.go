package health_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/health"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestClientIsAliveUntilItIsClosed(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		alive := health.Alive(c)
		require.NoError(w, alive.Err())
		require.NoError(w, w.Server.Stop(1))
		w.Pass(time.Hour)
		require.NoError(w, alive.Err(), "a restart would not help")
		require.NoError(w, c.Close(w.Ctx))
		require.ErrorIs(w, alive.Err(), health.ErrUnhealthy)
	})
}

// An outage of ten minutes while nothing is held, and one while something is.
func TestClientIsReadyWhileItsConnectionIsRecent(t *testing.T) {
	for _, held := range []bool{false, true} {
		world.In(t, nil, func(w *world.World) {
			c := w.Client()
			ready := health.Connected(c, 3*time.Second)
			require.NoError(w, ready.Err())
			if held {
				s := w.Session(c)
				_, err := s.Create(w.Ctx, "/held", nil, session.Ephemeral, nil)
				require.NoError(w, err)
				_, err = s.Hold(w.Ctx, "/held", nil)
				require.NoError(w, err)
			}
			require.NoError(w, w.Server.Stop(1))
			w.Pass(2 * time.Second)
			require.NoError(w, ready.Err())
			for range 60 {
				w.Pass(10 * time.Second)
				err := ready.Err()
				require.ErrorIs(w, err, health.ErrUnhealthy)
				require.ErrorContains(w, err, "refused", "it says why")
			}
			require.NoError(w, w.Server.Restart(1))
			w.Pass(10 * time.Second)
			require.NoError(w, ready.Err())
		})
	}
}

func TestViewIsCurrentOnceLoadedAndWhileYoung(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		view := cache.NewValue(c, "/config", func(n session.Node) (string, error) { return string(n.Data), nil }, nil)
		current := health.Current("config", view, 15*time.Second)
		require.ErrorContains(w, current.Err(), "being loaded")
		done := make(chan error, 1)
		// Waited for below; ends with the client.
		go func() { done <- view.Run(w.Ctx) }()
		require.NoError(w, view.WaitSynced(w.Ctx))
		require.NoError(w, current.Err())
		w.Server.BlackHole(zktest.Link{}, zktest.Both)
		w.Pass(10 * time.Second)
		require.NoError(w, current.Err())
		w.Pass(time.Minute)
		require.ErrorContains(w, current.Err(), "old")
		w.Server.Heal()
		w.Pass(time.Minute)
		require.NoError(w, current.Err())
		require.NoError(w, c.Close(w.Ctx))
		<-done
		require.ErrorContains(w, current.Err(), "has ended")
	})
}

// held is held until its context ends.
type held struct{ ctx context.Context }

func (h held) Context() context.Context      { return h.ctx }
func (h held) Token() int64                  { return 1 }
func (h held) Guard() session.Op             { return session.Op{} }
func (h held) Release(context.Context) error { return nil }

func TestHandlerAnswersForTheLeaderOnly(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		var leadership session.Held
		h := health.Handler(health.Connected(c, 0), health.Held("leader", func() session.Held { return leadership }))
		ask := func(method string) (int, map[string]any) {
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, httptest.NewRequest(method, "/readyz", nil))
			var body map[string]any
			_ = json.Unmarshal(answer.Body.Bytes(), &body)
			return answer.Code, body
		}
		code, body := ask(http.MethodGet)
		require.Equal(w, http.StatusServiceUnavailable, code)
		require.Equal(w, map[string]any{"healthy": false, "checks": map[string]any{"session": "ok", "leader": "unhealthy: not held"}}, body)
		ctx, resign := context.WithCancel(w.Ctx)
		leadership = held{ctx}
		code, body = ask(http.MethodGet)
		require.Equal(w, http.StatusOK, code)
		require.Equal(w, true, body["healthy"])
		resign()
		code, _ = ask(http.MethodHead)
		require.Equal(w, http.StatusServiceUnavailable, code)
		code, _ = ask(http.MethodPost)
		require.Equal(w, http.StatusMethodNotAllowed, code)
	})
}

func TestChecksWithoutAClientFail(t *testing.T) {
	require.ErrorIs(t, health.Alive(nil).Err(), health.ErrUnhealthy)
	require.ErrorIs(t, health.Connected(nil, 0).Err(), health.ErrUnhealthy)
}

// A nil pointer of a type that can be held, as from an atomic.Pointer, is not held.
func TestNilPointerIsNotHeld(t *testing.T) {
	var leads atomic.Pointer[held]
	check := health.Held("leader", func() session.Held { return leads.Load() })
	require.ErrorIs(t, check.Err(), health.ErrUnhealthy)
	require.ErrorContains(t, check.Err(), "not held")
}
