package election_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The queue: the leader, the watches among candidates, and the next leader.

// queue is several candidates, one per client, in their order.
type queue struct {
	w       *World
	opts    election.Options
	clients []*session.Client
	stands  []*election.Candidacy
	outs    []<-chan won
}

// line makes n candidates and lets all of them await their turn.
func (w *World) line(n int) *queue { return w.lineOf(n, election.Options{}) }

// lineOf is line of electors with options.
func (w *World) lineOf(n int, o election.Options) *queue {
	q := &queue{w: w, opts: o}
	for range n {
		q.join()
	}
	return q
}

// join adds a candidate at the end.
func (q *queue) join() {
	c := q.w.Client()
	o := q.opts
	o.ID = fmt.Sprintf("c%d", len(q.clients)+1)
	k := q.w.stand(election.New(c, dir, &o))
	q.clients = append(q.clients, c)
	q.stands = append(q.stands, k)
	q.outs = append(q.outs, q.w.startWin(q.w.Ctx, k.Await))
}

// name of candidate i's znode.
func (q *queue) name(i int) string { return znode.Base(q.stands[i].Path()) }

// watchers are the sessions that watch candidate i, but for its own.
func (q *queue) watchers(i int) []int64 {
	own := q.stands[i].Session().ID()
	return slices.DeleteFunc(q.w.Server.Watches()[q.stands[i].Path()], func(id int64) bool { return id == own })
}

// twoBehind returns the sessions of the two candidates behind candidate i.
func (q *queue) twoBehind(i int) []int64 {
	out := []int64{}
	for _, c := range q.clients[min(i+1, len(q.clients)):min(i+3, len(q.clients))] {
		out = append(out, q.w.ID(c))
	}
	return out
}

// N24, R6, M4, D3: only the candidate with the lowest number leads. The znodes
// are ephemeral and sequential (M19, D2).
func TestLowestNumberLeads_R6_M4_D3(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.line(4)
		l := w.leads(q.outs[0])
		for _, out := range q.outs[1:] {
			w.pending(out) // R7: any other follows
		}
		names := w.Children(dir)
		require.Len(w, names, 4)
		for _, name := range names {
			node, err := w.Server.Get(dir + "/" + name)
			require.NoError(w, err)
			require.NotZero(w, node.EphemeralOwner, "M19: ephemeral")
			own, err := session.Sequence(name)
			require.NoError(w, err, "D2: sequential")
			require.GreaterOrEqual(w, int64(own), l.Term())
		}
		require.Equal(w, "c1", l.ID())
		require.Equal(w, q.stands[0].Path(), l.Path())
		w.resign(l)
	})
}

// R13, M5, D4: a candidate watches its predecessor and the candidate before, and no
// other; the leader watches none.
func TestCandidateWatchesTheTwoBeforeIt_R13_M5_D4(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.line(6)
		require.Empty(w, q.stands[0].Watching())
		check := func() {
			for i := range 6 {
				if i > 0 {
					require.Equal(w, q.name(i-1), q.stands[i].Watching())
				}
				require.ElementsMatch(w, q.twoBehind(i), q.watchers(i))
			}
		}
		check()
		require.NotContains(w, w.Server.Watches(), dir, "no herd on the path")
		w.Pass(10 * time.Second) // each watches itself, too, by now
		check()
		require.Len(w, w.Server.Watches()[q.stands[3].Path()], 3)
	})
}

// R13, R14, M6, M7, D5, D13: whichever of five dies, the watches of the two behind it
// fire, and no other. The first of the two leads if the dead one led, and otherwise
// watches the predecessor of the dead one. The chain has no gap.
func TestDeathOfOneFiresTheWatchesOfTwo_R13_R14_M6_M7_D5(t *testing.T) {
	const n = 5
	for dead := range n {
		t.Run(fmt.Sprint(dead), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.line(n)
				watches := w.Server.Stats().Watches
				ghost := w.ID(q.clients[dead])
				// The session ends at the server; its client is too far
				// away to come back.
				w.Server.BlackHole(zktest.Link{Client: fmt.Sprintf("c%d", dead+1)}, zktest.Both)
				w.Settle()
				require.ElementsMatch(w, q.twoBehind(dead), q.watchers(dead))
				set := len(w.Server.Watches()[q.stands[dead].Path()])
				w.ResetStats()
				sent := w.Server.Stats().PacketsSent
				require.NoError(w, w.Server.ExpireSession(ghost))
				synctest.Wait()
				asked := 0
				for i, c := range q.clients {
					if i == dead {
						continue
					}
					var want map[string]int
					if 2 < i && (i == dead+1 || i == dead+2) { // the first three know all that are ahead
						want = map[string]int{"getChildren2": 1, "getData": 1}
					}
					require.Equal(w, want, w.Server.Stats().BySession[w.ID(c)], "candidate %d", i)
					asked += w.Requests(c)
				}
				events := w.Server.Stats().PacketsSent - sent - asked
				require.Equal(w, set, events, "the two watches fire, and the dead one's own")
				require.LessOrEqual(w, w.Server.Stats().Watches, watches)
				switch dead {
				case 0:
					w.leads(q.outs[1])
					require.Empty(w, q.stands[1].Watching())
				case n - 1:
				default:
					require.Equal(w, q.name(dead-1), q.stands[dead+1].Watching())
				}
				w.pending(q.outs[n-1])
			})
		})
	}
}

