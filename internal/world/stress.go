package world

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// Stress is the common part of the stress tests of everything that can be held:
// workers of several clients that take, use and give back, and their observations.
type Stress struct {
	Clients []*session.Client
	// MaxHold bounds the use of a hold, and the patience of the workers.
	MaxHold time.Duration
	// Real says that time is real: a stalled process sees late what it was granted,
	// and what it has lost.
	Real bool
	// Excused are errors that an attempt may have, besides a loss.
	Excused []error
	History
}

// Holding is a hold that knows its session.
type Holding interface {
	session.Held
	Session() *session.Session
}

// Stress has the clients and the hold times of the schedule.
func (u *FaultSchedule) Stress(excused ...error) *Stress {
	return &Stress{Clients: u.Clients, MaxHold: u.MaxHold, Excused: excused}
}

// Within is a random part of MaxHold, times n.
func (s *Stress) Within(r *rand.Rand, n int) time.Duration {
	return time.Duration(r.Int64N(int64(s.MaxHold) * int64(n)))
}

// Attempt takes a hold with a random patience of up to 12 times MaxHold. A worker
// whose attempt fails rests for a while; a failure without an excuse is recorded.
func (s *Stress) Attempt(ctx context.Context, r *rand.Rand, take func(context.Context) error) bool {
	wait, cancel := context.WithTimeout(ctx, s.Within(r, 12))
	defer cancel()
	err := take(wait)
	if err == nil {
		return true
	}
	s.Excuse(wait, err)
	SleepContext(ctx, time.Duration(r.Int64N(int64(s.MaxHold/8+1))))
	return false
}

// Excuse requires a reason for an attempt that failed.
func (s *Stress) Excuse(ctx context.Context, err error) {
	is := func(target error) bool { return errors.Is(err, target) }
	if ctx.Err() == nil && !is(session.ErrLost) && !slices.ContainsFunc(s.Excused, is) {
		s.Fail(fmt.Errorf("attempt: %w", err))
	}
}

// Use uses a hold of ctx for a random time, and returns the last moment after from at
// which it was surely held.
func (s *Stress) Use(ctx context.Context, from time.Time, r *rand.Rand) time.Time {
	long := s.Within(r, 1)
	if r.IntN(2) == 0 {
		long /= 50
	}
	if s.Real {
		return LastSeen(ctx, from, long)
	}
	SleepContext(ctx, long)
	return time.Now()
}

// GiveBack gives a hold back, with a random patience. lost is the cause of a loss
// that was known before.
func (s *Stress) GiveBack(ctx context.Context, r *rand.Rand, lost error, release func(context.Context) error) {
	over, cancel := context.WithTimeout(ctx, s.Within(r, 1))
	defer cancel()
	err := release(over)
	switch isLoss := errors.Is(err, session.ErrLost); {
	case lost != nil && !isLoss:
		s.Fail(fmt.Errorf("lost (%w), but the release says %w", lost, err))
	case err != nil && !isLoss && over.Err() == nil:
		s.Fail(fmt.Errorf("release: %w", err))
	}
}

// WriteLate writes as a client that has not noticed its loss: the guard must refuse the
// write once the next holder may have written.
func (s *Stress) WriteLate(ctx context.Context, client int, h session.Held) {
	late, cancel := context.WithTimeout(ctx, s.MaxHold)
	defer cancel()
	if next, err := s.Clients[client].Session(late); err == nil {
		s.Write(late, next, h.Guard(), h.Token())
	}
}

// Judged are the holds to check: in real time those that lasted after their grant.
func (s *Stress) Judged() []Hold {
	if s.Real {
		return Lasting(s.Holds())
	}
	return s.Holds()
}

// Cycle takes a hold and gives it back.
func Cycle[H session.Held](ctx context.Context, take func(context.Context) (H, error)) error {
	h, err := take(ctx)
	if err != nil {
		return err
	}
	return h.Release(ctx)
}

// NothingLeft requires that no znode is left in the folders, and no watch.
func (w *World) NothingLeft(folders ...string) error {
	for _, folder := range folders {
		if names := w.Children(folder); len(names) > 0 {
			return fmt.Errorf("orphans in %s: %q", folder, names)
		}
	}
	return w.NoWatches()
}

// NoWatches requires that no watch is left.
func (w *World) NoWatches() error {
	if n := w.Server.Stats().Watches; n > 0 && Has(RemovesWatches) {
		return fmt.Errorf("%d watches left: %v", n, w.Server.Watches())
	}
	return nil
}

// RealStress is a stress test in real time, on a server that is killed, paused and
// restarted.
type RealStress struct {
	Cluster *apache.Cluster
	// Admin is a session that outlasts the faults.
	Admin *session.Session

	t testing.TB
}

// NewRealStress starts a server, connects four clients of short sessions for s, and
// creates Guarded.
func NewRealStress(t testing.TB, s *Stress) *RealStress {
	t.Helper()
	b := &RealStress{Cluster: apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96}), t: t}
	s.Real, s.MaxHold = true, 300*time.Millisecond
	for range 4 {
		s.Clients = append(s.Clients, Connect(t, b.Cluster.Connect(), session.Options{Timeout: 2 * time.Second}))
	}
	var err error
	b.Admin, err = Connect(t, b.Cluster.Connect(), session.Options{Timeout: 30 * time.Second}).Session(t.Context())
	require.NoError(t, err)
	require.NoError(t, b.Admin.EnsurePath(t.Context(), Guarded, session.Persistent, nil))
	return b
}

// Run runs the workers while the server breaks, until done has grown after each of the
// faults. A run with -short has one fault.
func (b *RealStress) Run(seed uint64, faults int, done func() int, workers ...func(context.Context)) {
	b.t.Helper()
	if testing.Short() { // under the race detector, after a run in full
		faults = 1
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	var all sync.WaitGroup
	for _, work := range workers {
		// Waited for below; ends with ctx.
		all.Go(func() { work(ctx) })
	}
	BreakServers(b.t, b.Cluster, rand.New(rand.NewPCG(seed, 3)), faults, done)
	cancel()
	all.Wait()
}

// EachTakes requires that every call of take succeeds, after losses of sessions too, and
// that no znode is left in the folders.
func (b *RealStress) EachTakes(n int, take func(ctx context.Context, i int) error, folders ...string) {
	b.t.Helper()
	over, stop := context.WithTimeout(b.t.Context(), 2*Patience)
	defer stop()
	for i := range n {
		require.NoError(b.t, RetryLost(over, func() error { return take(over, i) }))
	}
	for _, folder := range folders {
		require.Eventually(b.t, func() bool {
			names, _, err := b.Admin.Children(b.t.Context(), folder)
			return err == nil && len(names) == 0 || errors.Is(err, session.ErrNoNode)
		}, Patience, 50*time.Millisecond, "orphans in %s", folder)
	}
}
