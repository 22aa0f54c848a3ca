package core

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/world"
)

const (
	allThree = mask(0b111)
	// modelLimit and soakLimit are how many states are too many to try.
	modelLimit = 1_000_000
	soakLimit  = 30_000_000
	soakPart   = 5_000 // how many states of a soak each run tries
)

// group is a group for trying all interleavings, in both modes unless only is
// set.
type group struct {
	name  string
	short bool // small enough for -short
	only  string
	model model
}

// restart is clients[i] = j: client i is the process of client j-1 again.
type restart = [modelClients]uint8

// groups are those of each run.
func groups() []group {
	late := model{begin: 0b011, late: 0b100, resources: allThree}
	with := func(m model, left faults) model {
		m.left = left
		return m
	}
	lagging := func(m model, lag int) model {
		m.lag = lag
		return m
	}
	three := model{begin: 0b111, resources: allThree}
	restarting := model{begin: 0b111, after: restart{3: 2}, resources: allThree}
	static := model{begin: 0b011, after: restart{3: 2}, again: restart{3: 2}, resources: allThree}
	changing := model{begin: 0b011, resources: allThree, changing: 0b001}
	sweeping := model{begin: 0b001, late: 0b010, resources: 0b001, changing: 0b001, after: restart{2: 1}}
	idle := model{begin: 0b011, late: 0b100, idle: 0b001, resources: 0b001}
	together := func(m model) model {
		m.complete = true
		return m
	}
	slow := func(m model) model {
		m.slow = true
		return m
	}
	return []group{
		{"one comes while a plan is computed", true, "", slow(late)},
		{"one of three is lost while a plan is computed", true, "", slow(with(three, faults{losses: 1}))},
		{"a static one is lost while a plan is computed, and comes again", true, "", slow(with(static, faults{losses: 1}))},
		{"a resource is removed and added while a plan is computed", true, "", slow(with(changing, faults{losses: 1, changes: 2}))},
		{"one is stopped while a plan is computed, and one comes", false, "", slow(with(late, faults{stops: 1}))},
		{"the epoch is raised by hand while a plan is computed", false, "", slow(with(model{begin: 0b011, late: 0b100, resources: 0b011}, faults{epochs: 1}))},
		{"one comes, and starts when it owns all", true, "resource", together(late)},
		{"one of three is lost, and they start when they own all", true, "resource", together(with(three, faults{losses: 1}))},
		{"one comes, one is stopped, and they start when they own all", false, "resource", together(with(late, faults{stops: 1}))},
		{"a resource is removed and added, and they start when they own all", true, "resource", together(with(changing, faults{losses: 1, changes: 2}))},
		{"one of three is lost", true, "", with(three, faults{losses: 1})},
		{"one of three is lost, and reads are stale", true, "", lagging(with(three, faults{losses: 1}), 2)},
		{"one comes", true, "", late},
		{"one comes, and reads are stale", false, "", lagging(late, 1)},
		{"one comes, and one is lost", false, "", with(late, faults{losses: 1})},
		{"one comes, and one is stopped", false, "", with(late, faults{stops: 1})},
		{"one comes, and replies are lost", true, "resource", with(late, faults{replies: 2})},
		{"one is lost, and comes again", true, "", with(restarting, faults{losses: 1})},
		{"a static one is lost, and comes again", true, "", with(static, faults{losses: 1})},
		{"one is stopped, a static one comes again", true, "", with(static, faults{stops: 1})},
		{"a resource is removed and added", true, "", with(changing, faults{losses: 1, changes: 2})},
		{"a resource is removed, and its barrier is swept", false, "resource", with(sweeping, faults{losses: 1, stops: 1, changes: 3})},
		{"one is paused, and may expire", true, "", with(model{begin: 0b011, resources: 0b011}, faults{pauses: 2})},
		{"one is paused, and one comes", false, "", with(model{begin: 0b011, late: 0b100, resources: 0b011}, faults{pauses: 1})},
		{"a zombie coordinates", true, "", with(model{begin: 0b111, idle: 1, resources: allThree}, faults{kicks: 1})},
		{"the epoch is raised by hand", true, "", with(model{begin: 0b011, late: 0b100, resources: 0b011}, faults{epochs: 1})},
		{"a zombie coordinates, and one comes", false, "global", with(idle, faults{kicks: 1})},
	}
}

