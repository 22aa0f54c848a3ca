package election_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// proclaimed is where the values of the election on dir are.
const proclaimed = dir + ".proclaimed"

// values returns the leaders and values seen since the last call: "a=1" for the value 1 of the
// leader a, "a" without a value, "-" without a leader.
func (v *view) values() []string {
	out := []string{}
	for {
		select {
		case s := <-v.states:
			out = append(out, valueOf(s.Leader))
		default:
			return out
		}
	}
}

// valuesAfter are the values after the end of a leadership, which deletes its value beside its
// place: there may be a moment with the former leader, without the value.
func (v *view) valuesAfter(former string) []string {
	return slices.DeleteFunc(v.values(), func(s string) bool { return s == former })
}

func valueOf(c *election.Candidate) string {
	switch {
	case c == nil:
		return "-"
	case c.Value == nil:
		return c.ID
	}
	return c.ID + "=" + string(c.Value)
}

func (w *World) proclaim(l *election.Leadership, value string) {
	w.Helper()
	require.NoError(w, l.Proclaim(w.Ctx, []byte(value)))
}

func TestValueIsSeenWithItsLeaderAndGoesWithIt(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := elector(w.Client(), "a"), elector(w.Client(), "b")
		l := w.campaign(a)
		next := w.startWin(w.Ctx, b.Campaign)
		v := w.observe(w.Ctx, elector(w.Client(), ""))
		w.proclaim(l, "1")
		w.Settle()
		w.proclaim(l, "1") // no change
		w.Settle()
		w.proclaim(l, "2")
		w.Settle()
		require.Equal(w, []string{"a", "a=1", "a=2"}, v.values())
		leader, err := b.Leader(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, "a=2", valueOf(&leader))
		all, err := b.Candidates(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, "a=2", valueOf(&all[0]))
		require.Equal(w, "b", valueOf(&all[1]))
		require.Equal(w, "a", l.ID(), "the candidate's own data stay")
		w.resign(l)
		now := w.leads(next)
		w.Settle()
		require.Empty(w, w.Children(proclaimed))
		w.proclaim(now, "")
		w.Settle()
		require.Equal(w, []string{"b", "b="}, v.valuesAfter("a"), "an empty value is a value")
		leader, err = a.Leader(w.Ctx)
		require.NoError(w, err)
		require.NotNil(w, leader.Value)
		w.resign(now)
		w.Pass(5 * time.Minute)
		if world.Has(world.Containers) {
			require.Len(w, w.Server.Dump(), 2, "servers have removed both folders: the root and the parent remain")
		}
		require.Equal(w, []string{"-"}, v.valuesAfter("b"))
	})
}

func TestProclaimIsRefusedOnceTheLeadershipHasEnded(t *testing.T) {
	for name, end := range map[string]func(w *World, l *election.Leadership){
		"its znode is deleted": func(w *World, l *election.Leadership) { require.NoError(w, w.Server.Delete(l.Path())) },
		"its session expires":  func(w *World, l *election.Leadership) { require.NoError(w, w.Server.ExpireSession(l.Session().ID())) },
	} {
		for _, before := range []int{0, 1} {
			inWorld(t, nil, func(w *World) {
				l := w.campaign(elector(w.Client(), "a"))
				for range before {
					w.proclaim(l, "before")
				}
				// The end comes after the write is sent, before the server sees it.
				w.Once(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }, func() { end(w, l) })
				err := l.Proclaim(w.Ctx, []byte("late"))
				require.ErrorIs(w, err, session.ErrLost, "%s: %v", name, err)
				require.Contains(w, err.Error(), "election: proclaim "+dir)
				require.ErrorIs(w, l.Proclaim(w.Ctx, []byte("later")), session.ErrLost)
				require.ErrorIs(w, l.Resign(w.Ctx), session.ErrLost)
				require.Error(w, l.Proclaim(w.Ctx, nil))
				w.Pass(time.Minute)
				require.Empty(w, w.Children(proclaimed), "%s: nothing is written, and the value of before goes", name)
			})
		}
	}
}

func TestDeposedLeaderProclaimsNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l, other := w.campaign(elector(w.Client(), "a")), elector(w.Client(), "b")
		w.proclaim(l, "before")
		all, err := other.Candidates(w.Ctx)
		require.NoError(w, err)
		require.NoError(w, other.Depose(w.Ctx, all[0], "", "test"))
		next := w.campaign(other)
		require.ErrorIs(w, l.Proclaim(w.Ctx, []byte("late")), session.ErrLost)
		leader, err := other.Leader(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, "b", valueOf(&leader))
		w.Pass(time.Minute)
		require.Empty(w, w.Children(proclaimed), "also if the leader has not resigned")
		require.ErrorIs(w, l.Resign(w.Ctx), session.ErrLost)
		w.resign(next)
	})
}

func TestProclaimAfterResignIsAnErrorThatSendsNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		l := w.campaign(elector(c, "a"))
		w.proclaim(l, "1")
		w.resign(l)
		w.Settle()
		before := w.Requests(c)
		require.ErrorIs(w, l.Proclaim(w.Ctx, []byte("2")), election.ErrNotLeader)
		over, cancel := context.WithCancel(w.Ctx)
		cancel()
		require.ErrorIs(w, l.Proclaim(over, []byte("2")), context.Canceled)
		require.Equal(w, before, w.Requests(c))
		require.ErrorIs(w, (*election.Leadership)(nil).Proclaim(w.Ctx, nil), election.ErrInvalidArgument)
	})
}

func TestProclaimTakesOneRequest(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, other := w.Client(), w.Client()
		l := w.campaign(elector(c, "a"))
		counts, _ := w.cost(c, func() { w.proclaim(l, "1") })
		require.Equal(w, world.Requests(map[string]int{"multi": 2, "createContainer": 1}), counts, "the folder is created")
		v := w.observe(w.Ctx, elector(other, ""))
		w.ResetStats()
		counts, trips := w.cost(c, func() { w.proclaim(l, "2") })
		require.Equal(w, map[string]int{"multi": 1}, counts)
		require.Equal(w, 1, trips)
		w.Settle()
		w.ResetStats()
		w.proclaim(l, "3")
		w.Settle()
		require.Equal(w, map[string]int{"getChildren2": 1, "getData": 2, "exists": 1}, w.Server.Stats().BySession[w.ID(other)])
		require.Equal(w, []string{"a=1", "a=2", "a=3"}, v.values())
		w.resign(l)
		l = w.campaign(elector(c, "a"))
		counts, _ = w.cost(c, func() { w.proclaim(l, "1") })
		require.Equal(w, map[string]int{"multi": 1}, counts, "the folder exists")
		w.resign(l)
	})
}

func TestValueThatIsTooLargeIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "a"))
		w.proclaim(l, strings.Repeat("x", 1<<20-1-500))
		require.ErrorIs(w, l.Proclaim(w.Ctx, make([]byte, 1<<20)), session.ErrTooLarge)
		require.NoError(w, l.Context().Err())
		w.proclaim(l, "short")
		w.resign(l)
	})
}

// A znode that an operator deletes or overwrites is written again.
func TestProclaimGoesOnAfterAnOperatorHasChangedTheZnodes(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := elector(w.Client(), "a")
		l := w.campaign(e)
		w.proclaim(l, "1")
		path := proclaimed + "/" + w.Children(proclaimed)[0]
		for i, change := range []func() error{
			func() error { return w.Server.Delete(path) }, func() error { return w.Server.Set(path, []byte("garbage")) },
			func() error { return w.Server.DeleteAll(proclaimed) }, func() error { return nil },
		} {
			require.NoError(w, change())
			want := fmt.Sprint("value ", i)
			w.proclaim(l, want)
			leader, err := e.Leader(w.Ctx)
			require.NoError(w, err)
			require.Equal(w, "a="+want, valueOf(&leader))
		}
		w.resign(l)
	})
}

