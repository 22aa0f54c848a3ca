package rebalanser_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// All actions of a member under every fault at every request: the tested client
// joins, takes, coordinates, gives up and leaves, while a client without faults
// does the same. Closed by this: X2, X3, X6, X7, R31-R34, R46-R48.

// play is a case: its members, and the oracle.
type play struct {
	*oracle
	mode    rebalanser.Mode
	srv     *zktest.Server
	party   *world.Party
	running []*part
	sets    *sets // unless nil, checks the sets that members start
}

// part is a member of a play.
type part struct {
	*recorder
	group *rebalanser.Group
	stop  context.CancelFunc
	done  chan error
	slow  atomic.Int64 // how long Revoked takes
}

// trial is a case of the matrix. setup may be nil.
func trial(mode rebalanser.Mode, name string, setup, op func(ctx context.Context, p *play) error) world.Trial {
	return world.Trial{
		Name: name,
		// A server may not have confirmed a member's leave.
		Excuses: []error{session.ErrUnknownOutcome},
		Setup: func(e *matrix.Env, p *world.Party) error {
			ours := &play{oracle: newOracle(), mode: mode, srv: e.Server, party: p}
			p.State = ours
			e.Cleanup(func() {
				for _, m := range ours.running {
					_ = m.end()
				}
			})
			if p.Expires {
				ours.excuse("tested", 24*time.Hour)
			}
			if setup == nil {
				return nil
			}
			ctx := context.Background()
			return errors.Join(ours.stock(ctx), setup(ctx, ours))
		},
		Op: func(ctx context.Context, p *world.Party) error {
			ours := p.State.(*play)
			return errors.Join(op(ctx, ours), ours.err())
		},
		Next: func(ctx context.Context, p *world.Party) error { return p.State.(*play).next(ctx) },
	}
}

// stock makes the group, if missing, and four resources.
func (p *play) stock(ctx context.Context) error {
	a := p.admin(p.party.Other)
	if err := a.Create(ctx); err != nil {
		return err
	}
	_, err := a.AddResources(ctx, names(4)...)
	return err
}

func (p *play) admin(c *session.Client) *rebalanser.Admin {
	return rebalanser.Open(c, path, &rebalanser.Options{Mode: p.mode, ID: "admin"})
}

// join makes a client a member, until end. ctx bounds the membership, too.
func (p *play) join(ctx context.Context, memberID string, c *session.Client, o rebalanser.Options) *part {
	o.Mode, o.ID = p.mode, memberID
	ctx, stop := context.WithCancel(ctx)
	m := &part{recorder: &recorder{memberID: memberID, o: p.oracle, rs: map[string]*rebalanser.Resource{}}, stop: stop, done: make(chan error, 1)}
	m.group = rebalanser.New(c, path, m.recorder, &o)
	m.before = func(ctx context.Context, what string, _ []*rebalanser.Resource) error {
		if what[0] == '-' {
			world.SleepContext(ctx, time.Duration(m.slow.Load()))
		}
		return nil
	}
	if p.sets != nil && o.StartWhenComplete {
		p.sets.watch(m.recorder, func() *rebalanser.Group { return m.group })
	}
	p.running = append(p.running, m)
	// end waits for the goroutine; it ends with ctx.
	go func() { m.done <- m.group.Run(ctx) }()
	return m
}

// end makes a member leave; a second call returns the same result.
func (m *part) end() error {
	m.stop()
	err := <-m.done
	m.done <- err
	return err
}

