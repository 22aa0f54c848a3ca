package stm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// countsAll also accepts the requests that find out outcomes.
func countsAll(r zktest.Request) bool {
	return !slices.Contains([]string{"connect", "ping", "setWatches", "setAuth", "closeSession"}, r.Op)
}

// ledger has the results of two transactions of the tested client.
type ledger struct{ said [2]error }

// transferTrial makes a trial of two transactions; the second runs after any result of
// the first. Number i moves 10^i from /a to /b, so each digit tells how often
// the transaction was applied. between runs between the reads of a transaction
// and its writes.
func transferTrial(name string, between func(ctx context.Context, p *world.Party) error) world.Trial {
	return world.Trial{
		Name: name,
		Setup: func(e *matrix.Env, p *world.Party) error {
			p.State = &ledger{said: [2]error{context.Canceled, context.Canceled}}
			return errors.Join(e.Server.Create("/a", []byte("0")), e.Server.Create("/b", []byte("0")), e.Server.Create("/c", []byte("0")))
		},
		Op: func(ctx context.Context, p *world.Party) error {
			txs, l := stm.New(p.Tested, markers, nil), p.State.(*ledger)
			rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			for i, ctx := range []context.Context{ctx, rest} {
				l.said[i] = txs.Apply(ctx, func(tx *stm.Tx) error {
					err := move("/a", "/b", 1+9*i)(tx)
					if between != nil {
						err = errors.Join(err, between(context.WithoutCancel(ctx), p))
					}
					return err
				})
			}
			return errors.Join(l.said[:]...)
		},
		Next: func(ctx context.Context, p *world.Party) error {
			world.Pause(time.Minute) // for requests in flight
			return checkSettled(ctx, p, p.State.(*ledger))
		},
		Counts:  countsAll,
		Excuses: []error{context.DeadlineExceeded},
	}
}

// checkSettled asserts that the numbers agree with the reports, and that the next
// caller succeeds.
func checkSettled(ctx context.Context, p *world.Party, l *ledger) error {
	var a, b int
	other := stm.New(p.Other, markers, nil)
	err := other.Apply(ctx, func(tx *stm.Tx) error {
		nodes, err := tx.GetAll("/a", "/b")
		if err == nil {
			a, b = number(nodes[0].Data), number(nodes[1].Data)
		}
		return err
	})
	if err == nil && a != -b {
		err = fmt.Errorf("half a transaction: %d and %d", a, b)
	}
	for i, said := range l.said {
		err = errors.Join(err, world.CheckOutcome(said, b%10))
		b /= 10
		if err != nil {
			return fmt.Errorf("transaction %d: %w", i, err)
		}
	}
	s, err := p.Other.Session(ctx)
	if err != nil {
		return err
	}
	// Two of the tested client: for its present and for a former session; and
	// one of the other client.
	names, _, err := s.Children(ctx, markers)
	if err != nil && !errors.Is(err, session.ErrNoNode) || len(names) > 3 {
		return fmt.Errorf("unused markers: %q %w", names, err)
	}
	return errors.Join(other.Apply(ctx, move("/a", "/b", 100)), stm.New(p.Tested, markers, nil).Apply(ctx, move("/a", "/b", 1000)))
}

func runTrial(t *testing.T, tr world.Trial) {
	t.Helper()
	t.Parallel()
	c := tr.Case()
	c.Pairs = world.Pairs(matrix.LostReply, matrix.LostRequest, matrix.SilentReply, matrix.ExpireAfter)
	matrix.Run(t, c)
}

func TestTransactionsUnderEveryFault(t *testing.T) {
	runTrial(t, transferTrial("two transactions", nil))
}

// Other clients change the same znodes all the time: only the marker can tell
// the outcome.
func TestContendedTransactionsUnderEveryFault(t *testing.T) {
	conflict := func(ctx context.Context, p *world.Party) error {
		s, err := p.Other.Session(ctx)
		if err != nil {
			return err
		}
		data, stat, err := s.Get(ctx, "/b")
		if err != nil || stat.Version > 2 {
			return err // enough conflicts
		}
		_, err = s.Set(ctx, "/b", data, stat.Version)
		if errors.Is(err, session.ErrBadVersion) {
			return nil
		}
		return err
	}
	runTrial(t, transferTrial("two transactions, and others between", conflict))
}

func TestReadsUnderEveryFault(t *testing.T) {
	runTrial(t, world.Trial{
		Name:  "reads of what is there and what is not",
		Setup: func(e *matrix.Env, _ *world.Party) error { return e.Server.Create("/a", []byte("7")) },
		Op: func(ctx context.Context, p *world.Party) error {
			return stm.New(p.Tested, markers, nil).Apply(ctx, func(tx *stm.Tx) error {
				nodes, err := tx.GetAll("/a", "/none", "/none/below")
				if err == nil && (number(nodes[0].Data) != 7 || nodes[1].Exists || nodes[2].Exists) {
					err = fmt.Errorf("wrong: %v", nodes)
				}
				return err
			})
		},
		Next: func(ctx context.Context, p *world.Party) error {
			return stm.New(p.Other, markers, nil).Apply(ctx, func(tx *stm.Tx) error { return tx.Put("/none", nil) })
		},
		Counts: countsAll,
	})
}

func TestCreationsUnderEveryFaultAreMadeOnce(t *testing.T) {
	runTrial(t, world.Trial{
		Name:  "create what is absent",
		Setup: func(_ *matrix.Env, p *world.Party) error { p.State = new(error); return nil },
		Op: func(ctx context.Context, p *world.Party) error {
			err := stm.New(p.Tested, markers, nil).Apply(ctx, func(tx *stm.Tx) error {
				n, err := tx.Get("/claim")
				if err == nil && n.Exists {
					return errTaken
				}
				return errors.Join(err, tx.Create("/claim", []byte("1"), session.Persistent, nil))
			})
			*p.State.(*error) = err
			return err
		},
		Next: func(ctx context.Context, p *world.Party) error {
			world.Pause(time.Minute)
			s, err := p.Other.Session(ctx)
			if err != nil {
				return err
			}
			_, exists, err := s.Exists(ctx, "/claim")
			times := map[bool]int{true: 1}[exists]
			return errors.Join(err, world.CheckOutcome(*p.State.(*error), times))
		},
		Counts: countsAll,
	})
}

// errTaken must never be said: no other client writes.
var errTaken = errors.New("taken by another client")
