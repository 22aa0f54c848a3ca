package stm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A transaction that loses its session: the request, or the reply, was lost.
func losesItsSession(t *testing.T, lose zktest.Fault, f func(tx *stm.Tx) error, meanwhile func(w *World)) (a, b int, said error) {
	t.Helper()
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b", "/c")
		client := w.Client()
		txs := stm.New(client, markers, nil)
		w.apply(txs, move("/c", "/c", 0)) // creates a marker
		id := w.ID(client)
		w.Server.FailNth(isCommit, 1, zktest.Action{Do: lose})
		done := w.startApply(w.Ctx, txs, f)
		w.Settle()
		if meanwhile != nil {
			meanwhile(w)
		}
		require.NoError(w, w.Server.ExpireSession(id))
		said = <-done
		a, b = w.numberAt("/a"), w.numberAt("/b")
		w.RequireNoWatches()
	})
	return a, b, said
}

func TestTransactionThatWasNotAppliedIsAppliedInTheNextSession(t *testing.T) {
	a, b, said := losesItsSession(t, zktest.DropRequest, move("/a", "/b", 5), nil)
	require.NoError(t, said)
	require.Equal(t, []int{-5, 5}, []int{a, b})
}

func TestTransactionThatMayHaveBeenAppliedIsNotRepeated(t *testing.T) {
	a, b, said := losesItsSession(t, zktest.DropReplyHole, move("/a", "/b", 5), nil)
	require.ErrorIs(t, said, session.ErrUnknownOutcome)
	require.ErrorIs(t, said, session.ErrLost)
	require.Equal(t, []int{-5, 5}, []int{a, b}, "once")
}

// The writer of the changed znodes cannot be found out.
func TestTransactionWhoseZnodesHaveAllChangedSinceIsUnknown(t *testing.T) {
	a, b, said := losesItsSession(t, zktest.DropRequest, move("/a", "/b", 5), func(w *World) {
		require.NoError(t, w.Server.Set("/a", []byte("100")))
		require.NoError(t, w.Server.Set("/b", []byte("100")))
	})
	require.ErrorIs(t, said, session.ErrUnknownOutcome)
	require.Equal(t, []int{100, 100}, []int{a, b})
}

// An unchanged znode proves that the transaction was not applied.
func TestTransactionOfWhichOneZnodeHasNotChangedIsApplied(t *testing.T) {
	a, b, said := losesItsSession(t, zktest.DropRequest, move("/a", "/b", 5), func(w *World) {
		require.NoError(t, w.Server.Set("/a", []byte("100")))
	})
	require.NoError(t, said)
	require.Equal(t, []int{95, 5}, []int{a, b})
}

// The next attempt decides otherwise. Its verdict counts only if the attempt before was
// not applied.
func TestVerdictAfterADoubt(t *testing.T) {
	full := errors.New("full")
	for name, second := range map[string]func(tx *stm.Tx) error{
		"an error":      func(*stm.Tx) error { return full },
		"nothing":       func(*stm.Tx) error { return nil },
		"another znode": func(tx *stm.Tx) error { return add(tx, "/c", 1) },
		"a blind write": func(tx *stm.Tx) error { return tx.Set("/c", []byte("1")) },
	} {
		for _, applied := range []bool{false, true} {
			calls := 0
			f := func(tx *stm.Tx) error {
				if calls++; calls == 1 {
					return move("/a", "/b", 5)(tx)
				}
				return second(tx)
			}
			fault := map[bool]zktest.Fault{false: zktest.DropRequest, true: zktest.DropReplyHole}[applied]
			a, b, said := losesItsSession(t, fault, f, nil)
			switch {
			case applied:
				require.ErrorIs(t, said, session.ErrUnknownOutcome, name)
				require.Equal(t, []int{-5, 5}, []int{a, b}, name)
				continue
			case name == "an error":
				require.Equal(t, full, said)
			default:
				require.NoError(t, said, name)
			}
			require.Equal(t, []int{0, 0}, []int{a, b}, name)
		}
	}
}

// A znode only read, or written without a change, does not tell whether the
// transaction was applied.
func TestOnlyWhatATransactionChangesTellsOfIt(t *testing.T) {
	full := errors.New("full")
	for name, f := range map[string]func(tx *stm.Tx) error{
		"a znode that is only read": func(tx *stm.Tx) error {
			_, err := tx.Get("/c")
			return errors.Join(err, add(tx, "/b", 1))
		},
		"a znode that is only read, and an error": func(tx *stm.Tx) error {
			nodes, err := tx.GetAll("/b", "/c")
			if err != nil || number(nodes[0].Data) >= 1 {
				return errors.Join(err, full)
			}
			return tx.Set("/b", text(1))
		},
		"a znode that is deleted and created": func(tx *stm.Tx) error {
			n, err := tx.Get("/b")
			return errors.Join(err, tx.Delete("/b"), tx.Create("/b", text(number(n.Data)+1), session.Persistent, nil))
		},
		"a znode that is created and deleted": func(tx *stm.Tx) error {
			return errors.Join(tx.Create("/tmp", nil, session.Persistent, nil), tx.Delete("/tmp"), add(tx, "/b", 1))
		},
		"a znode that is absent": func(tx *stm.Tx) error {
			_, err := tx.Get("/none")
			return errors.Join(err, add(tx, "/b", 1))
		},
	} {
		_, b, said := losesItsSession(t, zktest.DropReplyHole, f, nil)
		require.ErrorIs(t, said, session.ErrUnknownOutcome, name)
		require.Equal(t, 1, b, "%s: applied once", name)
		_, b, said = losesItsSession(t, zktest.DropRequest, f, nil)
		require.NoError(t, said, name)
		require.Equal(t, 1, b, "%s: applied in the next session", name)
	}
}

