package session

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// inGuardedWorld is a world with the znodes /a, /b and /c, and a count of
// transaction requests.
func inGuardedWorld(t *testing.T, body func(w *world, sent *int)) {
	inWorld(t, nil, nil, func(w *world) {
		for _, path := range []string{"/a", "/b", "/c"} {
			w.createNode(path, "")
		}
		sent := 0
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "multi" {
				sent++
			}
			return zktest.Action{}
		})
		body(w, &sent)
	})
}

// failsAt requires a failure of the transaction at ops[index], on path.
func (w *world) failsAt(err error, index int, path string, reason error) *TxnError {
	w.Helper()
	var failed *TxnError
	require.ErrorAs(w, err, &failed)
	require.Equal(w, index, failed.Index)
	require.Equal(w, path, failed.Path)
	require.ErrorIs(w, err, reason)
	for i, r := range failed.Results {
		if i == index {
			require.ErrorIs(w, r.Err, reason)
		} else {
			require.Equal(w, ErrNotRun, r.Err)
		}
	}
	return failed
}

func TestAllOfCountsAsOneOperationOfTheCallersList(t *testing.T) {
	inGuardedWorld(t, func(w *world, sent *int) {
		all := AllOf(CheckOp("/a", -1), AllOf(CheckOp("/b", 0), CheckOp("/c", 0)))
		require.True(w, all.IsCheck())
		require.Equal(w, "/a", all.Path())
		results, err := w.s.Txn(w.ctx, all, CreateOp("/new", nil, Persistent, nil), all, SetOp("/new", []byte("x"), 0))
		require.NoError(w, err)
		require.Len(w, results, 4)
		require.Equal(w, Result{}, results[0])
		require.Equal(w, "/new", results[1].Path)
		require.Equal(w, Result{}, results[2])
		require.EqualValues(w, 1, results[3].Stat.Version)
		require.Equal(w, 1, *sent)

		_, err = w.s.Set(w.ctx, "/c", nil, -1)
		require.NoError(w, err)
		_, err = w.s.Txn(w.ctx, SetOp("/a", []byte("no"), -1), all, SetOp("/b", []byte("no"), -1))
		require.Len(w, w.failsAt(err, 1, "/c", ErrBadVersion).Results, 3)
		_, err = w.s.Txn(w.ctx, all.While(w.ctx), SetOp("/b", []byte("no"), -1))
		w.failsAt(err, 0, "/c", ErrBadVersion)
		_, err = w.s.Txn(w.ctx, CheckOp("/a", -1), AllOf(CheckOp("/a", -1), CheckOp("/b", -1)), DeleteOp("/none", -1))
		w.failsAt(err, 2, "/none", ErrNoNode)
		node, err := w.srv.Get("/a")
		require.NoError(w, err)
		require.Empty(w, node.Data)
	})
}

func TestAllOfRefusesWhatIsNoCheck(t *testing.T) {
	inGuardedWorld(t, func(w *world, sent *int) {
		for name, op := range map[string]Op{
			"nothing":        AllOf(),
			"a write":        AllOf(CheckOp("/a", -1), SetOp("/a", nil, -1)),
			"a write inside": AllOf(AllOf(DeleteOp("/a", -1))),
			"nothing inside": AllOf(CheckOp("/a", -1), AllOf()),
			"no operation":   AllOf(Op{}),
			"no path":        AllOf(CheckOp("/a", -1), CheckOp("a", -1)),
		} {
			_, err := w.s.Txn(w.ctx, CheckOp("/a", -1), op)
			require.ErrorIs(w, err, ErrInvalidArgument, name)
			require.ErrorContains(w, err, "operation 1: ", name)
			require.Equal(w, name == "no path", op.IsCheck(), name)
		}
		require.Zero(w, *sent)
	})
}

func TestAllOfKeepsItsChecks(t *testing.T) {
	inGuardedWorld(t, func(w *world, _ *int) {
		checks := []Op{CheckOp("/a", -1), CheckOp("/none", -1)}
		all := AllOf(checks...)
		checks[1] = CheckOp("/b", -1)
		_, err := w.s.Txn(w.ctx, all)
		w.failsAt(err, 0, "/none", ErrNoNode)
	})
}

