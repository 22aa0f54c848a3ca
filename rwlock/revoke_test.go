package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

func TestRevokeRefusesWhatIsNoContender(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := rwlock.New(c, dir, nil)
		w.ResetStats()
		for _, name := range []string{"", "/x", "x/y", "../b/x"} {
			require.ErrorIs(w, m.Revoke(w.Ctx, rwlock.Contender{Name: name}), rwlock.ErrInvalidArgument, name)
		}
		require.Zero(w, w.Requests(c))
		require.ErrorIs(w, (*rwlock.RWMutex)(nil).Revoke(w.Ctx, rwlock.Contender{}), rwlock.ErrInvalidArgument)
		require.ErrorIs(w, (*rwlock.Held)(nil).AwaitRevocation(w.Ctx), rwlock.ErrInvalidArgument)
		require.ErrorIs(w, m.Revoke(w.Ctx, rwlock.Contender{Name: "x"}), rwlock.ErrNotHeld)
	})
}

// A writer that is asked may become a reader: its znode goes, and the request with it.
func TestDowngradeEndsTheWaitForARequest(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		writer, operator := w.get(w.new().Lock), w.new()
		list := w.listed(operator)
		asked := make(chan error, 1)
		// The bubble waits for the goroutine, which ends with the hold at the latest.
		go func() { asked <- writer.AwaitRevocation(w.Ctx) }()
		w.Settle()
		reader, err := writer.Downgrade(w.Ctx)
		require.NoError(w, err)
		require.ErrorIs(w, <-asked, session.ErrReleased)
		require.ErrorIs(w, operator.Revoke(w.Ctx, list[0]), rwlock.ErrNotHeld)

		// The reader is another contender.
		// The bubble waits for the goroutine, which ends with the hold at the latest.
		go func() { asked <- reader.AwaitRevocation(w.Ctx) }()
		w.Pass(time.Minute)
		require.Empty(w, asked)
		require.NoError(w, operator.Revoke(w.Ctx, w.listed(operator)[0]))
		require.NoError(w, <-asked)
		w.unlock(reader)
		w.RequireNoWatches()
	})
}

// A writer gets in when it has asked all readers, on a server that is not ours.
func TestReadersAreAskedForTheLockOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	path := "/revoke-" + session.NewID()
	lock := func() *rwlock.RWMutex {
		return rwlock.New(world.Connect(t, cluster.Connect(), session.Options{Timeout: steady}), path, nil)
	}
	released := make(chan error, 2)
	for range cap(released) {
		h, err := lock().RLock(ctx)
		require.NoError(t, err)
		// Waited for below; ends with ctx.
		go func() {
			if err := h.AwaitRevocation(ctx); err != nil {
				released <- err
				return
			}
			released <- h.Unlock(ctx)
		}()
	}
	m := lock()
	next := beside(ctx, m.Lock)
	for i, c := range queued(ctx, t, m, 3) {
		require.Equal(t, i < 2, c.Holds)
		if c.Holds {
			require.NoError(t, m.Revoke(ctx, c))
		}
	}
	for range cap(released) {
		require.NoError(t, <-released)
	}
	got := <-next
	require.NoError(t, got.err)
	require.NoError(t, got.held.Unlock(ctx))
}
