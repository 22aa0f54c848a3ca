package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Every operation under every fault at every request, between a party with
// faults and a party without. CL5 is a lost reply to the creation.

var errAlone = errors.New("one passed without the other")

// beside starts b.Await for a party without faults; stop ends the call.
func beside(b *barrier.Barrier, after time.Duration) (out chan passed, stop context.CancelFunc) {
	ctx, stop := context.WithCancel(context.Background())
	out = make(chan passed, 1)
	// Waited for by judge; ends with stop.
	go func() {
		world.Pause(after)
		round, err := b.Await(ctx)
		out <- passed{round, err}
	}()
	return out, stop
}

// judge compares the outcomes of the two parties of a barrier of two.
func judge(mine passed, other chan passed, stop context.CancelFunc) error {
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	var theirs passed
	select {
	case theirs = <-other:
	case <-limit.C:
		stop()
		theirs = <-other
	}
	stop()
	counted := mine.err == nil || errors.Is(mine.err, session.ErrUnknownOutcome)
	switch {
	case theirs.err == nil && !counted:
		return fmt.Errorf("%w: it should not count (%w)", errAlone, mine.err)
	case mine.err == nil && theirs.err != nil:
		return fmt.Errorf("%w: the other says %w", errAlone, theirs.err)
	case mine.err == nil && mine.round != theirs.round:
		return fmt.Errorf("%w: rounds %d and %d", errAlone, mine.round, theirs.round)
	case theirs.err != nil && !errors.Is(theirs.err, context.Canceled):
		return fmt.Errorf("the other: %w", theirs.err)
	}
	return mine.err
}

// nextRound wants both clients to meet once more.
func nextRound(ctx context.Context, p *world.Party) error {
	other, stop := beside(barrier.New(p.Other, dir, 2, nil), 0)
	round, err := barrier.New(p.Tested, dir, 2, nil).Await(ctx)
	return judge(passed{round, err}, other, stop)
}

// all also counts background requests: heartbeats, removals of watches.
func all(r zktest.Request) bool {
	return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession"
}

func TestAwaitUnderEveryFault_CL5(t *testing.T) {
	for name, after := range map[string]time.Duration{"waits": 3 * time.Second, "waits for long": 20 * time.Second, "comes last": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := world.Trial{
				Name: "Await that " + name, Paths: []string{dir}, Next: nextRound,
				Setup: func(_ *matrix.Env, p *world.Party) error {
					// not the first round
					return nextRound(context.Background(), p)
				},
				Op: func(ctx context.Context, p *world.Party) error {
					other, stop := beside(barrier.New(p.Other, dir, 2, nil), after)
					if after == 0 {
						world.Pause(time.Second)
					}
					round, err := barrier.New(p.Tested, dir, 2, nil).Await(ctx)
					return judge(passed{round, err}, other, stop)
				},
			}
			tr.Run(t)
			twice := tr.Case() // the answer to the search is lost, too
			twice.Faults = []matrix.Fault{}
			twice.Pairs = world.Pairs(matrix.LostReply, matrix.LostRequest, matrix.SilentReply)
			if twice.Pairs == nil {
				return
			}
			if res := matrix.Run(t, twice); res.Cases == 0 {
				t.Error("nothing was tried twice")
			}
		})
	}
}

// The first to come makes the path and its record.
func TestFirstAwaitUnderEveryFault(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "first Await", Paths: []string{dir}, Next: nextRound,
		Op: func(ctx context.Context, p *world.Party) error {
			other, stop := beside(barrier.New(p.Other, dir, 2, nil), time.Second)
			round, err := barrier.New(p.Tested, dir, 2, nil).Await(ctx)
			return judge(passed{round, err}, other, stop)
		},
	}.Run(t)
}

// CL6: a party that gave up is not counted, under any fault of its deletion.
func TestAwaitThatGivesUpUnderEveryFault_CL6(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "Await that gives up", Paths: []string{dir}, Next: nextRound, Counts: all,
		Op: func(ctx context.Context, p *world.Party) error {
			short, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			round, err := barrier.New(p.Tested, dir, 2, nil).Await(short)
			if err == nil {
				return errAlone
			}
			other, stop := beside(barrier.New(p.Other, dir, 2, nil), 0)
			return judge(passed{round, err}, other, stop)
		},
	}.RunUntilDeadline(t)
}

// enterAndLeave enters and leaves once, and checks that the other party is
// inside as well.
func enterAndLeave(ctx context.Context, d *barrier.Double, stay time.Duration) (round int64, left time.Time, err error) {
	seat, err := d.Enter(ctx)
	if err != nil {
		return 0, time.Time{}, err
	}
	world.Pause(stay)
	err = seat.Leave(ctx)
	return seat.Round(), time.Now(), err
}