// With all its checks, the request is longer than servers accept.
func TestAllOfCountsForTheSizeOfTheRequest(t *testing.T) {
	inGuardedWorld(t, func(w *world, _ *int) {
		long := "/" + strings.Repeat("x", 1000)
		checks := make([]Op, 1100)
		for i := range checks {
			checks[i] = CheckOp(long, -1)
		}
		_, err := w.s.Txn(w.ctx, AllOf(checks...))
		require.ErrorIs(w, err, ErrTooLarge)
	})
}

func TestOperationOfAnEndedContextFailsAsIfItsZnodeWereGone(t *testing.T) {
	inGuardedWorld(t, func(w *world, sent *int) {
		over := errors.New("given back")
		ctx, end := context.WithCancelCause(w.ctx)
		guard := CheckOp("/a", -1).While(ctx)
		both := guard.While(w.ctx) // does not replace the first condition
		require.True(w, guard.IsCheck())
		_, err := w.s.Txn(w.ctx, guard, AllOf(both))
		require.NoError(w, err)
		end(over)
		*sent = 0
		for _, c := range []struct {
			op   Op
			path string
		}{
			{guard, "/a"}, {both, "/a"}, {AllOf(CheckOp("/b", -1), guard), "/a"}, {AllOf(CheckOp("/b", -1)).While(ctx), "/b"},
		} {
			_, err := w.s.Txn(w.ctx, CheckOp("/c", -1), c.op, SetOp("/c", nil, -1))
			require.Len(w, w.failsAt(err, 1, c.path, ErrNoNode).Results, 3)
			require.ErrorContains(w, err, "operation 1 on "+c.path+": no request was sent, since the hold of the guard has ended: given back")
		}
		require.Zero(w, *sent)
	})
}

// A lost hold is not a lost session: a caller that retries after the loss of a
// session must not retry a guard that cannot pass.
func TestGuardOfALostSessionDoesNotLookLikeTheLossOfTheSessionThatIsAsked(t *testing.T) {
	inGuardedWorld(t, func(w *world, sent *int) {
		h := w.createHeld(w.s, "/h")
		guards := []Op{h.Guard().While(h.Context()), h.Guard().In(w.s)}
		for _, guard := range guards {
			_, err := w.s.Txn(w.ctx, guard)
			require.NoError(w, err)
		}
		require.NoError(w, w.srv.ExpireSession(w.s.ID()))
		<-w.s.Context().Done()
		*sent = 0
		for _, guard := range guards {
			err := w.client.Retry(w.within(time.Minute), func(s *Session) error {
				_, err := s.Txn(w.ctx, guard, SetOp("/a", []byte("no"), -1))
				return err
			})
			w.failsAt(err, 0, "/h", ErrNoNode)
			require.False(w, IsSessionLoss(err))
			require.ErrorContains(w, err, "the hold of the guard has ended")
		}
		require.Zero(w, *sent)
	})
}

func TestOperationOfOneSessionIsInvalidInAnother(t *testing.T) {
	inGuardedWorld(t, func(w *world, sent *int) {
		c := w.connect("other", nil)
		defer w.close(c)
		other := w.session(c)
		guard := CheckOp("/a", -1).In(w.s)
		_, err := w.s.Txn(w.ctx, guard)
		require.NoError(w, err)
		*sent = 0
		for _, op := range []Op{guard, AllOf(guard)} {
			_, err = other.Txn(w.ctx, op)
			require.ErrorIs(w, err, ErrInvalidArgument)
			require.NotErrorIs(w, err, ErrNoNode)
		}
		require.Zero(w, *sent)
	})
}

// Transactions create znodes by create: followers of 3.8.0 under a leader of 3.9.3 do not apply
// those with create2.
func TestTransactionsHaveNoCreate2(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		var parts []string
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			parts = append(parts, r.Parts...)
			return zktest.Action{}
		})
		results, err := w.s.Txn(w.ctx, CreateOp("/a", []byte("x"), Persistent, nil), CreateOp("/b-", nil, EphemeralSequential, nil))
		require.NoError(w, err)
		require.Equal(w, []string{"/a", "/b-0000000001"}, []string{results[0].Path, results[1].Path})
		require.Equal(w, []string{"create", "create"}, parts)
	})
}
