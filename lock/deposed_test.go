package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A leader that has lost its followers denies no holder that a majority has
// confirmed: the listing fails, or waits for another leader.
func TestALeaderWithoutFollowersCannotReportALockAsFree(t *testing.T) {
	type queue interface {
		Contenders(ctx context.Context) ([]lock.Contender, error)
	}
	for name, lists := range map[string]func(c *session.Client) queue{
		"Mutex":     func(c *session.Client) queue { return lock.New(c, "/l", nil) },
		"Semaphore": func(c *session.Client) queue { return lock.NewSemaphore(c, "/s", 2, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				require.NoError(w, w.Server.WaitLeader(w.Ctx))
				alone := w.Server.Leader()
				mine := lists(w.ClientAt(w.Server.ServerAddr(alone), session.Options{}))
				other := w.ClientAt(w.Server.ServerAddr(1+alone%3), session.Options{})
				w.Session(other)
				list, err := mine.Contenders(w.Ctx)
				require.NoError(w, err)
				require.Empty(w, list)
				w.Settle()
				w.Server.IsolateServer(alone)
				_, err = lock.New(other, "/l", nil).Lock(w.Ctx)
				require.NoError(w, err)
				_, err = lock.NewSemaphore(other, "/s", 2, nil).Acquire(w.Ctx, 1)
				require.NoError(w, err)
				require.NotEqual(w, alone, w.Server.Leader())
				list, err = mine.Contenders(w.Within(time.Minute))
				require.False(w, err == nil && len(list) == 0, "another client holds it")
			})
		})
	}
}
