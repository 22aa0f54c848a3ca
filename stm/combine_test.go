package stm_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// applyAll applies n transactions concurrently, and returns their errors.
func (w *World) applyAll(ctx context.Context, txs *stm.Transactor, n int, f func(i int, tx *stm.Tx) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		// Waited for below; ends with the transaction.
		all.Go(func() { errs[i] = txs.Apply(ctx, func(tx *stm.Tx) error { return f(i, tx) }) })
	}
	all.Wait()
	return errs
}

func numberedPath(i int) string { return fmt.Sprintf("/n%03d", i) }

func createNumbered(i int, tx *stm.Tx) error {
	return tx.Create(numberedPath(i), nil, session.Persistent, nil)
}

// Concurrent transactions share requests, and a transaction that is refused does not affect
// the others.
func TestCombinedTransactionsHaveTheirOwnOutcomes(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const n = 200
		client := w.Client()
		txs := stm.NewIdempotent(client, "/txs", &stm.Options{Combine: true})
		for i := 0; i < n; i += 10 {
			require.NoError(w, w.Server.Create(numberedPath(i), nil))
		}
		w.Server.Delay(zktest.Link{}, zktest.Both, 5*time.Millisecond)
		require.NoError(w, txs.Apply(w.Ctx, func(tx *stm.Tx) error { return tx.Create("/first", nil, session.Persistent, nil) }))
		w.ResetStats()
		errs := w.applyAll(w.Ctx, txs, n, func(i int, tx *stm.Tx) error {
			if i%25 == 1 {
				if err := tx.Guard(session.CheckOp("/missing", -1)); err != nil {
					return err
				}
			}
			return tx.Put(numberedPath(i), text(i))
		})
		for i, err := range errs {
			if i%25 == 1 {
				require.ErrorIs(w, err, stm.ErrGuard, i)
				require.ErrorIs(w, err, session.ErrNoNode, i)
				var txn *session.TxnError
				require.ErrorAs(w, err, &txn)
				require.Equal(w, "/missing", txn.Path)
				require.False(w, w.nodeExists(numberedPath(i)), i)
				continue
			}
			require.NoError(w, err, i)
			require.Equal(w, i, w.numberAt(numberedPath(i)))
		}
		multis := w.Server.Stats().Requests["multi"]
		require.Less(w, multis, n/4, "8 of the transactions are refused")
	})
}

// Two transactions of one request about the same znode: the second sees the effect of the first.
func TestCombinedTransactionsAreAppliedOneAfterTheOther(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const n = 50
		w.createZeros("/sum")
		txs := stm.New(w.Client(), markers, &stm.Options{Combine: true})
		w.Server.Delay(zktest.Link{}, zktest.Both, 5*time.Millisecond)
		for _, err := range w.applyAll(w.Ctx, txs, n, func(_ int, tx *stm.Tx) error { return add(tx, "/sum", 1) }) {
			require.NoError(w, err)
		}
		require.Equal(w, n, w.numberAt("/sum"))
		once := w.applyAll(w.Ctx, txs, n, func(_ int, tx *stm.Tx) error {
			return tx.Create("/once", nil, session.Persistent, nil)
		})
		created := 0
		for _, err := range once {
			if err == nil {
				created++
			}
		}
		require.Equal(w, 1, created)
	})
}

// A lost reply leaves all transactions of the request unknown, and each finds its outcome.
func TestCombinedTransactionsFindTheirOutcomes(t *testing.T) {
	for _, fault := range []zktest.Fault{
		zktest.DropRequest, zktest.CutBefore, zktest.DropReplyCut, zktest.CutAfter, zktest.DropReplyHole, zktest.ExpireBefore, zktest.ExpireAfter,
	} {
		inWorld(t, nil, func(w *World) {
			const n = 100
			client := w.Client()
			txs := stm.New(client, markers, &stm.Options{Combine: true})
			w.applyAll(w.Ctx, txs, n, func(i int, tx *stm.Tx) error { return tx.Put(numberedPath(i), text(0)) })
			lost := 0
			w.Server.OnRequest(func(r zktest.Request) zktest.Action {
				if !isCommit(r) || lost == 3 {
					return zktest.Action{}
				}
				lost++
				return zktest.Action{Do: fault}
			})
			errs := w.applyAll(w.Within(10*time.Minute), txs, n, func(i int, tx *stm.Tx) error { return add(tx, numberedPath(i), 1) })
			for i, err := range errs {
				if errors.Is(err, session.ErrUnknownOutcome) && (fault >= zktest.ExpireBefore || !world.Has(world.Resumes)) {
					continue // the marker went with the session
				}
				require.NoError(w, err, "fault %d", fault)
				require.Equal(w, 1, w.numberAt(numberedPath(i)), "fault %d", fault)
			}
			require.Positive(w, lost)
		})
	}
}

