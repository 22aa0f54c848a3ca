package stm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestAllWritesAreAppliedTogether(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b", "/old")
		txs := stm.New(w.Client(), markers, nil)
		require.Equal(w, markers, txs.Path())
		w.apply(txs, func(tx *stm.Tx) error {
			return errors.Join(move("/a", "/b", 5)(tx), tx.Create("/new", []byte("n"), session.Ephemeral, nil), tx.Delete("/old"))
		})
		require.Equal(w, []int{-5, 5}, []int{w.numberAt("/a"), w.numberAt("/b")})
		require.False(w, w.nodeExists("/old"))
		n, err := w.Server.Get("/new")
		require.NoError(w, err)
		require.NotZero(w, n.EphemeralOwner)
	})
}

func TestFunctionIsCalledAgainWhenWhatItHasReadChanges(t *testing.T) {
	changes := map[string]func(w *World){
		"set":     func(w *World) { require.NoError(w, w.Server.Set("/read", []byte("7"))) },
		"deleted": func(w *World) { require.NoError(w, w.Server.Delete("/read")) },
		"created": func(w *World) { require.NoError(w, w.Server.Create("/absent", []byte("7"))) },
		"the parent of an absent one created": func(w *World) {
			require.NoError(w, w.Server.Create("/top", nil))
			require.NoError(w, w.Server.Create("/top/below", nil))
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.createZeros("/read", "/a")
				txs := stm.New(w.Client(), markers, nil)
				calls := 0
				w.apply(txs, func(tx *stm.Tx) error {
					nodes, err := tx.GetAll("/read", "/absent", "/top/below")
					if calls++; calls == 1 {
						change(w)
					}
					if err != nil {
						return err
					}
					sum := 0
					for _, n := range nodes {
						if n.Exists {
							sum += 1 + number(n.Data)
						}
					}
					return tx.Put("/a", text(sum))
				})
				require.Equal(w, 2, calls)
				require.NotEqual(w, 1, w.numberAt("/a"), "the value seen by the second call")
			})
		})
	}
}

// A write without a read depends on nothing.
func TestBlindWritesDoNotConflict(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b")
		calls := 0
		w.apply(stm.New(w.Client(), markers, nil), func(tx *stm.Tx) error {
			err := errors.Join(tx.Set("/a", []byte("1")), tx.Delete("/b"))
			calls++
			require.NoError(w, w.Server.Set("/a", []byte("9")))
			return err
		})
		require.Equal(w, 1, calls)
		require.Equal(w, 1, w.numberAt("/a"))
	})
}

func TestErrorOfTheFunctionWritesNothingAndIsReturnedAsItIs(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		txs := stm.New(w.Client(), markers, nil)
		empty := fmt.Errorf("no money: %w", io.EOF)
		err := txs.Apply(w.Ctx, func(tx *stm.Tx) error { return errors.Join(add(tx, "/a", 1), empty) })
		require.ErrorIs(w, err, empty)
		require.Equal(w, empty.Error(), err.Error())
		require.Zero(w, w.numberAt("/a"))
	})
}

// An error caused by a stale read is not returned.
func TestErrorOfTheFunctionIsTrueWhenItIsReturned(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		calls := 0
		w.apply(stm.New(w.Client(), markers, nil), func(tx *stm.Tx) error {
			n, err := tx.Get("/a")
			if calls++; calls == 1 {
				require.NoError(w, w.Server.Set("/a", []byte("1")))
			}
			if err == nil && number(n.Data) == 0 {
				err = io.EOF
			}
			return err
		})
		require.Equal(w, 2, calls)
	})
}

// Reads of one transaction can be of two states. Such a call decides nothing.
func TestReadsOfTwoStatesAreNotBelieved(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b") // always the same
		calls := 0
		w.apply(stm.New(w.Client(), markers, nil), func(tx *stm.Tx) error {
			a, err := tx.Get("/a")
			if calls++; calls == 1 {
				require.NoError(w, w.Server.Set("/a", []byte("1")))
				require.NoError(w, w.Server.Set("/b", []byte("1")))
			}
			b, err2 := tx.Get("/b")
			if number(a.Data) != number(b.Data) {
				return errors.New("the two differ")
			}
			return errors.Join(err, err2)
		})
		require.Equal(w, 2, calls)
	})
}

func TestGuardThatFailsEndsApply(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		client := w.Client()
		txs := stm.New(client, markers, nil)
		require.NoError(w, w.Server.Create("/held", nil))
		guard := w.Session(client).CheckOp("/held", 0)
		guarded := func(tx *stm.Tx) error { return errors.Join(tx.Guard(guard), add(tx, "/a", 1)) }
		w.apply(txs, guarded)
		require.NoError(w, w.Server.Delete("/held"))
		require.ErrorIs(w, txs.Apply(w.Ctx, guarded), stm.ErrGuard)
		require.Equal(w, 1, w.numberAt("/a"))
		onlyRead := func(tx *stm.Tx) error {
			_, err := tx.Get("/a")
			return errors.Join(err, tx.Guard(guard))
		}
		require.ErrorIs(w, txs.Apply(w.Ctx, onlyRead), stm.ErrGuard, "also if nothing is written")
	})
}

