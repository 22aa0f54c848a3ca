package election_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// ranked is where candidates of dir with a priority wait.
const ranked = dir + ".ranked"

// elector of a client of its own, with a priority and an ID.
func (w *World) ranked(id string, priority int) *election.Elector {
	return election.New(w.Client(), dir, &election.Options{ID: id, Priority: priority})
}

// inOrder wants the candidates to lead in this order, each after the one before has resigned,
// and takes the leader's resignation first.
func (w *World) inOrder(l *election.Leadership, outs map[string]<-chan won, order ...string) {
	w.Helper()
	last := l.Token()
	for i, id := range order {
		w.resign(l)
		w.Pass(time.Second)
		l = w.leads(outs[id])
		require.Greater(w, l.Token(), last)
		last = l.Token()
		require.Equal(w, id, w.leaderID(elector(w.Client(), "")))
		for _, behind := range order[i+1:] {
			w.pending(outs[behind])
		}
	}
	w.resign(l)
}

func TestHighestPriorityLeadsNextAndOfEqualOnesTheFirst(t *testing.T) {
	for name, came := range map[string][]string{
		"ascending": {"1a", "1b", "2a", "2b", "3a"}, "descending": {"3a", "2a", "2b", "1a", "1b"}, "mixed": {"2a", "1a", "3a", "1b", "2b"},
	} {
		inWorld(t, nil, func(w *World) {
			l := w.campaign(w.ranked("leader", 1))
			outs := map[string]<-chan won{}
			for _, id := range came {
				outs[id] = w.startWin(w.Ctx, w.ranked(id, int(id[0]-'0')).Campaign)
			}
			w.Pass(2 * time.Minute)
			require.NoError(w, l.Context().Err(), "%s: a higher priority deposes no leader", name)
			w.inOrder(l, outs, "3a", "2a", "2b", "1a", "1b")
			w.Settle()
			require.Empty(w, w.Children(dir))
			require.Empty(w, w.Children(ranked))
		})
	}
}

// Candidates without a priority, as those of other libraries, lead in their turn. A candidate
// with a priority does not make way for a better one if one without a priority would lead.
func TestCandidatesWithoutAPriorityLeadInTheirTurn(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		outs := map[string]<-chan won{}
		for _, c := range []struct {
			id       string
			priority int
		}{{"one", 1}, {"none", 0}, {"two", 2}, {"last", 0}, {"also one", 1}} {
			outs[c.id] = w.startWin(w.Ctx, w.ranked(c.id, c.priority).Campaign)
		}
		w.inOrder(l, outs, "one", "none", "two", "last", "also one")
	})
}

func TestCandidatesAreListedByTheirRanks(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		look := elector(w.Client(), "")
		l := w.campaign(w.ranked("leader", 2))
		ctx, cancel := context.WithCancel(w.Ctx)
		outs := map[string]<-chan won{}
		for _, c := range []string{"1 a", "9 b", "1 c", "3 d"} {
			outs[c] = w.startWin(ctx, w.ranked(c, int(c[0]-'0')).Campaign)
		}
		all, err := look.Candidates(w.Ctx)
		require.NoError(w, err)
		var got []string
		for _, c := range all {
			got = append(got, fmt.Sprint(c.ID, " ", c.Priority, " ", c.Leads, " ", c.Outside, " ", path.Base(path.Dir(c.Path))))
			require.NotZero(w, c.Token)
			require.NotZero(w, c.Session)
		}
		require.Equal(w, []string{
			"leader 2 true false a", "1 a 1 false false a", "9 b 9 false false a", "3 d 3 false true a.ranked", "1 c 1 false true a.ranked",
		}, got, "the first was the best until the second came, and makes way at its turn")
		outside := all[3]
		require.ErrorIs(w, look.Depose(w.Ctx, outside, "", "it only waits"), election.ErrInvalidArgument)
		require.ErrorIs(w, look.Depose(w.Ctx, outside, "", ""), election.ErrInvalidArgument, "without a reason")
		cancel()
		w.Settle()
		require.ErrorIs(w, look.Depose(w.Ctx, outside, "", "it has gone"), election.ErrNoLeader)
		w.resign(l)
		w.Settle()
		all, err = look.Candidates(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, all)
		for _, out := range outs {
			require.ErrorIs(w, (<-out).err, context.Canceled)
		}
		require.Empty(w, w.Children(ranked))
	})
}

// The costs that the documentation has.
func TestPriorityCostsFewRequests(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		first, c := w.Client(), w.Client()
		o := &election.Options{Priority: 5}
		w.resign(w.campaign(election.New(first, dir, o))) // the folders exist
		w.Settle()
		var l *election.Leadership
		counts, trips := w.cost(c, func() { l = w.campaign(election.New(c, dir, o)) })
		w.Settle()
		require.Equal(w, world.Requests(map[string]int{"create2": 2, "getChildren2": 2}), counts)
		require.Equal(w, 2*world.RoundTripsOfCreation(), trips)
		next := w.Client()
		out := w.startWin(w.Ctx, election.New(next, dir, o).Campaign)
		for i := range 20 {
			w.startWin(w.Ctx, w.ranked("behind", 1+i/5).Campaign)
		}
		counts, trips = w.cost(next, func() {
			require.NoError(w, l.Resign(w.Ctx))
			l = w.leads(out)
		})
		require.LessOrEqual(w, counts["getChildren2"], 1)
		require.LessOrEqual(w, trips, 3, "the resignation, the notification and a list")
		w.Settle()
		w.resign(l)
	})
}

