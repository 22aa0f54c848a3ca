package conformance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// crowd are random clients on a small tree, where they often meet.
type crowd struct {
	p       *player
	rand    *rand.Rand
	clients []*client
	// watched are the paths possibly watched by a client, by kind as in
	// setWatches.
	watched map[string][5][]string
	turn    int
	// newer: leave out the differences of 3.9.3; see knownNewer.
	newer bool
}

func newCrowd(p *player, seed uint64, size int) *crowd {
	g := &crowd{p: p, rand: rand.New(rand.NewPCG(seed, 1)), watched: map[string][5][]string{}}
	for i := range size {
		g.clients = append(g.clients, p.join(fmt.Sprint("c", i), 30000))
	}
	return g
}

// randomPath returns one of few paths, three levels deep, or rarely an invalid path.
func (g *crowd) randomPath() string {
	if g.rand.IntN(60) == 0 {
		return []string{"bad", "", g.p.casePath("/"), g.p.casePath("//x"), g.p.casePath("/../x")}[g.rand.IntN(5)]
	}
	path := g.p.root
	for range 1 + g.rand.IntN(3) {
		path += "/" + string(rune('a'+g.rand.IntN(3)))
	}
	return path
}

func (g *crowd) randomVersion() int32 { return []int32{-1, -1, 0, 0, 1, 2}[g.rand.IntN(6)] }

func (g *crowd) randomPart() part {
	path, kind := g.randomPath(), g.rand.IntN(6)
	if g.newer && (kind == 1 || kind == 4) {
		kind = 0
	}
	switch kind {
	case 0:
		return mCreate(path, int32(g.rand.IntN(4)))
	case 1:
		return mCreate2(path)
	case 2:
		return mDelete(path, g.randomVersion())
	case 3:
		return mSet(path, g.randomVersion())
	case 4:
		return part{opContainer, createBody(path, "x", flagContainer)}
	default:
		return mCheck(path, g.randomVersion())
	}
}

// permsAlways are in every ACL: administration, required by the clean-up, and
// reading, because events of unreadable nodes are a known difference (see the
// cases watch-unreadable).
const permsAlways = 16 | 1

// takeStep does a random operation as one of the clients; sometimes all clients
// collect their events.
func (g *crowd) takeStep() {
	i := g.rand.IntN(len(g.clients))
	c := g.clients[i]
	g.actAs(i, c)
	if g.rand.IntN(10) == 0 {
		for _, c := range g.clients {
			c.readEvents()
		}
	}
}

func (g *crowd) actAs(i int, c *client) {
	path, watch := g.randomPath(), g.rand.IntN(2) == 0
	switch n := g.rand.IntN(100); {
	case n < 22:
		c.create(path, int32(g.rand.IntN(4)))
	case n < 26:
		c.create2(path, int32(g.rand.IntN(4)))
	case n < 28:
		c.container(path)
	case n < 30:
		c.ttl(path, flagTTL+int32(g.rand.IntN(2)), 3600_000)
	case n < 42:
		c.delete(path, g.randomVersion())
	case n < 52:
		c.set(path, g.randomVersion())
	case n < 60:
		g.rememberWatch(c, path, watch, 1)
		c.exists(path, watch)
	case n < 66:
		g.rememberWatch(c, path, watch, 0)
		c.get(path, watch)
	case n < 73:
		g.rememberWatch(c, path, watch, 2)
		c.children(path, watch)
	case n < 78 && !g.newer:
		mode := g.rand.IntN(2)
		g.rememberWatch(c, path, true, 3+mode)
		c.addWatch(path, int32(mode))
	case n < 81:
		c.removeWatches(path, 1+int32(g.rand.IntN(3)))
	case n < 83:
		c.setACL(path, []acl{{int32(g.rand.IntN(32)) | permsAlways, "world", "anyone"}}, g.randomVersion())
	case n < 85:
		c.getACL(path)
	case n < 94:
		var parts []part
		for range 1 + g.rand.IntN(4) {
			parts = append(parts, g.randomPart())
		}
		c.multi("", parts...)
	case n < 96:
		c.logRequest("all", opAllChildren, body{}.str(path))
		c.logRequest("ephemerals", opGetEphemerals, body{}.str(path))
	case n < 99:
		g.clients[i] = g.reconnectClient(c)
	default:
		g.closeSession(c)
		g.turn++
		delete(g.watched, c.name)
		g.clients[i] = g.p.join(fmt.Sprint("n", g.turn), 30000)
	}
}