// until waits until ok, within ctx, while no member has failed.
func (p *play) until(ctx context.Context, what string, ok func() bool) error {
	limit := time.After(10 * time.Minute)
	for !ok() {
		for _, m := range p.running {
			select {
			case err := <-m.done:
				m.done <- err
				if err != nil {
					return err
				}
			default:
			}
		}
		select {
		case <-ctx.Done():
			return nil // the caller has given up; next has its own limit
		case <-limit:
			return fmt.Errorf("still not: %s", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// owns reports whether a member owns n resources.
func (p *play) owns(memberID string, n int) func() bool {
	return func() bool { return len(p.of(memberID)) == n }
}

// next is the other client, which takes over everything and checks the remains.
func (p *play) next(ctx context.Context) error {
	for _, m := range p.running {
		if err := m.end(); err != nil && !errors.Is(err, session.ErrLost) && !errors.Is(err, session.ErrUnknownOutcome) && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	p.running = nil
	all, err := p.admin(p.party.Other).Resources(ctx)
	if err != nil {
		return err
	}
	if err := p.admin(p.party.Other).Resume(ctx); err != nil { // the group may still be paused
		return err
	}
	m := p.join(context.Background(), "next", p.party.Other, rebalanser.Options{})
	if err := p.until(ctx, "the next owns all", p.owns("next", len(all))); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the next owns %v of %v", p.of("next"), all)
	}
	if err := errors.Join(m.end(), p.err()); err != nil {
		return err
	}
	p.running = nil
	// Znodes of calls whose context has ended are deleted in the background.
	return p.until(ctx, "nothing is left behind", func() bool { return leftBehind(p.srv) == nil })
}

// everyFault runs trials in either mode.
func everyFault(t *testing.T, trials func(mode rebalanser.Mode) world.Trial) {
	t.Helper()
	for _, mode := range modes() {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			c := trials(mode).Case()
			if testing.Short() {
				c.Faults = []matrix.Fault{matrix.LostReply, matrix.ExpireAfter}
			}
			res := matrix.Run(t, c)
			require.Greater(t, res.Requests, 12)
			t.Logf("%d requests, %d cases", res.Requests, res.Cases)
		})
	}
}

func TestFollowerUnderEveryFault_R31_R32_R33_R48(t *testing.T) {
	everyFault(t, func(mode rebalanser.Mode) world.Trial {
		return trial(mode, "join others, take over, leave", func(ctx context.Context, p *play) error {
			p.join(ctx, "other", p.party.Other, rebalanser.Options{})
			return p.until(ctx, "the other owns all", p.owns("other", 4))
		}, func(ctx context.Context, p *play) error {
			m := p.join(ctx, "tested", p.party.Tested, rebalanser.Options{})
			err := p.until(ctx, "it has its share", func() bool { return p.owns("tested", 2)() && p.owns("other", 2)() })
			return errors.Join(err, m.end(), p.until(context.Background(), "the other owns all again", p.owns("other", 4)))
		})
	})
}

func TestCoordinatorUnderEveryFault_R34_R46_X6_X7(t *testing.T) {
	everyFault(t, func(mode rebalanser.Mode) world.Trial {
		return trial(mode, "make the group, coordinate, give up, take back", nil, func(ctx context.Context, p *play) error {
			m := p.join(ctx, "tested", p.party.Tested, rebalanser.Options{})
			err := p.until(ctx, "it is a member", func() bool { return m.group.State().Coordinator })
			err = errors.Join(err, p.stock(context.Background()), p.until(ctx, "it owns all", p.owns("tested", 4)))
			other := p.join(context.Background(), "other", p.party.Other, rebalanser.Options{})
			err = errors.Join(err, p.until(ctx, "each has a share", func() bool { return p.owns("tested", 2)() && p.owns("other", 2)() }))
			err = errors.Join(err, other.end(), p.until(ctx, "it owns all again", p.owns("tested", 4)))
			return errors.Join(err, m.end())
		})
	})
}

func TestStaticMemberUnderEveryFault(t *testing.T) {
	everyFault(t, func(mode rebalanser.Mode) world.Trial {
		static := rebalanser.Options{Instance: "static-1", DepartureDelay: time.Second}
		return trial(mode, "join as an instance, take over, leave", func(ctx context.Context, p *play) error {
			p.join(ctx, "other", p.party.Other, rebalanser.Options{DepartureDelay: time.Second})
			return p.until(ctx, "the other owns all", p.owns("other", 4))
		}, func(ctx context.Context, p *play) error {
			m := p.join(ctx, "tested", p.party.Tested, static)
			err := p.until(ctx, "it has its share", func() bool { return p.owns("tested", 2)() && p.owns("other", 2)() })
			return errors.Join(err, m.end(), p.until(context.Background(), "the other owns all again", p.owns("other", 4)))
		})
	})
}

func TestAdministrationUnderEveryFault(t *testing.T) {
	everyFault(t, func(mode rebalanser.Mode) world.Trial {
		return trial(mode, "add, remove, pause, resume, look", func(ctx context.Context, p *play) error {
			p.join(ctx, "other", p.party.Other, rebalanser.Options{})
			return p.until(ctx, "the other owns all", p.owns("other", 4))
		}, func(ctx context.Context, p *play) error {
			a := p.admin(p.party.Tested)
			if err := a.Create(ctx); err != nil {
				return err
			}
			if err := a.Pause(ctx); err != nil {
				return err
			}
			if added, err := a.AddResources(ctx, "new1", "r00", "new2"); err != nil || !slices.Equal(added, []string{"new1", "new2"}) {
				return errors.Join(err, fmt.Errorf("added %v", added))
			}
			if removed, err := a.RemoveResources(ctx, "new1", "none", "r01"); err != nil || !slices.Equal(removed, []string{"new1", "r01"}) {
				return errors.Join(err, fmt.Errorf("removed %v", removed))
			}
			if err := a.Resume(ctx); err != nil {
				return err
			}
			if err := p.until(ctx, "the other owns what there is", p.owns("other", 4)); err != nil {
				return err
			}
			st, err := a.Status(ctx)
			if err == nil && (st.Resources != 4 || len(st.Members) != 1) {
				err = fmt.Errorf("it says: %+v", st)
			}
			return err
		})
	})
}
