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

// An ensemble that loses transactions after it acknowledged them can grant a lock
// twice, and no client can prevent that. The library still guarantees that the former
// holder learns of its loss with the first heartbeat of its next connection, that its
// guarded writes are refused at once, and that tokens go on growing, since the epoch does.
func TestHolderLearnsThatItsNodeWasRolledBack_PD12(t *testing.T) {
	for _, lost := range []string{"node", "session"} {
		t.Run(lost, func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				other := w.Client()
				w.unlock(w.lock(lock.New(other, dir, nil))) // the path exists before the mark
				require.NoError(w, w.Server.Create("/written", nil))
				var holder *session.Client
				if lost == "node" {
					holder = w.Client()
				}
				w.Settle()
				mark, err := w.Server.Mark()
				require.NoError(w, err)
				if holder == nil {
					holder = w.Client()
				}
				held := w.lock(lock.New(holder, dir, nil))
				w.Pass(time.Second)
				require.NoError(w, w.Server.RollBack(mark))
				w.Pass(time.Second) // the election
				require.NoError(w, w.Server.Create("/first", nil), "a change of the new epoch")

				back := w.reconnected(holder)
				<-held.Context().Done()
				require.Less(w, time.Since(back), 50*time.Millisecond, "told with the first heartbeat of the connection")
				why := session.ErrNodeDeleted
				if lost == "session" {
					why = session.ErrExpired
				}
				require.ErrorIs(w, context.Cause(held.Context()), why)
				require.ErrorIs(w, held.Unlock(w.Ctx), session.ErrLost)

				next := w.lock(lock.New(other, dir, nil))
				require.Greater(w, next.Token(), held.Token())
				_, err = w.Session(other).Txn(w.Ctx, held.Guard(), session.SetOp("/written", []byte("late"), -1))
				require.ErrorIs(w, err, session.ErrNoNode)
				w.unlock(next)
			})
		})
	}
}

// reconnected waits until the client is connected again, after it was not.
func (w *World) reconnected(c *session.Client) time.Time {
	w.Helper()
	suspended := false
	for st, err := range c.States(w.Within(time.Minute)) {
		require.NoError(w, err)
		if st.Status != session.Connected {
			suspended = true
		} else if suspended {
			break
		}
	}
	return time.Now()
}
