//go:build unix

package interop_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// hammering is workers of several peers that take and give back, or count, on
// one path at the same time.
type hammering struct {
	t     *testing.T
	seen  witness
	began time.Time
	peers map[*peer]bool // those that still live
	calls map[*peer][]*call
	names map[*peer][]string // of workers
}

// crew is the workers of one peer, each with a session of its own.
type crew struct {
	peer    *peer
	workers int
	ask     ask // further fields of their commands
}

// scaled is a number of rounds, all of them with ZKTEST_SEEDS.
func scaled(rounds int) int {
	switch {
	case testing.Short():
		return max(5, rounds/5)
	case world.Seeds(0) > 0:
		return rounds
	}
	return rounds / 2
}

// hammer starts all workers. A worker goes on until stop, so that a slow worker has to
// contend to the end.
func hammer(t *testing.T, rounds int, what ask, crews ...crew) *hammering {
	t.Helper()
	h := &hammering{t, newWitness(t), time.Now(), map[*peer]bool{}, map[*peer][]*call{}, map[*peer][]string{}}
	for k, c := range crews {
		h.peers[c.peer] = true
		for i := range c.workers {
			// Peers of one kind are told apart by their place.
			worker := fmt.Sprintf("%s%d.%d", c.peer.kind, k, i)
			a := ask{"do": "hammer", "rounds": rounds, "witness": h.seen.path, "who": worker, "client": worker}
			maps.Copy(a, what)
			maps.Copy(a, c.ask)
			h.calls[c.peer] = append(h.calls[c.peer], c.peer.sendRequest(a))
			h.names[c.peer] = append(h.names[c.peer], worker)
		}
	}
	return h
}

// awaitAllRounds waits until every worker of a live peer has done its rounds.
func (h *hammering) awaitAllRounds() {
	h.t.Helper()
	for p := range h.peers {
		for _, c := range h.calls[p] {
			c.requireAnswer(h.t)
		}
	}
}

// kill ends a peer in the middle, and tells the witness.
func (h *hammering) kill(p *peer) {
	h.t.Helper()
	p.kill(h.t)
	delete(h.peers, p)
	for _, worker := range h.names[p] {
		require.NoError(h.t, h.seen.appendLine("gone "+worker))
	}
}

// awaitMoreRounds waits until every worker of a live peer has done n more
// rounds.
func (h *hammering) awaitMoreRounds(rounds int) {
	h.t.Helper()
	h.awaitAllRounds()
	had := h.seen.read(h.t)
	for p := range h.peers {
		for _, worker := range h.names[p] {
			awaitTrue(h.t, worker+" goes on", func() bool { return countLines(h.seen.read(h.t), worker) >= countLines(had, worker)+rounds })
		}
	}
}

// stop ends all workers and returns the rounds of each.
func (h *hammering) stop() map[string]int {
	h.t.Helper()
	all := map[string]int{}
	var stops []*call
	for p := range h.peers {
		stops = append(stops, p.sendRequest(ask{"do": "stop"}))
	}
	for _, c := range stops {
		maps.Copy(all, decodeAnswer[map[string]int](h.t, c.requireAnswer(h.t)))
	}
	return all
}

// finish ends all workers, judges what the witness saw, and says the figures.
func (h *hammering) finish(r rules) turns {
	h.t.Helper()
	h.awaitAllRounds()
	rounds := h.stop()
	got, err := judgeTurns(h.seen.read(h.t), r)
	require.NoError(h.t, err)
	for worker, n := range rounds {
		require.Equal(h.t, n, got.entered[worker], "%s was let in as often as it says", worker)
	}
	h.t.Logf("%v: entered %v, at most %d inside, another than before %d times", time.Since(h.began).Round(time.Millisecond), got.entered, got.most, got.changes)
	return got
}

// finishSums is finish for a counter.
func (h *hammering) finishSums() sums {
	h.t.Helper()
	h.awaitAllRounds()
	rounds := h.stop()
	got, err := judgeSums(h.seen.read(h.t))
	require.NoError(h.t, err)
	for worker, n := range rounds {
		require.Equal(h.t, n, got.added[worker], "%s has added as often as it says", worker)
	}
	h.t.Logf("%v: added %v, unknown %d, sum %d", time.Since(h.began).Round(time.Millisecond), got.added, got.unknown, got.highest)
	return got
}

// awaitRounds waits until the workers of p have done n rounds together, so that
// the next fault hits them in the middle of their work.
func (h *hammering) awaitRounds(p *peer, rounds int) {
	h.t.Helper()
	awaitTrue(h.t, "some rounds", func() bool {
		text, n := h.seen.read(h.t), 0
		for _, worker := range h.names[p] {
			n += countLines(text, worker)
		}
		return n >= rounds
	})
}