// combineSlowly starts n transactions, one after the other, on a connection with a round trip
// of two seconds: the first two are in flight, and the others wait.
func (w *World) combineSlowly(n int) (txs *stm.Transactor, started []<-chan error) {
	w.Helper()
	txs = stm.NewIdempotent(w.Client(), "/txs", &stm.Options{Combine: true})
	require.NoError(w, txs.Apply(w.Ctx, func(tx *stm.Tx) error { return createNumbered(0, tx) }))
	w.Server.Delay(zktest.Link{}, zktest.Both, time.Second)
	for i := range n {
		started = append(started, w.startApply(w.Ctx, txs, func(tx *stm.Tx) error { return createNumbered(i+1, tx) }))
		w.Settle()
	}
	return txs, started
}

// A caller that gives up before its transaction is sent changes nothing, and knows that.
func TestCombinedTransactionThatWaitsCanBeGivenUp(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		txs, sent := w.combineSlowly(4)
		ctx, cancel := context.WithCancel(w.Ctx)
		late := w.startApply(ctx, txs, func(tx *stm.Tx) error { return createNumbered(9, tx) })
		w.Settle()
		cancel()
		err := <-late
		require.ErrorIs(w, err, context.Canceled)
		require.NotErrorIs(w, err, session.ErrUnknownOutcome)
		for _, done := range sent {
			require.NoError(w, <-done)
		}
		w.Pass(time.Minute)
		require.False(w, w.nodeExists(numberedPath(9)))
	})
}

// A caller that gives up while its transaction is in flight does not know; but when the request
// is refused because of another transaction, only those with a caller are sent again.
func TestCombinedTransactionThatWasGivenUpIsNotSentAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		txs, flying := w.combineSlowly(2)
		// Of these three, one request is made, when an answer comes.
		refused := w.startApply(w.Ctx, txs, func(tx *stm.Tx) error {
			return errors.Join(tx.Guard(session.CheckOp("/missing", -1)), createNumbered(7, tx))
		})
		w.Settle()
		good := w.startApply(w.Ctx, txs, func(tx *stm.Tx) error { return createNumbered(8, tx) })
		w.Settle()
		ctx, cancel := context.WithCancel(w.Ctx)
		left := w.startApply(ctx, txs, func(tx *stm.Tx) error { return createNumbered(9, tx) })
		w.Pass(3 * time.Second)
		cancel()
		require.ErrorIs(w, <-left, session.ErrUnknownOutcome, "it is in flight")
		require.ErrorIs(w, <-refused, stm.ErrGuard)
		for _, done := range append(flying, good) {
			require.NoError(w, <-done)
		}
		w.Pass(time.Minute)
		require.True(w, w.nodeExists(numberedPath(8)))
		require.False(w, w.nodeExists(numberedPath(9)))
	})
}

// Transactions that are long together travel in several requests.
func TestCombinedRequestsAreNotTooLong(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		txs := stm.NewIdempotent(w.Client(), "/txs", &stm.Options{Combine: true})
		w.Server.Delay(zktest.Link{}, zktest.Both, 5*time.Millisecond)
		data := make([]byte, 300_000)
		for _, err := range w.applyAll(w.Ctx, txs, 20, func(i int, tx *stm.Tx) error {
			return tx.Create(numberedPath(i), data, session.Persistent, nil)
		}) {
			require.NoError(w, err)
		}
		require.Error(w, txs.Apply(w.Ctx, func(tx *stm.Tx) error {
			return tx.Create("/long", make([]byte, 2<<20), session.Persistent, nil)
		}))
	})
}
