package stm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

func TestAssumedNodeIsNotReadAndOneThatIsOutOfDateIs(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		client := w.Client()
		txs := stm.NewIdempotent(client, "/txs", nil)
		known := stm.Node{Path: "/a", Exists: true, Data: []byte("0")}
		calls := 0
		assuming := func(tx *stm.Tx) error {
			calls++
			return errors.Join(tx.Assume(known), add(tx, "/a", 1))
		}
		w.ResetStats()
		w.apply(txs, assuming)
		require.Equal(w, 1, w.Requests(client), "one transaction")
		require.Equal(w, 1, w.numberAt("/a"))
		w.apply(txs, assuming)
		require.Equal(w, 2, w.numberAt("/a"), "the version has changed")
		require.Equal(w, 3, calls)
	})
}

// A transaction depends on its assumptions about a znode as on its reads, even
// for a call that returns an error.
func TestErrorThatIsDueToAWrongAssumptionIsNotReported(t *testing.T) {
	for name, wrong := range map[string]stm.Node{
		"absent":         {Path: "/a"},
		"another data":   {Path: "/a", Exists: true, Data: []byte("9"), Stat: session.Stat{Version: 7}},
		"no version":     {Path: "/a", Exists: true, Data: []byte("9"), Stat: session.Stat{Version: -1}},
		"exists no more": {Path: "/b", Exists: true, Data: []byte("9")},
	} {
		for kind, txs := range map[string]func(*session.Client) *stm.Transactor{
			"marked":     func(c *session.Client) *stm.Transactor { return stm.New(c, markers, nil) },
			"idempotent": func(c *session.Client) *stm.Transactor { return stm.NewIdempotent(c, "/txs", nil) },
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					w.createZeros("/a")
					w.apply(txs(w.Client()), func(tx *stm.Tx) error {
						err := tx.Assume(wrong)
						n, err2 := tx.Get(wrong.Path)
						if wrong.Path == "/a" && !n.Exists || number(n.Data) == 9 {
							return io.EOF
						}
						return errors.Join(err, err2)
					})
				})
			})
		}
	}
}

func TestAssumedAbsenceIsACondition(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/part")
		client := w.Client()
		txs := stm.NewIdempotent(client, "/txs", nil)
		deletePart := func(tx *stm.Tx) error {
			err := tx.Assume(stm.Node{Path: "/owner"})
			n, err2 := tx.Get("/owner")
			if n.Exists {
				return io.EOF
			}
			return errors.Join(err, err2, tx.Delete("/part"))
		}
		w.createZeros("/owner")
		require.ErrorIs(w, txs.Apply(w.Ctx, deletePart), io.EOF)
		require.True(w, w.nodeExists("/part"))
		require.NoError(w, w.Server.Delete("/owner"))
		w.ResetStats()
		w.apply(txs, deletePart)
		require.Equal(w, 1, w.Requests(client), "one transaction")
		require.False(w, w.nodeExists("/part"))
		require.False(w, w.nodeExists("/owner"))
	})
}

func TestRequiredZnodeMustExistAndMayChange(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/needed")
		client := w.Client()
		txs := stm.NewIdempotent(client, "/txs", nil)
		require.NoError(w, w.Server.Set("/needed", []byte("7")))
		requiring := func(tx *stm.Tx) error { return errors.Join(tx.Require("/needed"), tx.Set("/a", []byte("1"))) }
		w.ResetStats()
		w.apply(txs, requiring)
		require.Equal(w, 1, w.Requests(client), "the znode is not read")
		require.Equal(w, 1, w.numberAt("/a"))
		require.NoError(w, w.Server.Delete("/needed"))
		err := txs.Apply(w.Ctx, func(tx *stm.Tx) error { return errors.Join(tx.Require("/needed"), tx.Set("/a", []byte("2"))) })
		require.ErrorIs(w, err, session.ErrNoNode)
		var txn *session.TxnError
		require.ErrorAs(w, err, &txn)
		require.Equal(w, "/needed", txn.Path)
		require.Equal(w, 1, w.numberAt("/a"))
		// Without a write, and with the knowledge of the transaction.
		require.ErrorIs(w, txs.Apply(w.Ctx, func(tx *stm.Tx) error { return tx.Require("/needed") }), session.ErrNoNode)
		err = txs.Apply(w.Ctx, func(tx *stm.Tx) error { return errors.Join(tx.Delete("/a"), tx.Require("/a")) })
		require.ErrorIs(w, err, session.ErrNoNode)
		w.apply(txs, func(tx *stm.Tx) error { return errors.Join(tx.Require("/a"), tx.Set("/a", []byte("3"))) })
		require.Equal(w, 3, w.numberAt("/a"), "a write of a required znode")
	})
}

func TestResultsAreThoseOfTheWritesInTheirOrder(t *testing.T) {
	for kind, txs := range map[string]func(*session.Client) *stm.Transactor{
		"marked":     func(c *session.Client) *stm.Transactor { return stm.New(c, markers, nil) },
		"idempotent": func(c *session.Client) *stm.Transactor { return stm.NewIdempotent(c, "/txs", nil) },
	} {
		t.Run(kind, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.createZeros("/a", "/b", "/c", "/gone")
				results, err := txs(w.Client()).ApplyResults(w.Ctx, func(tx *stm.Tx) error {
					_, err := tx.GetAll("/b", "/absent")
					return errors.Join(err, tx.Require("/c"), tx.Delete("/gone"), add(tx, "/a", 1),
						tx.Create("/new", nil, session.Persistent, nil), tx.Set("/a", []byte("2")))
				})
				require.NoError(w, err)
				require.Len(w, results, 3)
				require.Equal(w, "/new", results[2].Path)
				n, err := w.Server.Get("/a")
				require.NoError(w, err)
				require.Equal(w, n.Mzxid, results[1].Stat.Mzxid)
				require.EqualValues(w, 1, results[1].Stat.Version)
			})
		})
	}
}

