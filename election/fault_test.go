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

// Every operation under every fault at every one of its requests. The rows of
// the museum that are closed by this: a reply of a create that is lost (P1, CH3,
// CH22, PD3, PD4), of a delete (CH1, CH36, P6), a caller who gives up (CH4, CH5,
// CH22, P7), a session that ends on the way (CH7, CH8, CH28, CH34, P3), a
// connection that breaks while somebody waits (CH26, CH27).

// alone checks, while l leads, that nobody else can.
func alone(p *world.Party, l *election.Leadership, o *election.Options) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	second, err := election.New(p.Other, dir, o).Campaign(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil
	case err != nil:
		return err
	}
	defer second.Resign(context.Background())
	return p.Overlap(l.Context(), l.Guard(), l.Token(), second.Token())
}

// lead campaigns, leads for as long as hold, and resigns.
func lead(ctx context.Context, p *world.Party, o *election.Options, hold time.Duration) error {
	l, err := election.New(p.Tested, dir, o).Campaign(ctx)
	if err != nil {
		return err
	}
	world.Pause(hold)
	if err := alone(p, l, o); err != nil {
		return err
	}
	return l.Resign(ctx)
}

// nextLeads has the other client lead, as everybody sees.
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

func TestCampaignAndResignUnderEveryFault(t *testing.T) {
	for name, layout := range map[string]election.Layout{
		"LeaderLatch": election.LeaderLatch, "LeaderSelector": election.LeaderSelector, "Kazoo": election.Kazoo,
	} {
		o := &election.Options{Layout: layout}
		t.Run(name, func(t *testing.T) {
			world.Trial{
				Name: "Campaign, Resign", Paths: []string{dir}, Next: nextLeads,
				Op: func(ctx context.Context, p *world.Party) error { return lead(ctx, p, o, 0) },
			}.Run(t)
		})
	}
}

// The heartbeats are requests that can suffer as well.
func TestLongLeadershipUnderEveryFaultAtEveryHeartbeat(t *testing.T) {
	world.Trial{
		Name: "Campaign, lead, Resign", Paths: []string{dir}, Next: nextLeads,
		Op:     func(ctx context.Context, p *world.Party) error { return lead(ctx, p, nil, 4*time.Second) },
		Counts: func(r zktest.Request) bool { return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" },
	}.Run(t)
}

// TestWaitingCampaignUnderEveryFault has the leader resign meanwhile.
func TestWaitingCampaignUnderEveryFault(t *testing.T) {
	var first *election.Leadership
	world.Trial{
		Name: "Campaign that waits", Paths: []string{dir}, Next: nextLeads,
		Setup: func(_ *matrix.Env, p *world.Party) (err error) { first, err = other(p); return err },
		Op: func(ctx context.Context, p *world.Party) error {
			resigned := make(chan error, 1)
			// Waited for below; ends with the resignation.
			go func() {
				world.Pause(3 * time.Second)
				resigned <- first.Resign(context.Background())
			}()
			l, err := elector(p.Tested, "tested").Campaign(ctx)
			if err == nil && first.Context().Err() == nil {
				return world.ErrBroken
			}
			if e := <-resigned; e != nil {
				return fmt.Errorf("the first leader: %w", e)
			}
			if err != nil {
				return err
			}
			if l.Token() <= first.Token() || l.Term() <= first.Term() {
				return fmt.Errorf("token %d, term %d after %d, %d", l.Token(), l.Term(), first.Token(), first.Term())
			}
			if err := alone(p, l, nil); err != nil {
				return err
			}
			return l.Resign(ctx)
		},
	}.Run(t)
}

// TestCandidateBetweenTwoUnderEveryFault withdraws after it has waited in vain;
// who waits behind it must lead when the first resigns, not before.
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
				err := alone(p, l, nil)
				done = err == nil
				return err
			})
			if inside {
				return errors.New("Run has not waited for the work")
			}
			// Once the work has returned there is nothing to make good, and a resignation
			// that nobody has confirmed is said.
			if errors.Is(err, session.ErrLost) && ctx.Err() == nil && !done {
				return fmt.Errorf("Run ended by a loss, which it makes good: %w", errNoExcuse)
			}
			return err
		},
	}.Run(t)
}

var errNoExcuse = errors.New("no fault explains this") // read only

// TestReadsUnderEveryFault: nobody is told of a leader who is none.
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

// TestObserveUnderEveryFault: the observer sees nobody, the one who comes to lead,
// and nobody again, in this order; it may skip, but not the last.
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

// The trial itself must notice what it looks for.
func TestTrialNoticesOrphansAndTwoLeaders(t *testing.T) {
	leak := func(ctx context.Context, p *world.Party) error {
		_, err := elector(p.Tested, "tested").Stand(ctx)
		return err
	}
	// It believes to lead, but its node is gone and another's is there.
	two := func(ctx context.Context, p *world.Party) error {
		l, err := elector(p.Tested, "tested").Campaign(ctx)
		if err != nil {
			return err
		}
		s, err := p.Other.Session(ctx)
		if err == nil {
			err = s.Delete(ctx, l.Path(), -1)
		}
		if err == nil {
			_, err = s.Create(ctx, dir+"/x-latch-", nil, session.EphemeralSequential, nil)
		}
		if err != nil {
			return err
		}
		return p.Overlap(context.Background(), l.Guard(), l.Token(), l.Token()+1)
	}
	for name, tr := range map[string]world.Trial{
		"orphan": {Name: "orphan", Paths: []string{dir}, Op: leak},
		"next":   {Name: "blocked", Op: leak, Next: nextLeads},
		"broken": {Name: "broken", Op: two},
	} {
		t.Run(name, func(t *testing.T) {
			c := tr.Case()
			c.Faults = []matrix.Fault{} // no fault is needed
			if res := matrix.Explore(t, c); len(res.Failures) == 0 {
				t.Error("nothing was noticed")
			}
		})
	}
}
