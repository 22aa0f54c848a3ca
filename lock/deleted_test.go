package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Another client deletes the znode right before the release, and the release is the
// first request to learn of the deletion: the lock may have had another holder
// meanwhile.
func TestReleaseOfADeletedZnodeReportsTheLoss(t *testing.T) {
	for name, take := range map[string]func(*World) (string, func(context.Context) error){
		"with a delay": func(w *World) (string, func(context.Context) error) {
			h := w.lock(lock.New(w.Client(), dir, delayOptions()))
			return h.Path(), h.Unlock
		},
		"handed on": func(w *World) (string, func(context.Context) error) {
			m := lock.New(w.Client(), dir, &lock.Options{LocalHandover: time.Second})
			h := w.lock(m)
			out := w.startLock(w.Ctx, m)
			w.unlock(h)
			next := (<-out).held
			return next.Path(), next.Unlock
		},
		"permits": func(w *World) (string, func(context.Context) error) {
			p := w.acquire(lock.NewSemaphore(w.Client(), dir, 3, nil), 2)
			return p.Path(), p.Release
		},
		"Curator's leases": func(w *World) (string, func(context.Context) error) {
			p := w.acquire(lock.NewSemaphore(w.Client(), dir, 3, &lock.Options{CuratorV2: true}), 2)
			return p.Path(), p.Release
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				path, give := take(w)
				require.NoError(w, w.Server.Delete(path))
				err := give(w.Ctx)
				require.ErrorIs(w, err, session.ErrLost)
				require.ErrorIs(w, err, session.ErrNodeDeleted)
				require.Equal(w, err, give(w.Ctx), "a second call gets the same error")
			})
		})
	}
}