// nextVisit wants both clients to enter and leave once more.
func nextVisit(ctx context.Context, p *world.Party) error {
	other := make(chan error, 1)
	// Waited for below; ends with ctx at the latest.
	go func() {
		_, _, err := enterAndLeave(ctx, barrier.NewDouble(p.Other, dir, 2, nil), 0)
		other <- err
	}()
	_, _, err := enterAndLeave(ctx, barrier.NewDouble(p.Tested, dir, 2, nil), 0)
	return errors.Join(err, <-other)
}

// doubleTrial lets the other party arrive after some time and stay for some
// time, repeatedly until the party under test has entered and left.
func doubleTrial(name string, after, stay time.Duration) world.Trial {
	return world.Trial{
		Name: name, Paths: []string{dir}, Next: nextVisit, Counts: all,
		Setup: func(_ *matrix.Env, p *world.Party) error { return nextVisit(context.Background(), p) },
		Op: func(ctx context.Context, p *world.Party) error {
			life, stop := context.WithCancel(context.Background())
			defer stop()
			left := map[int64]time.Time{} // when the other party left which round
			other := make(chan error, 1)
			// Waited for below; ends with stop.
			go func() {
				world.Pause(after)
				d := barrier.NewDouble(p.Other, dir, 2, nil)
				for {
					seat, err := d.Enter(life)
					if err != nil {
						other <- err
						return
					}
					world.Pause(stay)
					left[seat.Round()] = time.Now()
					if err := seat.Leave(life); err != nil {
						other <- err
						return
					}
				}
			}()
			if after == 0 {
				world.Pause(time.Second)
			}
			round, out, err := enterAndLeave(ctx, barrier.NewDouble(p.Tested, dir, 2, nil), 3*time.Second)
			world.Pause(time.Second)
			stop()
			if e := <-other; !errors.Is(e, context.Canceled) {
				return fmt.Errorf("the other: %w", e)
			}
			if at, ok := left[round]; err == nil && (!ok || out.Before(at)) {
				return fmt.Errorf("%w: out of round %d at %v, the other at %v", errAlone, round, out, left)
			}
			return err
		},
	}
}

func TestEnterAndLeaveUnderEveryFault_CL5(t *testing.T) {
	t.Parallel()
	doubleTrial("Enter, Leave, waiting for the other", 2*time.Second, 6*time.Second).Run(t)
}

func TestEnterAndLeaveLastUnderEveryFault(t *testing.T) {
	t.Parallel()
	doubleTrial("Enter, Leave, the other waiting", 0, 0).Run(t)
}

// CL6, CL8: an abandoned Enter does not count.
func TestEnterThatGivesUpUnderEveryFault_CL6(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "Enter that gives up", Paths: []string{dir}, Next: nextVisit, Counts: all,
		Op: func(ctx context.Context, p *world.Party) error {
			short, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			_, err := barrier.NewDouble(p.Tested, dir, 2, nil).Enter(short)
			if err == nil {
				return errAlone
			}
			world.Pause(30 * time.Second) // for the deletion, or the session's end
			late, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			if _, e := barrier.NewDouble(p.Other, dir, 2, nil).Enter(late); !errors.Is(e, context.DeadlineExceeded) {
				return fmt.Errorf("%w: the other says %w", errAlone, e)
			}
			return err
		},
	}.RunUntilDeadline(t)
}

func TestTrialsNoticeAPartyThatPassesAlone(t *testing.T) {
	other := make(chan passed, 1)
	for want, c := range map[error][2]passed{
		nil:      {{round: 2}, {round: 2}},
		errAlone: {{round: 2}, {round: 3}},
	} {
		other <- c[1]
		if err := judge(c[0], other, func() {}); !errors.Is(err, want) {
			t.Errorf("%v: %v", c, err)
		}
	}
	for _, c := range [][2]passed{
		{{err: context.Canceled}, {round: 1}},
		{{round: 1}, {err: context.Canceled}},
	} {
		other <- c[1]
		if err := judge(c[0], other, func() {}); !errors.Is(err, errAlone) {
			t.Errorf("%v: %v", c, err)
		}
	}
	other <- passed{round: 1}
	unknown := &session.UnknownOutcomeError{Reason: context.Canceled}
	if err := judge(passed{err: unknown}, other, func() {}); errors.Is(err, errAlone) {
		t.Error(err)
	}
}