// A write whose caller gives up, and which the server carries out late, never replaces the
// value of a later call, also if that is equal to the value of the call before.
func TestLateWriteNeverReplacesALaterValue(t *testing.T) {
	for _, last := range []string{"first", "last"} {
		for _, do := range []zktest.Fault{zktest.DropReplyCut, zktest.DropReplyHole, zktest.DelayReply, zktest.DropRequest} {
			if do != zktest.DelayReply && !world.Has(world.Resumes) {
				continue // the leadership is lost
			}
			inWorld(t, nil, func(w *World) {
				e := elector(w.Client(), "a")
				l := w.campaign(e)
				w.proclaim(l, "first")
				w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }, 1, zktest.Action{Do: do, For: 300 * time.Millisecond})
				err := l.Proclaim(w.Within(100*time.Millisecond), []byte("late"))
				if err != nil {
					require.ErrorIs(w, err, session.ErrUnknownOutcome, "%v", err)
				}
				w.proclaim(l, last)
				w.Pass(time.Minute)
				leader, err := e.Leader(w.Ctx)
				require.NoError(w, err)
				require.Equal(w, "a="+last, valueOf(&leader), "after %v", do)
				w.resign(l)
			})
		}
	}
}

// Calls of several goroutines take turns.
func TestCallsOfProclaimTakeTurns(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "a"))
		errs := make(chan error)
		for i := range 10 {
			// Waited for below; ends with its call.
			go func() { errs <- l.Proclaim(w.Ctx, fmt.Append(nil, i)) }()
		}
		for range 10 {
			require.NoError(w, <-errs)
		}
		node, err := w.Server.Get(proclaimed + "/" + w.Children(proclaimed)[0])
		require.NoError(w, err)
		require.EqualValues(w, 9, node.Version, "ten writes, one after the other")
		w.resign(l)
	})
}

// TestProclaimUnderEveryFault: each value is written once, or the error says that it may not be,
// and none stays behind.
func TestProclaimUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Proclaim", Paths: []string{dir, proclaimed}, Next: nextLeads,
		Setup: func(_ *matrix.Env, p *world.Party) (err error) {
			p.State, err = elector(p.Tested, "tested").Campaign(context.Background())
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			l := p.State.(*election.Leadership)
			err := errors.Join(l.Proclaim(ctx, []byte("1")), l.Proclaim(ctx, []byte("2")))
			wrong := checkProclaimed(p, l, err)
			// Behind a fault, the next call sets the matter right.
			if again := l.Proclaim(context.Background(), []byte("3")); again == nil {
				wrong = errors.Join(wrong, checkValue(p, l, 4, "3"))
			} else if !errors.Is(again, session.ErrLost) {
				wrong = errors.Join(wrong, again)
			}
			_ = l.Resign(context.Background()) // may report the loss
			if wrong != nil {
				return fmt.Errorf("%w: %w", errNoExcuse, wrong)
			}
			return err
		},
	}.Run(t)
}

// checkProclaimed checks the value after two calls with the result said.
func checkProclaimed(p *world.Party, l *election.Leadership, said error) error {
	if said != nil {
		return nil //nolint:nilerr // the fault explains it
	}
	return checkValue(p, l, 2, "2")
}

// checkValue requires that l, unless it was lost, has the value, after at most that many writes.
func checkValue(p *world.Party, l *election.Leadership, writes int32, value string) error {
	ctx := context.Background()
	leader, err := elector(p.Other, "").Leader(ctx)
	if errors.Is(err, election.ErrNoLeader) && l.Context().Err() != nil {
		return nil //nolint:nilerr // the fault explains it
	}
	if err != nil || p.Expires && leader.Value == nil {
		return err
	}
	s, err := p.Other.Session(ctx)
	if err != nil {
		return err
	}
	data, stat, err := s.Get(ctx, proclaimed+"/"+leader.Name)
	if errors.Is(err, session.ErrNoNode) && l.Context().Err() != nil {
		return nil //nolint:nilerr // the fault explains it
	}
	if err == nil && (leader.Token != l.Token() || string(leader.Value) != value || string(data) != value || stat.Version >= writes) {
		err = fmt.Errorf("the value is %q, version %d; want %q", data, stat.Version, value)
	}
	return err
}
