package stm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// newIdempotent makes a Transactor without markers. Its folder must never be created.
func newIdempotent(c *session.Client) *stm.Transactor {
	return stm.NewIdempotent(c, markers, nil)
}

// appendOnce appends id to the list at path, and recognizes an earlier append.
func appendOnce(path, id string) func(*stm.Tx) error {
	return func(tx *stm.Tx) error {
		n, err := tx.Get(path)
		if err != nil || slices.Contains(strings.Fields(string(n.Data)), id) {
			return err
		}
		return tx.Set(path, append(n.Data, " "+id...))
	}
}

func countOccurrences(data []byte, id string) (n int) {
	for _, word := range strings.Fields(string(data)) {
		if word == id {
			n++
		}
	}
	return n
}

func TestRecognizedTransactionsUnderEveryFault(t *testing.T) {
	runTrial(t, world.Trial{
		Name: "two transactions without markers",
		Setup: func(e *matrix.Env, p *world.Party) error {
			p.State = &ledger{said: [2]error{context.Canceled, context.Canceled}}
			return e.Server.Create("/list", nil)
		},
		Op: func(ctx context.Context, p *world.Party) error {
			txs, l := newIdempotent(p.Tested), p.State.(*ledger)
			rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			for i, ctx := range []context.Context{ctx, rest} {
				l.said[i] = txs.Apply(ctx, appendOnce("/list", fmt.Sprint(i)))
			}
			return errors.Join(l.said[:]...)
		},
		Next: func(ctx context.Context, p *world.Party) error {
			world.Pause(time.Minute) // for requests in flight
			s, err := p.Other.Session(ctx)
			if err != nil {
				return err
			}
			data, _, err := s.Get(ctx, "/list")
			for i, said := range p.State.(*ledger).said {
				err = errors.Join(err, world.CheckOutcome(said, countOccurrences(data, fmt.Sprint(i))))
			}
			if _, there, e := s.Exists(ctx, markers); e != nil || there {
				err = errors.Join(err, e, errors.New("a folder of markers"))
			}
			return errors.Join(err, newIdempotent(p.Other).Apply(ctx, appendOnce("/list", "next")))
		},
		Counts:  countsAll,
		Excuses: []error{context.DeadlineExceeded},
	})
}

// Clients under random faults: all reports are true, and each transaction is
// applied at most once.
func TestIdempotentTransactionsAreAppliedOnce(t *testing.T) {
	for _, servers := range []int{1, 3} {
		world.RunSeeds(t, world.Seeds(30), servers, func(w *world.World, seed uint64) error {
			return idempotentHistory(w, seed, servers)
		})
	}
}

func idempotentHistory(w *world.World, seed uint64, servers int) error {
	const clients, calls = 3, 6
	w.Session(w.Client()) // a leader is elected
	require.NoError(w, w.Server.Create("/list", nil))
	trouble, calm := context.WithTimeout(w.Ctx, 20*time.Second)
	defer calm()
	var said [clients * calls]error
	var all sync.WaitGroup
	for c := range clients {
		txs, own := newIdempotent(w.Client()), rand.New(rand.NewPCG(seed, uint64(c)))
		// Waited for below; ends after its calls.
		all.Go(func() {
			for i := range calls {
				ctx, cancel := context.WithTimeout(w.Ctx, time.Duration(own.Int64N(int64(30*time.Second))))
				id := c*calls + i
				said[id] = txs.Apply(ctx, appendOnce("/list", fmt.Sprint(id)))
				cancel()
				world.SleepContext(w.Ctx, time.Duration(own.Int64N(int64(2*time.Second))))
			}
		})
	}
	g := &world.FaultInjector{Server: w.Server, Clients: clients, Servers: servers, Rand: rand.New(rand.NewPCG(seed, 3))}
	// Waited for below; ends with trouble.
	all.Go(func() { g.Run(trouble, 2*time.Second) })
	all.Wait()
	w.Pass(time.Minute)
	node, err := w.Server.Get("/list")
	if err != nil {
		return err
	}
	for id, said := range said {
		times := countOccurrences(node.Data, fmt.Sprint(id))
		switch fate := history.FateOf(said); {
		case times > 1, fate == once && times == 0, fate == never && times > 0:
			return fmt.Errorf("transaction %d was applied %d times: %w", id, times, said)
		}
	}
	return nil
}