// The end of a place wakes at most one candidate for each priority.
func TestLeaderThatGoesWakesAtMostOneCandidatePerPriority(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(w.ranked("leader", 1))
		out := w.startWin(w.Ctx, w.ranked("next", 9).Campaign)
		for i := range 30 { // three priorities
			w.startWin(w.Ctx, w.ranked("behind", 1+i%3).Campaign)
		}
		w.Settle()
		w.ResetStats()
		w.resign(l)
		l = w.leads(out)
		w.Settle()
		lists := 0
		for _, counts := range w.Server.Stats().BySession {
			lists += counts["getChildren2"]
		}
		// The new leader lists the places; three candidates list them when its place ends, and
		// the best of them lists the queue that it enters.
		require.LessOrEqual(w, lists, 1+3+1)
		w.resign(l)
	})
}

// An operator that deletes the folder of the places takes the order away, and nothing else.
func TestDeletedPlacesCostOrderOnly(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(w.ranked("leader", 1))
		outs := []<-chan won{}
		for i := range 5 {
			outs = append(outs, w.startWin(w.Ctx, w.ranked(fmt.Sprint(i), 1+i%3).Campaign))
		}
		require.NoError(w, w.Server.DeleteAll(ranked))
		w.Pass(time.Minute)
		w.resign(l)
		led := 0
		for range outs {
			for _, out := range outs {
				select {
				case g := <-out:
					require.NoError(w, g.err)
					led++
					w.resign(g.lead)
					w.Pass(time.Minute)
				default:
				}
			}
			w.Pass(time.Minute)
		}
		require.Equal(w, 5, led)
		w.Settle()
		require.Empty(w, w.Children(dir))
		require.Empty(w, w.Children(ranked))
	})
}

// TestCampaignWithAPriorityUnderEveryFault: a candidate waits behind a leader, is overtaken by a
// better one, makes way, and leads in the end.
func TestCampaignWithAPriorityUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Campaign with a priority", Paths: []string{dir, ranked}, Next: nextLeads,
		Setup: func(_ *matrix.Env, p *world.Party) (err error) {
			p.State, err = election.New(p.Other, dir, &election.Options{ID: "first", Priority: 1}).Campaign(context.Background())
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			last := make(chan error, 1)
			better := election.New(p.Other, dir, &election.Options{ID: "better", Priority: 2})
			// Waited for below; ends when the better one has led.
			go func() {
				world.Pause(time.Second) // behind the one under test
				k, err := better.Stand(context.Background())
				if err == nil {
					// Waited for by Await; ends with the resignation.
					go func() { world.Pause(time.Second); _ = p.State.(*election.Leadership).Resign(context.Background()) }()
					var l *election.Leadership
					if l, err = k.Await(context.Background()); err == nil {
						world.Pause(time.Second)
						err = l.Resign(context.Background())
					}
				}
				last <- err
			}()
			l, err := election.New(p.Tested, dir, &election.Options{ID: "tested", Priority: 1}).Campaign(ctx)
			if err == nil {
				err = errors.Join(alone(p, l), ignoreLoss(l.Resign(context.Background())))
			}
			return errors.Join(err, <-last)
		},
	}.Run(t)
}

func ignoreLoss(err error) error {
	if errors.Is(err, session.ErrLost) {
		return nil
	}
	return err
}

// Ahead counts the better places, and the candidates in the queue, before and after the
// candidate enters the queue.
func TestAheadCountsBetterPlaces(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		stand := func(id string, priority int) *election.Candidacy {
			k, err := w.ranked(id, priority).Stand(w.Ctx)
			require.NoError(w, err)
			return k
		}
		low, high, low2 := stand("low", 1), stand("high", 2), stand("low2", 1)
		ahead := func(want map[*election.Candidacy]int) {
			w.Helper()
			for k, n := range want {
				got, err := k.Ahead(w.Ctx)
				require.NoError(w, err)
				require.Equal(w, n, got, k.Path())
			}
		}
		ahead(map[*election.Candidacy]int{high: 1, low: 2, low2: 3})
		out := w.startWin(w.Ctx, high.Await)
		w.Pass(time.Second) // it has entered the queue
		ahead(map[*election.Candidacy]int{high: 1, low: 2, low2: 3})
		w.resign(l)
		lead := w.leads(out)
		ahead(map[*election.Candidacy]int{high: 0, low: 1, low2: 2})
		w.resign(lead)
		ahead(map[*election.Candidacy]int{low: 0, low2: 1})
		require.NoError(w, w.Server.Delete(low2.Path()))
		_, err := low2.Ahead(w.Ctx)
		require.ErrorIs(w, err, session.ErrNodeDeleted)
		for _, k := range []*election.Candidacy{low, low2} {
			_ = k.Withdraw(w.Ctx) // the second is gone
			_, err := k.Ahead(w.Ctx)
			require.ErrorIs(w, err, election.ErrWithdrawn)
		}
	})
}