// soaks are larger groups, which take minutes: make soak runs them.
func soaks() []group {
	return []group{
		{"two are lost, one comes again", false, "",
			model{begin: 0b111, after: restart{3: 2}, resources: allThree, left: faults{losses: 2}}},
		{"two are lost, a static one comes again", false, "",
			model{begin: 0b111, after: restart{3: 2}, again: restart{3: 2}, resources: allThree, left: faults{losses: 2}}},
		{"one comes, one is lost, and reads are stale", false, "",
			model{begin: 0b011, late: 0b100, resources: allThree, lag: 1, left: faults{losses: 1}}},
		{"one comes, one is lost, one is stopped", false, "",
			model{begin: 0b011, late: 0b100, resources: allThree, left: faults{losses: 1, stops: 1}}},
		{"one comes, and one is paused", false, "",
			model{begin: 0b011, late: 0b100, resources: allThree, left: faults{pauses: 1}}},
		{"resources are changed, one is lost, one comes, replies are lost", false, "",
			model{begin: 0b011, late: 0b100, resources: 0b011, changing: 0b001, left: faults{losses: 1, changes: 2, replies: 1}}},
		{"a zombie coordinates, and one comes", false, "",
			model{begin: 0b011, late: 0b100, idle: 0b001, resources: allThree, left: faults{kicks: 1}}},
	}
}

// R12, R16, R18, R31, R33, R36, R46, R48, R50, R51, X1, X2, X3, X4, X5, X12
func TestAllInterleavings_R12_R18_R36_R50_R51_X4(t *testing.T) {
	done := exploreAll(t, groups(), modelLimit)
	if testing.Short() {
		return
	}
	for _, what := range []string{
		"comes", "is lost", "expires", "is stopped", "leaves", "is paused", "wakes", "expires while it is paused",
		"wakes, and has lost its session", "has its node deleted by hand", "notices that its node is gone",
		"a resource is added or removed", "raises the epoch", "lists the clients", "lists the resources",
		"writes a shard", "computes a plan", "sets the status", "counts the stopped members", "sweeps a barrier",
		"the epoch is raised by hand", "sees another epoch", "reads its shard", "reads the status", "reads a barrier", "reads a barrier again",
		"finds the owner of a barrier gone", "tries to take a barrier", "tries to take a barrier, and hears nothing",
		"has started", "has stopped", "releases", "says that it has stopped", "says that it has stopped no more",
	} {
		require.Positive(t, done[what], "%q never happens", what)
		delete(done, what)
	}
	require.Empty(t, done, "unexpected steps")
}

// TestSoakInterleavings tries all interleavings of the larger groups with ZKTEST_SEEDS,
// and otherwise a part of each.
func TestSoakInterleavings(t *testing.T) {
	if world.Seeds(0) > 0 {
		exploreAll(t, soaks(), soakLimit)
		return
	}
	for _, g := range soaks() {
		for mode, name := range []string{Resource: "resource", Global: "global"} {
			m := g.model
			m.mode = Mode(mode)
			n, err := m.explore(soakPart)
			require.ErrorIs(t, err, errModelTooMany, "%s/%s", g.name, name)
			require.GreaterOrEqual(t, n, soakPart, "%s/%s", g.name, name)
		}
	}
}

// exploreAll explores groups in both modes, and returns how often each step was taken.
func exploreAll(t *testing.T, groups []group, limit int) map[string]int {
	var mu sync.Mutex
	done, total := map[string]int{}, 0
	t.Run("groups", func(t *testing.T) {
		for _, g := range groups {
			for mode, name := range []string{Resource: "resource", Global: "global"} {
				if testing.Short() && !g.short || g.only != "" && g.only != name {
					continue
				}
				m := g.model
				if m.mode = Mode(mode); m.complete && m.mode == Global {
					continue // the same in this mode
				}
				t.Run(g.name+"/"+name, func(t *testing.T) {
					t.Parallel()
					began := time.Now()
					n, err := m.explore(limit)
					t.Logf("%d states in %v", n, time.Since(began).Round(time.Millisecond))
					require.NoError(t, err)
					mu.Lock()
					defer mu.Unlock()
					total += n
					for _, what := range slices.Collect(maps.Keys(m.done)) {
						done[what] += m.done[what]
					}
				})
			}
		}
	})
	t.Logf("%d states", total)
	return done
}