// A hold may consist of several znodes, and may end before they are gone.
func TestGuardOfSeveralZnodesAndOfAContextEndsApply(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		client := w.Client()
		txs := stm.New(client, markers, nil)
		require.NoError(w, w.Server.Create("/held", nil))
		require.NoError(w, w.Server.Create("/too", nil))
		ctx, end := context.WithCancel(w.Ctx)
		several := session.AllOf(session.CheckOp("/held", 0), session.CheckOp("/too", 0))
		guarded := func(guard session.Op) func(*stm.Tx) error {
			return func(tx *stm.Tx) error { return errors.Join(tx.Guard(guard), add(tx, "/a", 1)) }
		}
		w.apply(txs, guarded(several))
		w.apply(txs, guarded(several.While(ctx)))
		end()
		require.ErrorIs(w, txs.Apply(w.Ctx, guarded(several.While(ctx))), stm.ErrGuard)
		require.NoError(w, w.Server.Delete("/too"))
		err := txs.Apply(w.Ctx, guarded(several))
		require.ErrorIs(w, err, stm.ErrGuard)
		require.ErrorContains(w, err, "/too")
		w.apply(txs, guarded(session.CheckOp("/held", 0)))
		require.Equal(w, 3, w.numberAt("/a"))
		require.ErrorIs(w, txs.Apply(w.Ctx, guarded(session.AllOf(session.DeleteOp("/held", -1)))), stm.ErrInvalidArgument)
	})
}

func TestConflictsInARowAreBounded(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		calls := 0
		err := stm.New(w.Client(), markers, &stm.Options{MaxConflicts: 3}).Apply(w.Ctx, func(tx *stm.Tx) error {
			err := add(tx, "/a", 1)
			calls++
			require.NoError(w, w.Server.Set("/a", text(100*calls)))
			return err
		})
		require.ErrorIs(w, err, stm.ErrConflicts)
		require.ErrorIs(w, err, session.ErrBadVersion)
		require.ErrorContains(w, err, "/a")
		require.Equal(w, 4, calls)
		require.Equal(w, 400, w.numberAt("/a"))
	})
}

func TestTransactionsOfManyClientsAllCount(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b", "/c")
		paths := []string{"/a", "/b", "/c"}
		var all sync.WaitGroup
		for i := range 8 {
			txs := stm.New(w.Client(), markers, nil)
			for range 2 {
				// Waited for below; ends after its transactions.
				all.Go(func() {
					for k := range 5 {
						if err := txs.Apply(w.Ctx, move(paths[i%3], paths[(i+1+k%2)%3], 1+i)); err != nil {
							w.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
		require.Zero(w, w.numberAt("/a")+w.numberAt("/b")+w.numberAt("/c"))
		versions := int32(0)
		for _, p := range paths {
			n, err := w.Server.Get(p)
			require.NoError(w, err)
			versions += n.Version
		}
		require.EqualValues(w, 2*8*2*5, versions, "each was applied once")
		require.LessOrEqual(w, len(w.Children(markers)), 16)
	})
}

func TestApplyEndsWithItsContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		txs := stm.New(w.Client(), markers, nil)
		ctx, cancel := context.WithCancelCause(w.Ctx)
		calls := 0
		err := txs.Apply(ctx, func(tx *stm.Tx) error {
			err := add(tx, "/a", 1)
			calls++
			require.NoError(w, w.Server.Set("/a", text(50)))
			cancel(io.EOF)
			return err
		})
		require.ErrorIs(w, err, context.Canceled)
		require.ErrorIs(w, err, io.EOF)
		require.Equal(w, 1, calls)
		require.Equal(w, 50, w.numberAt("/a"))
		require.ErrorIs(w, txs.Apply(ctx, func(*stm.Tx) error { return nil }), io.EOF)
	})
}

func TestApplyEndsWithItsContextBetweenConflicts(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		calls := 0
		err := stm.New(w.Client(), markers, &stm.Options{MaxConflicts: 1_000_000}).Apply(w.Within(10*time.Second), func(tx *stm.Tx) error {
			err := add(tx, "/a", 1)
			calls++
			require.NoError(w, w.Server.Set("/a", text(50)))
			return err
		})
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NotErrorIs(w, err, session.ErrUnknownOutcome)
		require.Greater(w, calls, 100)
		require.Equal(w, 50, w.numberAt("/a"))
	})
}

// An abandoned request without changes leaves no unknown outcome.
func TestReadsThatAreGivenUpHaveNoUnknownOutcome(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		txs := stm.New(w.Client(), markers, nil)
		err := txs.Apply(w.Within(time.Second), func(tx *stm.Tx) error {
			_, err := tx.GetAll("/a", "/absent")
			w.Server.BlackHole(zktest.Link{}, zktest.ToClient)
			return err
		})
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NotErrorIs(w, err, session.ErrUnknownOutcome)
		w.Server.Heal()
	})
}