// R13, M5: a resignation wakes two of fifty candidates: the next one leads without a
// request, and the one behind it lists the queue, unless it entered third.
func TestResignationWakesTwoOfFifty_R13(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const n = 50
		q := w.line(n)
		for i := range n - 1 {
			l := w.leads(q.outs[i])
			w.ResetStats()
			w.resign(l)
			synctest.Wait()
			for j, c := range q.clients {
				var want map[string]int
				switch {
				case j == i:
					want = map[string]int{"delete": 1}
				case j == i+2 && i > 0:
					want = map[string]int{"getChildren2": 1}
				}
				require.Equal(w, want, w.Server.Stats().BySession[w.ID(c)], "candidate %d, when %d resigned", j, i)
			}
		}
		w.resign(w.leads(q.outs[n-1]))
		w.Settle()
		require.Empty(w, w.Children(dir))
		w.RequireNoWatches()
	})
}

// M6, M7, D5: any number of candidates die in any order, at once, too: the next
// in order leads, as long as there is one.
func TestQueueClosesUpOverTheDead_M7_D5(t *testing.T) {
	for _, dead := range [][]int{{0, 1}, {1, 0}, {1, 2}, {2, 1, 0}, {1, 3}, {0, 1, 2, 3}} {
		t.Run(fmt.Sprint(dead), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				const n = 5
				q := w.lineOf(n, election.Options{})
				first := w.leads(q.outs[0])
				next, led := 0, first
				gone := map[int]bool{}
				for _, i := range dead {
					w.Server.BlackHole(zktest.Link{Client: fmt.Sprintf("c%d", i+1)}, zktest.Both)
					gone[i] = true
				}
				for gone[next] {
					next++
				}
				if next > 0 {
					led = w.leads(q.outs[next])
				}
				w.Pass(time.Minute)
				require.NoError(w, led.Context().Err())
				if gone[0] {
					require.Error(w, first.Context().Err())
				}
				// Every live candidate watches the live candidate before it.
				before := next
				for i := next + 1; i < n; i++ {
					if !gone[i] {
						require.Equal(w, q.name(before), q.stands[i].Watching())
						before = i
					}
				}
				w.Server.Heal()
			})
		})
	}
}

// D16: a candidate that comes back joins last.
func TestCandidateThatComesBackJoinsLast_D16(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.line(3)
		w.resign(w.leads(q.outs[0]))
		again := w.startWin(w.Ctx, elector(q.clients[0], "c1").Campaign)
		for _, out := range q.outs[1:] {
			w.pending(again)
			w.resign(w.leads(out))
		}
		w.resign(w.leads(again))
	})
}

func TestTermAndTokenGrowAndAnyClientCanReadThem_CH31(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := elector(w.Client(), "me")
		term, token := int64(-1), int64(0)
		for range 10 {
			l := w.campaign(e)
			require.Greater(w, l.Term(), term)
			require.Greater(w, l.Token(), token)
			term, token = l.Term(), l.Token()
			node, err := w.Server.Get(l.Path())
			require.NoError(w, err)
			require.Equal(w, node.Czxid, token, "the token is that of the very node that leads")
			require.Equal(w, node.EphemeralOwner, l.Session().ID())
			require.True(w, strings.HasSuffix(l.Path(), fmt.Sprintf("%010d", term)))
			c, err := e.Leader(w.Ctx)
			require.NoError(w, err)
			require.Equal(w, []int64{term, token}, []int64{c.Term, c.Token})
			w.resign(l)
		}
	})
}

// The path goes with its last candidate, some time after: terms start again,
// tokens never do.
func TestTokenGrowsOverAPathThatWasRemoved(t *testing.T) {
	world.Needs(t, world.Containers)
	inWorld(t, &zktest.Options{ContainerInterval: 10 * time.Second}, func(w *World) {
		e := elector(w.Client(), "me")
		token := int64(0)
		for range 5 {
			l := w.campaign(e)
			require.Zero(w, l.Term())
			require.Greater(w, l.Token(), token)
			token = l.Token()
			w.Pass(30 * time.Second)
			require.NotEmpty(w, w.Children(dir), "not removed while a candidate leads")
			w.resign(l)
			w.Pass(30 * time.Second)
			_, err := w.Server.Get(dir)
			require.ErrorIs(w, err, zktest.ErrNoNode)
		}
	})
}

// M23: every campaigning client leads in the end, while others come and go.
func TestAllCandidatesLeadInTurn_M23(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const n, rounds = 4, 5
		led := make(chan string, n*rounds)
		for i := range n {
			e := elector(w.Client(), fmt.Sprint(i))
			// Waited for by reading led; ends after its rounds.
			go func() {
				for range rounds {
					_ = e.Run(w.Ctx, func(ctx context.Context, l *election.Leadership) error {
						world.Pause(time.Second)
						led <- l.ID()
						return ctx.Err()
					})
				}
			}()
		}
		counts := map[string]int{}
		for range n * rounds {
			counts[<-led]++
		}
		for i := range n {
			require.Equal(w, rounds, counts[fmt.Sprint(i)])
		}
	})
}
