//go:build unix

package interop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
)

// rival is a recipe of another library, and the layout in which ours shares it.
type rival struct {
	name   string // of the recipe, in asks
	kind   string // of peer
	layout election.Layout
}

func rivals() []rival {
	return []rival{
		{"latch", curator, election.LeaderLatch},
		{"selector", curator, election.LeaderSelector},
		{"leader", kazoo, election.Kazoo},
	}
}

// TestElectionIsShared: LeaderLatch, LeaderSelector and Kazoo's Election, each
// with ours on one path: one leads at a time, in the order in which they came.
func TestElectionIsShared(t *testing.T) {
	t.Parallel()
	for _, r := range rivals() {
		t.Run(r.name, func(t *testing.T) {
			they, we := start(t, r.kind, timeout), start(t, ours, timeout)
			hammer(t, scaled(60), ask{"recipe": r.name, "path": fresh("election")}, crew{they, 3, nil}, crew{we, 3, nil}).finish(rules{})
		})
	}
}

// TestElectionWithPrioritiesIsShared: ours have priorities, of which the others know nothing.
func TestElectionWithPrioritiesIsShared(t *testing.T) {
	t.Parallel()
	for _, r := range rivals() {
		t.Run(r.name, func(t *testing.T) {
			they, we := start(t, r.kind, timeout), start(t, ours, timeout)
			hammer(t, scaled(10), ask{"recipe": r.name, "path": fresh(withPriorities)}, crew{they, 2, nil}, crew{we, 4, nil}).finish(rules{})
		})
	}
}

// TestElectionGoesOnWhenPeersAreKilled: leaders and candidates.
func TestElectionGoesOnWhenPeersAreKilled(t *testing.T) {
	t.Parallel()
	for _, r := range rivals() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			killInTheMiddle(t, r.kind, scaled(20), ask{"recipe": r.name}, rules{})
		})
	}
}

// TestElectionShowsTheLeader: candidates of both are listed in one order by both,
// and observers see each leader.
func TestElectionShowsTheLeader(t *testing.T) {
	t.Parallel()
	for _, r := range rivals() {
		t.Run(r.name, func(t *testing.T) {
			they, c, path := start(t, r.kind, timeout), connect(t), fresh("election")
			e := election.New(c, path, &election.Options{Layout: r.layout, ID: "ours"})
			seen := make(chan string, 10)
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan struct{})
			// Waited for below; ends with ctx.
			go func() {
				defer close(over)
				for state, err := range e.Observe(ctx) {
					switch {
					case err != nil:
						if !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
					case state.Leader == nil:
						seen <- "no leader"
					default:
						seen <- state.Leader.ID
					}
				}
			}()
			require.Equal(t, "no leader", <-seen)

			hold := func(as string) *call {
				return they.sendRequest(ask{"do": "hold", "recipe": r.name, "path": path, "as": as, "who": as, "client": as})
			}
			token := decodeAnswer[int64](t, hold("theirs1").requireAnswer(t))
			require.Equal(t, "theirs1", <-seen)
			mine, err := e.Stand(t.Context())
			require.NoError(t, err)
			last := hold("theirs2")
			queued(t, c, path, 3)

			list, err := e.Candidates(t.Context())
			require.NoError(t, err)
			require.Len(t, list, 3)
			for i, id := range []string{"theirs1", "ours", "theirs2"} {
				require.Equal(t, id, list[i].ID)
				require.Equal(t, i == 0, list[i].Leads)
			}
			require.Equal(t, token, list[0].Token)
			require.Equal(t, []string{"theirs1", "ours", "theirs2"}, decodeAnswer[[]string](t, they.do(t, ask{"do": "candidates", "recipe": r.name, "path": path})))

			they.do(t, ask{"do": "release", "as": "theirs1"})
			leads, err := mine.Await(t.Context())
			require.NoError(t, err)
			require.Greater(t, leads.Token(), token)
			require.Equal(t, "ours", <-seen)
			require.True(t, last.pending())
			require.NoError(t, leads.Resign(t.Context()))
			require.Greater(t, decodeAnswer[int64](t, last.requireAnswer(t)), leads.Token())
			require.Equal(t, "theirs2", <-seen)
			they.do(t, ask{"do": "release", "as": "theirs2"})
			require.Equal(t, "no leader", <-seen)
			cancel()
			<-over
		})
	}
}

// TestElectionOfAFrozenLeader: Curator's latch learns that it does not lead when
// it has connected again; until then it says that it does (CL15). Ours says so
// from the first instruction after the pause.
func TestElectionOfAFrozenLeader(t *testing.T) {
	t.Parallel()
	we, java, c, path, target := start(t, ours, brief), start(t, curator, timeout), connect(t), fresh("election"), fresh("target")
	require.NoError(t, current(t, c).EnsurePath(t.Context(), target, 0, nil))
	token := we.number(t, ask{"do": "hold", "recipe": "latch", "path": path, "as": "a"})
	we.freeze(t)
	next := java.number(t, ask{"do": "hold", "recipe": "latch", "path": path, "as": "b"})
	require.Greater(t, next, token)
	we.thaw(t)
	lost := decodeAnswer[map[string]string](t, we.do(t, ask{"do": "lost", "as": "a", "path": target, "value": "late"}))
	require.Contains(t, lost["context"], "lost")
	require.NotEqual(t, "applied", lost["write"])
	java.do(t, ask{"do": "release", "as": "b"})
	// Curator's latch deletes in the background. A candidate that was frozen does not
	// come back by itself.
	queued(t, c, path, 0)
}
