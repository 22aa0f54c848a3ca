package election_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Operations that only this recipe has under every fault at every one of their requests.

// alone checks, while l leads, that no other candidate can.
func alone(p *world.Party, l *election.Leadership) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	second, err := election.New(p.Other, dir, nil).Campaign(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil
	case err != nil:
		return err
	}
	defer second.Resign(context.Background())
	return p.Overlap(l.Context(), l.Guard(), l.Token(), second.Token())
}

// nextLeads lets the other client lead, and requires that a read shows it as
// the leader.
func nextLeads(ctx context.Context, p *world.Party) error {
	e := elector(p.Other, "next")
	l, err := e.Campaign(ctx)
	if err != nil {
		return err
	}
	if seen, err := e.Leader(ctx); err != nil || seen.Token != l.Token() {
		return fmt.Errorf("%d leads, seen is %d (%w)", l.Token(), seen.Token, err)
	}
	return l.Resign(ctx)
}

// other is a leadership of the client that suffers no faults.
func other(p *world.Party) (*election.Leadership, error) {
	return elector(p.Other, "other").Campaign(context.Background())
}

// TestCandidateBetweenTwoUnderEveryFault withdraws a candidate after a wait in
// vain; the candidate behind it must lead when the first resigns, not before.
func TestCandidateBetweenTwoUnderEveryFault(t *testing.T) {
	var first *election.Leadership
	world.Trial{
		Name: "Stand, Await twice, Withdraw", Paths: []string{dir}, Next: nextLeads,
		Excuses: []error{context.DeadlineExceeded},
		Setup:   func(_ *matrix.Env, p *world.Party) (err error) { first, err = other(p); return err },
		Op: func(ctx context.Context, p *world.Party) error {
			last := make(chan error, 1)
			// Waited for below; ends when it has led.
			go func() {
				world.Pause(time.Second) // behind the one under test
				l, err := elector(p.Other, "last").Campaign(context.Background())
				if err == nil && first.Context().Err() == nil {
					err = world.ErrBroken
				}
				if err == nil {
					err = l.Resign(context.Background())
				}
				last <- err
			}()
			err := inVain(ctx, p)
			world.Pause(time.Second)
			if e := first.Resign(context.Background()); e != nil {
				return fmt.Errorf("the first leader: %w", e)
			}
			if e := <-last; e != nil {
				return fmt.Errorf("the last in the queue: %w", e)
			}
			return err
		},
	}.RunUntilDeadline(t)
}

// inVain stands, awaits its turn twice, and withdraws.
func inVain(ctx context.Context, p *world.Party) error {
	k, err := elector(p.Tested, "tested").Stand(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for range 2 {
		short, cancel := context.WithTimeout(ctx, time.Second)
		_, err := k.Await(short)
		cancel()
		errs = append(errs, err)
		if err == nil {
			return errors.Join(k.Withdraw(ctx), errors.New("it leads"))
		}
	}
	if err := k.Withdraw(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, session.ErrLost) {
		return err
	}
	return errors.Join(errs...)
}

// TestRunUnderEveryFault: the work is done once under an intact leadership, by
// Run's own word, whatever happens on the way.
func TestRunUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Run", Paths: []string{dir}, Next: nextLeads,
		Counts: func(r zktest.Request) bool { return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" },
		Op: func(ctx context.Context, p *world.Party) error {
			inside, done, last := false, false, int64(0)
			err := elector(p.Tested, "tested").Run(ctx, func(ctx context.Context, l *election.Leadership) error {
				if inside || l.Token() <= last {
					return world.ErrBroken
				}
				inside, last = true, l.Token()
				defer func() { inside = false }()
				world.SleepContext(ctx, 2*time.Second)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				err := alone(p, l)
				done = err == nil
				return err
			})
			if inside {
				return errors.New("Run has not waited for the work")
			}
			// Once the work has returned, a loss needs no recovery, and an unconfirmed
			// resignation is reported.
			if errors.Is(err, session.ErrLost) && ctx.Err() == nil && !done {
				return fmt.Errorf("Run ended by a loss, which it makes good: %w", errNoExcuse)
			}
			return err
		},
	}.Run(t)
}

var errNoExcuse = errors.New("no fault explains this") // read only

// TestReadsUnderEveryFault: no read returns a leader that does not lead.
func TestReadsUnderEveryFault(t *testing.T) {
	var first *election.Leadership
	world.Trial{
		Name: "Leader, Candidates", Paths: []string{dir}, Next: nextLeads,
		Setup: func(_ *matrix.Env, p *world.Party) (err error) { first, err = other(p); return err },
		Op: func(ctx context.Context, p *world.Party) error {
			defer first.Resign(context.Background())
			e := elector(p.Tested, "tested")
			leader, err := e.Leader(ctx)
			if err != nil {
				return err
			}
			list, err := e.Candidates(ctx)
			if err != nil {
				return err
			}
			if leader.Token != first.Token() || len(list) != 1 || list[0].Token != first.Token() {
				return fmt.Errorf("%w: %+v, %+v", errNoExcuse, leader, list)
			}
			return nil
		},
	}.Run(t)
}

// TestObserveUnderEveryFault: the observer sees no leader, the new leader, and no
// leader again, in this order; it may skip states, but not the last.
func TestObserveUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Observe", Paths: []string{dir}, Next: nextLeads,
		Op: func(ctx context.Context, p *world.Party) error {
			led := make(chan error, 1)
			// Waited for below; ends with the resignation.
			go func() {
				world.Pause(2 * time.Second)
				l, err := other(p)
				if err == nil {
					world.Pause(30 * time.Second)
					err = l.Resign(context.Background())
				}
				led <- err
			}()
			var seen []string
			var last error
			for state, err := range elector(p.Tested, "").Observe(ctx) {
				if last = err; err != nil {
					break
				}
				id := "-"
				if state.Leader != nil {
					id = state.Leader.ID
				}
				if seen = append(seen, id); len(seen) > 1 && id == "-" {
					break
				}
			}
			if err := <-led; err != nil {
				return fmt.Errorf("the leader: %w", err)
			}
			if last != nil {
				return last
			}
			switch fmt.Sprint(seen) {
			case "[- other -]", "[other -]": // the first read may have been late
				return nil
			}
			return fmt.Errorf("%w: saw %q", errNoExcuse, seen)
		},
	}.Run(t)
}