// closeSession closes a session. A server deletes the ephemeral nodes in an undefined
// order, so the events of other clients are sorted.
func (g *crowd) closeSession(c *client) {
	seen := map[*client]int{}
	for _, o := range g.clients {
		if o != c && !o.closed {
			o.readEvents()
			seen[o] = len(o.lines)
		}
	}
	c.readEvents()
	seen[c] = len(c.lines)
	c.close()
	for o, n := range seen {
		if o != c {
			o.readEvents()
		}
		slices.Sort(o.lines[n:])
	}
}

func (g *crowd) rememberWatch(c *client, path string, watch bool, kind int) {
	if watch {
		lists := g.watched[c.name]
		if !slices.Contains(lists[kind], path) {
			lists[kind] = append(slices.Clone(lists[kind]), path)
		}
		g.watched[c.name] = lists
	}
}

// reconnectClient drops a connection, lets other clients act, and reconnects with the
// watches that the client may have had.
func (g *crowd) reconnectClient(c *client) *client {
	c.readEvents()
	c.dropConnection()
	for range g.rand.IntN(4) {
		other := g.clients[g.rand.IntN(len(g.clients))]
		if other != c {
			path := g.randomPath()
			if g.rand.IntN(2) == 0 {
				other.create(path, int32(g.rand.IntN(2)))
			} else {
				other.delete(path, -1)
			}
		}
	}
	n := c.attachAgain(nil)
	if !n.closed {
		lists := g.watched[c.name]
		// Invalid paths, on which servers set no watch, are not sent again.
		for k := range lists {
			lists[k] = slices.DeleteFunc(slices.Clone(lists[k]), func(s string) bool { return s == "" || s == "bad" })
		}
		n.restoreWatches(n.seen, lists[:]...)
	}
	return n
}

func crowdPlay(seed uint64, steps int, newer bool) func(p *player) {
	return func(p *player) {
		g := newCrowd(p, seed, 3)
		g.newer = newer
		for range steps {
			g.takeStep()
		}
		for _, c := range g.clients {
			g.closeSession(c)
		}
	}
}

// TestRandomSeedsAnswerAsApacheDoes compares random histories. ZKTEST_SEEDS is
// the number of histories; the message of a failure has the seed.
func TestRandomSeedsAnswerAsApacheDoes(t *testing.T) {
	seeds := 60
	if text := os.Getenv("ZKTEST_SEEDS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		// A history against a real server takes a hundred times as long as in
		// memory.
		seeds = max(seeds, n/100)
	}
	ours, theirs, newer := startBoth(t, never)
	failed := 0
	for _, seed := range chosenSeeds(t, seeds) {
		a, b := playBoth(t, ours, theirs, fmt.Sprintf("random-%d", seed), crowdPlay(seed, 150, newer))
		require.Greater(t, len(a), 100)
		if d := diffTranscripts(a, b); d != "" {
			t.Errorf("seed %d:\n%s", seed, d)
			if failed++; failed == 3 {
				t.FailNow()
			}
		}
	}
}

// chosenSeeds returns the seeds 0 to n-1, or only the seed in ZKTEST_SEED.
func chosenSeeds(t *testing.T, n int) []uint64 {
	t.Helper()
	if only := os.Getenv("ZKTEST_SEED"); only != "" {
		seed, err := strconv.ParseUint(only, 10, 64)
		require.NoError(t, err)
		return []uint64{seed}
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = uint64(i)
	}
	return list
}

func TestASeedBeyondTheRangeIsChosen(t *testing.T) {
	t.Setenv("ZKTEST_SEED", "731")
	require.Equal(t, []uint64{731}, chosenSeeds(t, 3))
	t.Setenv("ZKTEST_SEED", "")
	require.Equal(t, []uint64{0, 1, 2}, chosenSeeds(t, 3))
}

func TestRandomHistoriesReachWhatTheyAreFor(t *testing.T) {
	s, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	found := map[string]int{}
	for seed := range uint64(20) {
		for _, line := range playCase(t, s.Addr(), fmt.Sprint("r", seed), crowdPlay(seed, 150, false)) {
			for _, want := range randomWants {
				if want.MatchString(line) {
					found[want.String()]++
				}
			}
		}
	}
	for _, want := range randomWants {
		require.Greater(t, found[want.String()], 5, want.String())
	}
}