// The attempt of a session that was given up may still arrive, unless the reads
// of the next attempt exclude it. An attempt of this session, or of a session
// expired by the servers, cannot arrive.
func TestVerdictAfterAnIdempotentAttempt(t *testing.T) {
	for name, want := range map[string]bool{"same": false, "expired": false, "given up": true, "given up, and changed": false} {
		if name == "same" && !world.Has(world.Resumes) || name == "expired" && !world.Has(world.SaysExpired) {
			continue // it is given up as well
		}
		inWorld(t, nil, func(w *World) {
			w.createZeros("/a")
			c := w.Client()
			s := w.Session(c)
			if strings.HasPrefix(name, "given up") {
				_, err := s.Create(w.Ctx, "/held", nil, session.Ephemeral, nil)
				require.NoError(w, err)
				_, err = s.Hold(w.Ctx, "/held", nil)
				require.NoError(w, err)
			}
			w.Server.FailNth(isCommit, 1, zktest.Action{Do: zktest.DropRequest})
			calls := 0
			done := w.startApply(w.Ctx, newIdempotent(c), func(tx *stm.Tx) error {
				_, err := tx.Get("/a")
				if calls++; calls == 1 {
					return errors.Join(err, tx.Set("/a", text(1)))
				}
				return io.EOF
			})
			w.Settle()
			switch {
			case name == "expired":
				require.NoError(w, w.Server.ExpireSession(s.ID()))
			case s.Err() == nil && name != "same":
				w.Server.BlackHole(zktest.Link{}, zktest.Both)
				<-s.Context().Done()
				w.Server.Heal()
				require.NotErrorIs(w, s.Err(), session.ErrExpired)
				if strings.HasSuffix(name, "changed") {
					require.NoError(w, w.Server.Set("/a", text(7)))
				}
			}
			err := <-done
			require.ErrorIs(w, err, io.EOF, name)
			require.Equal(w, want, errors.Is(err, session.ErrUnknownOutcome), "%s: %v", name, err)
			require.Equal(w, name == "same", s.Err() == nil, name)
		})
	}
}

func TestRequestsOfAnIdempotentTransaction(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b")
		c := w.Client()
		w.Session(c)
		w.ResetStats()
		w.apply(newIdempotent(c), move("/a", "/b", 1))
		require.Equal(w, 3, w.Requests(c), "two reads, one transaction, no marker")
	})
}

// With a queue, writers of one znode need a bounded number of attempts each.
func TestWritersQueueAfterAConflict(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const writers = 30
		w.createZeros("/a")
		var all sync.WaitGroup
		var calls, queued atomic.Int32
		turn := make(chan struct{}, 1)
		txs := stm.New(w.Client(), markers, &stm.Options{Queue: func(context.Context) (func(), error) {
			turn <- struct{}{}
			queued.Add(1)
			return func() { <-turn }, nil
		}})
		w.Server.Delay(zktest.Link{}, zktest.Both, time.Millisecond) // all read the same first
		for range writers {
			// Waited for below; ends with its transaction.
			all.Go(func() {
				w.apply(txs, func(tx *stm.Tx) error { calls.Add(1); return add(tx, "/a", 1) })
			})
		}
		all.Wait()
		require.Equal(w, writers, w.numberAt("/a"))
		require.Less(w, int(queued.Load()), writers, "each once, and not the first")
		require.Greater(w, int(queued.Load()), writers/2)
		require.LessOrEqual(w, int(calls.Load()), 3*writers)
		require.Empty(w, turn, "all have left the queue")

		tries := 0
		queued.Store(0)
		w.apply(txs, func(tx *stm.Tx) error {
			err := add(tx, "/a", 1)
			if tries++; tries < 4 {
				require.NoError(w, w.Server.Set("/a", text(0)))
			}
			return err
		})
		require.Equal(w, 1, int(queued.Load()), "once, however many conflicts follow")

		full := errors.New("full")
		err := stm.New(w.Client(), markers, &stm.Options{Queue: func(context.Context) (func(), error) { return nil, full }}).
			Apply(w.Ctx, func(tx *stm.Tx) error {
				err := add(tx, "/a", 1)
				require.NoError(w, w.Server.Set("/a", text(0)))
				return err
			})
		require.ErrorIs(w, err, full)
		require.Equal(w, 0, w.numberAt("/a"))
	})
}