// Without any znode that existed before, the outcome stays unknown.
func TestBlindWritesAndCreationsInALostSessionAreUnknown(t *testing.T) {
	for _, f := range []func(tx *stm.Tx) error{
		func(tx *stm.Tx) error { return tx.Set("/a", []byte("1")) },
		func(tx *stm.Tx) error { return tx.Create("/task", nil, session.Persistent, nil) },
	} {
		for _, fault := range []zktest.Fault{zktest.DropRequest, zktest.DropReplyHole} {
			tasks := 0
			_, _, said := losesItsSession(t, fault, f, func(w *World) {
				if w.nodeExists("/task") { // a worker does the task
					tasks++
					require.NoError(w, w.Server.Delete("/task"))
				}
			})
			require.ErrorIs(t, said, session.ErrUnknownOutcome)
			require.ErrorContains(t, said, "nothing on the servers tells")
			require.LessOrEqual(t, tasks, 1)
		}
	}
}

// The servers still have the former session when the next session looks: the
// marker tells, and its deletion keeps a late request from being applied.
func TestMarkerOfAFormerSessionTells(t *testing.T) {
	for _, applied := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			w.createZeros("/a")
			first, second := w.Client(), w.Client()
			s1, s2 := w.Session(first), w.Session(second)
			node, err := s1.Create(w.Ctx, "/marker", nil, session.Ephemeral, nil)
			require.NoError(w, err)
			late := []session.Op{session.SetOp("/a", []byte("1"), 0), session.SetOp(node.Path, nil, 0)}
			if applied {
				_, err = s1.Txn(w.Ctx, late...)
				require.NoError(w, err)
			}
			got, err := stm.ResolveForTest(w.Ctx, s2, node.Path)
			require.NoError(w, err)
			require.Equal(w, map[bool]string{false: "not applied", true: "applied"}[applied], got)
			if !applied {
				_, err = s1.Txn(w.Ctx, late...)
				require.ErrorIs(w, err, session.ErrNoNode)
			}
		})
	}
}

// An operator deletes the marker while a reply is missing.
func TestMarkerThatAnOperatorDeletesCostsNoTruth(t *testing.T) {
	for _, applied := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			w.createZeros("/a", "/b")
			txs := stm.New(w.Client(), markers, nil)
			w.apply(txs, move("/a", "/b", 0))
			w.Server.FailNth(isCommit, 1, zktest.Action{Do: map[bool]zktest.Fault{false: zktest.CutBefore, true: zktest.DropReplyCut}[applied]})
			deleted := false
			w.Server.OnRequest(func(r zktest.Request) zktest.Action {
				if r.Op == "exists" && !deleted {
					deleted = true
					require.NoError(w, w.Server.DeleteAll(markers))
				}
				return zktest.Action{}
			})
			err := txs.Apply(w.Ctx, move("/a", "/b", 5))
			require.True(w, deleted)
			if applied {
				require.ErrorIs(w, err, session.ErrUnknownOutcome)
			} else {
				require.NoError(w, err)
			}
			require.Equal(w, []int{-5, 5}, []int{w.numberAt("/a"), w.numberAt("/b")}, "once")
			w.apply(txs, move("/b", "/a", 5))
			require.Zero(w, w.numberAt("/a"))
		})
	}
}

// An operator deletes the folder between transactions, or changes a marker.
func TestTransactionsGoOnWithoutTheirMarkers(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b")
		txs := stm.New(w.Client(), markers, nil)
		w.apply(txs, move("/a", "/b", 1))
		require.NoError(w, w.Server.DeleteAll(markers))
		w.apply(txs, move("/a", "/b", 1))
		require.NoError(w, w.Server.Set(markers+"/"+w.Children(markers)[0], []byte("garbage")))
		w.apply(txs, move("/a", "/b", 1))
		require.Equal(w, 3, w.numberAt("/b"))
		w.Settle()
		require.Len(w, w.Children(markers), 1, "the marker of the settled transaction is deleted")
	})
}

func TestCallerThatGivesUpIsToldThatTheOutcomeIsUnknown(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b")
		txs := stm.New(w.Client(), markers, nil)
		w.apply(txs, move("/a", "/b", 0))
		w.Server.BlackHole(zktest.Link{}, zktest.ToClient)
		done := w.startApply(w.Within(time.Second), txs, func(tx *stm.Tx) error { return tx.Set("/a", []byte("1")) })
		err := <-done
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.Server.Heal()
		w.apply(txs, move("/a", "/b", 5))
		w.Pass(time.Minute)
		require.LessOrEqual(w, len(w.Children(markers)), 1, "the marker of the first transaction is deleted")
	})
}

// An outage during a transaction, longer than the session.
func TestTransactionOverAnOutage(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b")
		txs := stm.New(w.Client(), markers, nil)
		w.apply(txs, move("/a", "/b", 0))
		require.NoError(w, w.Server.Stop(1))
		done := w.startApply(w.Ctx, txs, move("/a", "/b", 5))
		w.Pass(10 * time.Minute)
		require.NoError(w, w.Server.Restart(1))
		require.NoError(w, <-done)
		require.Equal(w, 5, w.numberAt("/b"))
	})
}
