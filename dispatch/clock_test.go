package dispatch_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Retention and delays count by the servers' clock, not by the writer's clock.
func TestRetentionAndDelaysCountByTheServersClock(t *testing.T) {
	for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
		inWorld(t, nil, func(w *World) {
			w.master(nil)
			w.worker(echo, nil)
			q := w.queue()
			w.submit(q, dispatch.Task{ID: "x", Delay: time.Minute, Retention: 10 * time.Minute})
			w.rewrite(map[string]any{"notBefore": time.Now().Add(wrong)})
			w.Pass(50 * time.Second)
			require.Equal(w, "waiting", string(w.get(q, "x").State))
			w.Pass(20 * time.Second)
			require.Equal(w, "done", string(w.get(q, "x").State))
			w.rewrite(map[string]any{"finished": time.Now().Add(wrong)})
			w.Pass(9 * time.Minute)
			w.get(q, "x")
			w.Pass(2 * time.Minute)
			_, err := q.Get(w.Ctx, "x")
			require.ErrorIs(w, err, dispatch.ErrNoTask)
		})
	}
}

// A master that begins to lead writes once to learn the servers' time.
func TestMasterAsksTheServersForTheTime(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "x", Delay: time.Hour})
		writes := 0
		w.Server.OnApply(func(tx zktest.Txn) {
			if tx.Code == 0 && slices.Contains(tx.Paths, path+"/admission") {
				writes++
			}
		})
		w.master(nil)
		w.Pass(time.Hour)
		require.Equal(w, 1, writes)
	})
}
