package stm_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// eventsTrial is a trial of two transactions of the Transactor that make makes.
func eventsTrial(make func(c *session.Client) *stm.Transactor) world.Trial {
	return world.Trial{
		Name: "two transactions", Counts: countsAll,
		Setup: func(e *matrix.Env, _ *world.Party) error { return e.Server.Create("/a", []byte("0")) },
		Op: func(ctx context.Context, p *world.Party) error {
			txs := make(p.Tested)
			var failed error
			for range 2 {
				failed = errors.Join(failed, txs.Apply(ctx, func(tx *stm.Tx) error { return add(tx, "/a", 1) }))
			}
			if errors.Is(failed, session.ErrUnknownOutcome) {
				return nil
			}
			return failed
		},
	}
}

func TestEventsOfTransactionsUnderEveryFault(t *testing.T) {
	eventsTrial(func(c *session.Client) *stm.Transactor { return stm.New(c, markers, nil) }).RunObserved(t, *update, "marked")
}

func TestEventsOfIdempotentTransactionsUnderEveryFault(t *testing.T) {
	eventsTrial(newIdempotent).RunObserved(t, *update, "idempotent")
}

// A conflict, a lost reply, an error of the function, and a caller that leaves.
func TestEventsOfATransactionSayWhatHappened(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		events := make(chan observe.TransactionEnded, 100)
		c := w.ClientWith(session.Options{Observer: observe.Func(func(_ context.Context, e observe.Event) {
			if e, ok := e.(observe.TransactionEnded); ok {
				events <- e
			}
		})})
		for _, txs := range []*stm.Transactor{stm.New(c, markers, nil), newIdempotent(c)} {
			add := func(tx *stm.Tx) error { return add(tx, "/a", 1) }
			w.apply(txs, add)
			require.Equal(w, observe.TransactionEnded{Attempts: 1}, <-events)

			conflicts := 2
			w.apply(txs, func(tx *stm.Tx) error {
				err := add(tx)
				if conflicts > 0 {
					conflicts--
					require.NoError(w, w.Server.Set("/a", text(5)))
				}
				return err
			})
			conflict := <-events
			require.Equal(w, observe.TransactionEnded{Attempts: 3, Took: conflict.Took}, conflict)

			w.Server.FailNth(isCommit, 1, zktest.Action{Do: zktest.DropRequest})
			w.apply(txs, add)
			lost := <-events
			require.Equal(w, observe.TransactionEnded{Attempts: 2, Unknown: 1, Took: lost.Took}, lost)
			require.Positive(w, lost.Took)

			require.ErrorIs(w, txs.Apply(w.Ctx, func(*stm.Tx) error { return io.EOF }), io.EOF)
			require.Equal(w, observe.TransactionEnded{Attempts: 1, Err: io.EOF, Declined: true}, <-events)

			for want, write := range map[error]func(*stm.Tx) error{
				session.ErrNodeExists: func(tx *stm.Tx) error { return tx.Create("/a", nil, session.Persistent, nil) },
				session.ErrNoNode:     func(tx *stm.Tx) error { return tx.Delete("/none") },
			} {
				err := txs.Apply(w.Ctx, write)
				require.ErrorIs(w, err, want)
				negative := <-events
				require.Equal(w, observe.TransactionEnded{Attempts: 1, Err: err, Declined: true, Took: negative.Took}, negative)
			}

			w.Server.FailNth(isCommit, 1, zktest.Action{Do: zktest.DropReplyHole})
			err := txs.Apply(w.Within(time.Second), add)
			require.ErrorIs(w, err, session.ErrUnknownOutcome)
			require.Equal(w, observe.TransactionEnded{Attempts: 1, Unknown: 1, Took: time.Second, Err: err}, <-events)
			w.Pass(time.Minute)
		}
		require.Empty(w, events)
		require.ErrorIs(w, stm.New(c, "/", nil).Apply(w.Ctx, nil), stm.ErrInvalidArgument)
		require.Empty(w, events, "an invalid call is no transaction")
	})
}

// An observer may apply a transaction of the Transactor that reports to it.
func TestObserverMayApplyATransaction(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		var txs *stm.Transactor
		inside, calls := false, 0
		c := w.ClientWith(session.Options{Observer: observe.Func(func(ctx context.Context, e observe.Event) {
			if _, ok := e.(observe.TransactionEnded); !ok || inside {
				return
			}
			inside = true
			defer func() { inside = false }()
			calls++
			require.NoError(w, txs.Apply(ctx, func(tx *stm.Tx) error { return add(tx, "/a", 10) }))
		})})
		txs = stm.New(c, markers, nil)
		w.apply(txs, func(tx *stm.Tx) error { return add(tx, "/a", 1) })
		w.apply(txs, func(tx *stm.Tx) error { return add(tx, "/a", 1) })
		require.Equal(w, 2, calls)
		require.Equal(w, 22, w.numberAt("/a"))
	})
}

// A transaction whose function panics ends for its observer, too.
func TestTransactionWhoseFunctionPanicsEnds(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		var ends []observe.TransactionEnded
		c := w.ClientWith(session.Options{Observer: observe.Func(func(_ context.Context, e observe.Event) {
			if e, ok := e.(observe.TransactionEnded); ok {
				ends = append(ends, e)
			}
		})})
		txs := stm.New(c, markers, nil)
		require.PanicsWithValue(w, "broken", func() {
			_ = txs.Apply(w.Ctx, func(*stm.Tx) error { panic("broken") })
		})
		require.Len(w, ends, 1)
		require.ErrorContains(w, ends[0].Err, "panicked")
		require.Equal(w, 1, ends[0].Attempts)
		w.apply(txs, func(tx *stm.Tx) error { return add(tx, "/a", 1) })
		require.Len(w, ends, 2)
		require.NoError(w, ends[1].Err)
	})
}