// An idempotent function is called again after a lost reply, with Unanswered
// set, in the same session and in the next one.
func TestIdempotentFunctionIsCalledAgainAfterALostReply(t *testing.T) {
	for name, expire := range map[string]bool{"connection": false, "session": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.createZeros("/a")
				client := w.Client()
				txs := stm.NewIdempotent(client, "/txs", nil)
				id := w.ID(client)
				fault := zktest.DropReplyCut
				if expire {
					fault = zktest.DropReplyHole
				}
				w.Server.FailNth(isCommit, 1, zktest.Action{Do: fault})
				var told []bool
				done := w.startApply(w.Ctx, txs, func(tx *stm.Tx) error {
					told = append(told, tx.Unanswered())
					err := tx.Assume(stm.Node{Path: "/a", Exists: true, Data: []byte("0")})
					n, err2 := tx.Get("/a")
					if number(n.Data) == 1 {
						return nil // already applied
					}
					return errors.Join(err, err2, tx.Set("/a", []byte("1")))
				})
				w.Settle()
				if expire {
					require.NoError(w, w.Server.ExpireSession(id))
				}
				require.NoError(w, <-done)
				require.Equal(w, []bool{false, true}, told)
				n, err := w.Server.Get("/a")
				require.NoError(w, err)
				require.EqualValues(w, 1, n.Version)
				require.False(w, w.nodeExists("/txs"), "there is no marker")
			})
		})
	}
}

func TestIdempotentCallThatEndsWithoutAReplyIsUnknown(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		txs := stm.NewIdempotent(w.Client(), "/txs", nil)
		err := txs.Apply(w.Within(time.Second), func(tx *stm.Tx) error {
			w.Server.BlackHole(zktest.Link{}, zktest.ToClient)
			return tx.Set("/a", []byte("1"))
		})
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		w.Server.Heal()
	})
}

// The absence of the only read znode is proved without a write.
func TestAbsenceThatAloneWasReadIsProvedWithoutAWrite(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			require.False(w, isCommit(r), "no write")
			return zktest.Action{}
		})
		calls := 0
		err := stm.NewIdempotent(client, "/txs", nil).Apply(w.Ctx, func(tx *stm.Tx) error {
			n, err := tx.Get("/none/below")
			if calls++; calls == 1 {
				require.NoError(w, w.Server.Create("/none", nil))
				require.NoError(w, w.Server.Create("/none/below", nil))
			}
			if !n.Exists {
				return io.EOF
			}
			return err
		})
		require.NoError(w, err, "the absence was over")
		require.Equal(w, 2, calls)
		err = stm.New(client, markers, nil).Apply(w.Ctx, func(tx *stm.Tx) error {
			_, err := tx.Get("/never/below")
			return errors.Join(err, io.EOF)
		})
		require.ErrorIs(w, err, io.EOF)
	})
}

// An order is paid once: its data names the payment, so the function recognizes
// an applied payment. The version is known, a receipt is required, and a part
// is deleted.
func TestIdempotentTransactionsUnderEveryFault(t *testing.T) {
	pay := func(by string) func(tx *stm.Tx) error {
		return func(tx *stm.Tx) error {
			err := tx.Assume(stm.Node{Path: "/order", Exists: true})
			n, err2 := tx.Get("/order")
			switch {
			case errors.Join(err, err2) != nil:
				return errors.Join(err, err2)
			case string(n.Data) == by:
				return nil
			case len(n.Data) > 0:
				return errTaken
			}
			return errors.Join(tx.Require("/receipts"), tx.Set("/order", []byte(by)), tx.Delete("/open"))
		}
	}
	runTrial(t, world.Trial{
		Name: "an idempotent transaction",
		Setup: func(e *matrix.Env, p *world.Party) error {
			p.State = new(error)
			return errors.Join(e.Server.Create("/order", nil), e.Server.Create("/open", nil), e.Server.Create("/receipts", nil))
		},
		Op: func(ctx context.Context, p *world.Party) error {
			err := stm.NewIdempotent(p.Tested, "/order", nil).Apply(ctx, pay("a"))
			*p.State.(*error) = err
			return err
		},
		Next: func(ctx context.Context, p *world.Party) error {
			world.Pause(time.Minute) // for requests in flight
			s, err := p.Other.Session(ctx)
			if err != nil {
				return err
			}
			_, stat, err := s.Get(ctx, "/order")
			_, open, err2 := s.Exists(ctx, "/open")
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			if open != (stat.Version == 0) || stat.Version > 1 {
				return fmt.Errorf("half a transaction, or two: version %d, open: %v", stat.Version, open)
			}
			err = world.CheckOutcome(*p.State.(*error), int(stat.Version))
			next := stm.NewIdempotent(p.Other, "/order", nil).Apply(ctx, pay("b"))
			if (next == nil) != open || next != nil && !errors.Is(next, errTaken) {
				err = errors.Join(err, fmt.Errorf("the next one: %w", next))
			}
			return err
		},
		Counts:  countsAll,
		Excuses: []error{context.DeadlineExceeded},
	})
}
