package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// lockstep has parties that go through rounds, and their observations of each
// other.
type lockstep struct {
	parties int
	// ready counts, for each round, the parties ready; inside, the parties
	// inside.
	ready, inside []atomic.Int64
}

func newLockstep(parties, rounds int) *lockstep {
	return &lockstep{parties, make([]atomic.Int64, rounds+1), make([]atomic.Int64, rounds+1)}
}

// passed checks that all parties were ready for round n when a party has passed
// it.
func (l *lockstep) passed(n int64, i int) error {
	if got := l.ready[n].Load(); got != int64(l.parties) {
		return fmt.Errorf("party %d passed round %d when %d were ready", i, n, got)
	}
	return nil
}

// await goes through all rounds of a Barrier.
func (l *lockstep) await(ctx context.Context, i int, b *barrier.Barrier) error {
	for n := int64(1); n < int64(len(l.ready)); n++ {
		l.ready[n].Add(1)
		round, err := b.Await(ctx)
		if err != nil {
			return fmt.Errorf("party %d, round %d: %w", i, n, err)
		}
		if round != n {
			return fmt.Errorf("party %d passed round %d in round %d", i, round, n)
		}
		if err := l.passed(n, i); err != nil {
			return err
		}
	}
	return nil
}

// visit goes through all rounds of a Double.
func (l *lockstep) visit(ctx context.Context, i int, d *barrier.Double) error {
	for n := int64(1); n < int64(len(l.ready)); n++ {
		l.ready[n].Add(1)
		l.inside[n].Add(1)
		seat, err := d.Enter(ctx)
		if err != nil {
			return fmt.Errorf("party %d, round %d: enter: %w", i, n, err)
		}
		if seat.Round() != n {
			return fmt.Errorf("party %d entered round %d in round %d", i, seat.Round(), n)
		}
		if err := l.passed(n, i); err != nil {
			return err
		}
		l.inside[n].Add(-1)
		if err := seat.Leave(ctx); err != nil {
			return fmt.Errorf("party %d, round %d: leave: %w", i, n, err)
		}
		if got := l.inside[n].Load(); got != 0 {
			return fmt.Errorf("party %d has left round %d while %d were inside", i, n, got)
		}
	}
	return nil
}

// run runs all parties to their end.
func (l *lockstep) run(party func(i int) error) error {
	errs := make([]error, l.parties)
	var all sync.WaitGroup
	for i := range l.parties {
		// Waited for below; ends after its rounds, or with its context.
		all.Go(func() { errs[i] = party(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func manyRounds(full int) int {
	switch {
	case testing.Short():
		return full / 16
	case world.Thorough():
		return full
	}
	return full / 4
}

// CL7, CH37, CH38, P12: rounds without a pause, with immediate new arrivals. No
// party hangs, gets an error, or passes early.
func TestRoundsOf32PartiesNeverHangNorFail_P12_T22(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *World) {
		rounds := manyRounds(1000)
		l := newLockstep(32, rounds)
		all, _ := w.barriers(32, 32, nil)
		require.NoError(w, l.run(func(i int) error { return l.await(w.Ctx, i, all[i]) }))
		w.clean()
		w.Logf("%d requests a party and round", sum(w.Server.Stats().Requests)/32/rounds)
	})
}

func TestDoubleRoundsOf32PartiesNeverHangNorFail_CL7_CH37_CH38(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *World) {
		rounds := manyRounds(1000)
		l := newLockstep(32, rounds)
		all, _ := w.doubles(32, 32, nil)
		require.NoError(w, l.run(func(i int) error { return l.visit(w.Ctx, i, all[i]) }))
		w.clean()
		w.Logf("%d requests a party and round", sum(w.Server.Stats().Requests)/32/rounds)
	})
}

// Goroutines of one process are separate parties.
func TestGoroutinesOfOneClientAreParties(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		b, d := barrier.New(c, dir, 4, nil), barrier.NewDouble(c, dir+"-double", 4, nil)
		l := newLockstep(4, 50)
		require.NoError(w, l.run(func(i int) error { return l.await(w.Ctx, i, b) }))
		l = newLockstep(4, 50)
		require.NoError(w, l.run(func(i int) error { return l.visit(w.Ctx, i, d) }))
		w.clean()
	})
}

func TestLockstepNoticesAnEarlyParty(t *testing.T) {
	l := newLockstep(3, 2)
	l.ready[1].Add(2)
	require.ErrorContains(t, l.passed(1, 0), "2 were ready")
	l.ready[1].Add(1)
	require.NoError(t, l.passed(1, 0))
}

// With delays of the links the parties are anything but in step.
func TestRoundsOverSlowLinks(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const n, rounds = 5, 30
		var clients []*session.Client
		for range n {
			clients = append(clients, w.Client())
		}
		for i := range n {
			w.slow(i+1, time.Duration(1+i*i)*time.Millisecond)
		}
		l := newLockstep(n, rounds)
		require.NoError(w, l.run(func(i int) error { return l.await(w.Ctx, i, barrier.New(clients[i], dir, n, nil)) }))
		l = newLockstep(n, rounds)
		require.NoError(w, l.run(func(i int) error {
			return l.visit(w.Ctx, i, barrier.NewDouble(clients[i], dir+"-double", n, nil))
		}))
		w.Server.Heal()
		world.Pause(time.Second)
		w.clean()
	})
}
