package core

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// around is the world around a coordinator: the written records, and the writes in flight.
type around struct {
	*rapid.T // random choices
	t        require.TestingT
	cfg      Config
	c        *Coordinator
	now      time.Time
	wake     time.Time

	shards  map[string]Shard
	status  Status
	members []Member
	rs      []string
	acks    map[string]int64
	paused  bool

	// slowly: plans are computed while other things happen. plan is in progress, with the
	// members of its moment.
	slowly  bool
	plan    *Plan
	planned []Member

	write  *Write
	set    *Status
	begun  time.Time // the last write
	moves  map[Move]bool
	writes int
	last   int64 // generation of the last write

	inherited int // moves of the coordinator before
}

func (a *around) say(s Step) {
	if s.Plan != nil {
		a.plan, a.planned = s.Plan, a.members
		if !a.slowly {
			a.plan, s = nil, a.c.computed(a.now, s)
		}
	}
	if s.Write != nil {
		require.Nil(a.t, a.write, "two writes at once")
		require.Nil(a.t, a.set, "a write while the status is set")
		if !a.begun.IsZero() {
			require.False(a.t, a.now.Before(a.begun.Add(a.cfg.MinInterval)), "too early")
		}
		require.Greater(a.t, s.Write.Generation, max(a.last, a.generation()), "the generation")
		a.last = s.Write.Generation
		a.write, a.begun = s.Write, a.now
		a.writes++
		a.check()
	}
	if s.SetStatus != nil {
		require.Nil(a.t, a.set, "two statuses at once")
		require.Nil(a.t, a.write)
		require.True(a.t, a.status.isBefore(*s.SetStatus))
		a.set = s.SetStatus
	}
	if s.AwaitMoves != nil {
		a.moves = map[Move]bool{}
		for _, m := range s.AwaitMoves {
			a.moves[m] = true
		}
		require.LessOrEqual(a.t, len(a.moves), a.cfg.MaxMoves+a.inherited, "moves")
	}
	require.NoError(a.t, s.Err)
	a.wake = s.Wake
}

func (a *around) generation() int64 {
	g := a.status.Generation
	for _, s := range a.shards {
		g = max(g, s.Generation)
	}
	return g
}

// check: the planned write names no resource twice, and takes no more from live
// members than allowed.
func (a *around) check() {
	after := maps.Clone(a.shards)
	maps.Copy(after, a.write.Set)
	for _, key := range a.write.Delete {
		delete(after, key)
	}
	owner, from, alive := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, m := range a.planned {
		alive[m.Client] = true
	}
	for key, s := range after {
		for _, r := range s.Resources {
			if !alive[s.Client] {
				continue // the client may be gone: this shard is not read
			}
			require.Empty(a.t, owner[r], "%s is in two shards", r)
			owner[r] = key
		}
	}
	taken := 0
	twice := a.claimedTwice()
	for _, m := range a.planned {
		for _, r := range a.shards[m.Key].Resources {
			if to := owner[r]; to != "" && to != m.Key && !twice[r] {
				from[r] = m.Key
				taken++
			}
		}
	}
	if a.cfg.MaxMoves > 0 {
		require.LessOrEqual(a.t, taken, a.cfg.MaxMoves, "%v of %v", from, a.shards)
	}
}

// claimedTwice are the resources in two shards: moves begun but not completed
// by the former coordinator. Such a move is completed in addition to the
// allowed moves.
func (a *around) claimedTwice() map[string]bool {
	once, twice := map[string]bool{}, map[string]bool{}
	for _, s := range a.shards {
		for _, r := range s.Resources {
			twice[r] = once[r]
			once[r] = true
		}
	}
	maps.DeleteFunc(twice, func(_ string, is bool) bool { return !is })
	return twice
}

// finish carries out the write in flight.
func (a *around) finish() bool {
	switch {
	case a.plan != nil:
		p := a.plan
		a.plan = nil
		a.say(a.c.Planned(a.now, p, p.Compute(context.Background())))
	case a.write != nil:
		for _, key := range a.write.Delete {
			delete(a.shards, key)
		}
		maps.Copy(a.shards, a.write.Set)
		a.write = nil
		a.say(a.c.Wrote(a.now))
	case a.set != nil:
		a.status, a.set = *a.set, nil
		a.say(a.c.StatusSet(a.now))
	case len(a.moves) > 0:
		a.moves = map[Move]bool{}
		a.say(a.c.Moved(a.now, nil))
	case a.cfg.Mode == Global && a.status.State != Confirmed && a.writes > 0:
		before := a.status
		for _, m := range a.members {
			a.acks[m.Client] = a.status.Generation
			if a.status.State == Assigned {
				delete(a.acks, m.Client)
			}
		}
		a.count()
		return a.set != nil || a.status != before
	default:
		return false
	}
	return true
}

func (a *around) count() {
	clients := []string{"stranger"}
	for _, m := range a.members {
		clients = append(clients, m.Client)
	}
	a.say(a.c.Acks(a.now, clients, maps.Clone(a.acks)))
}

func (a *around) change() {
	switch rapid.IntRange(0, 6).Draw(a.T, "change") {
	case 0, 1:
		a.members = nil
		for i := range 5 {
			if n := rapid.IntRange(0, 3).Draw(a.T, "member"); n > 0 {
				m := Member{Client: fmt.Sprintf("c%d.%d", i, n), Key: fmt.Sprintf("c%d.%d", i, n)}
				if i < 3 {
					m.Key, m.Static = fmt.Sprint("i", i), true
				}
				a.members = append(a.members, m)
			}
		}
		a.say(a.c.Members(a.now, slices.Clone(a.members)))
	case 2:
		a.rs = nil
		for i := range 8 {
			if rapid.Bool().Draw(a.T, "resource") {
				a.rs = append(a.rs, fmt.Sprint("r", i))
			}
		}
		a.say(a.c.Resources(a.now, a.rs))
	case 3:
		a.paused = rapid.Bool().Draw(a.T, "pause")
		a.say(a.c.Paused(a.now, a.paused))
	case 4:
		a.now = a.now.Add(time.Duration(rapid.IntRange(1, 30).Draw(a.T, "seconds")) * time.Second)
		a.say(a.c.Tick(a.now))
	case 5:
		for m := range maps.Clone(a.moves) {
			if rapid.Bool().Draw(a.T, "over") {
				delete(a.moves, m)
			}
		}
		if len(a.moves) > 0 {
			a.say(a.c.Moved(a.now, slices.Collect(maps.Keys(a.moves))))
		}
	case 6:
		if a.cfg.Mode == Global && a.write == nil && a.set == nil {
			a.count()
		}
	}
}

// rounds is how often rapid checks, a hundred times each.
func rounds(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// R10, R22, R31, R35, R40-R49, X12
func TestCoordinatorComesToRestWithEverythingAssignedOnce_X12(t *testing.T) {
	for mode, name := range []string{"resource", "global"} {
		t.Run(name, func(t *testing.T) {
			for range rounds(15) {
				rapid.Check(t, func(t *rapid.T) { term(t, Mode(mode)) })
			}
		})
	}
}

func term(t *rapid.T, mode Mode) {
	seconds := func(label string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int{0, 0, 7, 20}).Draw(t, label)) * time.Second
	}
	a := &around{
		T: t, t: t, now: time.Time{}.Add(time.Hour), shards: map[string]Shard{}, acks: map[string]int64{},
		slowly: rapid.Bool().Draw(t, "slowly"),
		cfg: Config{
			Mode: mode, Assignor: assignor.Sticky(), MaxMoves: rapid.IntRange(0, 2).Draw(t, "moves"),
			InitialDelay: seconds("initial"), DepartureDelay: seconds("departure"), MinInterval: seconds("interval"),
		},
	}
	for range rapid.IntRange(1, 3).Draw(t, "coordinators") {
		// The previous coordinator's write may have been carried out in part.
		if a.write != nil {
			for key, s := range a.write.Set {
				if rapid.Bool().Draw(t, "written") {
					a.shards[key] = s
				}
			}
		}
		a.plan, a.write, a.set, a.begun, a.moves, a.writes, a.last = nil, nil, nil, time.Time{}, nil, 0, 0
		a.inherited = len(a.claimedTwice())
		a.c = NewCoordinator(a.cfg, a.now, a.shards, a.status)
		a.say(a.c.Paused(a.now, a.paused))
		a.say(a.c.Resources(a.now, a.rs))
		a.say(a.c.Members(a.now, slices.Clone(a.members)))
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "finish") {
				a.finish()
			} else {
				a.change()
			}
		}
	}
	a.rest()
}

// rest lets all writes and delays end; then every resource is assigned to a live member.
func (a *around) rest() {
	a.paused = false
	a.say(a.c.Paused(a.now, false))
	for n := 0; ; n++ {
		require.Less(a.t, n, 500, "the group does not come to rest")
		if a.finish() {
			continue
		}
		if a.wake.IsZero() {
			break
		}
		a.now = a.wake
		a.say(a.c.Tick(a.now))
	}
	alive := map[string]bool{}
	for _, m := range a.members {
		alive[m.Client] = true
	}
	var got, sizes []string
	for _, s := range a.shards {
		require.True(a.t, alive[s.Client] || len(s.Resources) == 0, "%+v is for no live member", s)
		got = append(got, s.Resources...)
		sizes = append(sizes, fmt.Sprint(len(s.Resources)))
	}
	slices.Sort(got)
	if len(a.members) == 0 {
		require.Empty(a.t, got)
		return
	}
	require.Equal(a.t, strings.Join(a.rs, " "), strings.Join(got, " "), "%v", sizes)
	if a.cfg.Mode == Global {
		require.Equal(a.t, Confirmed, a.status.State)
	}
}

// A static restart moves nothing; 20 of them, one after the other, the coordinator
// among them, move nothing either.
func TestRollingRestartMovesNothing(t *testing.T) {
	for mode, name := range []string{"resource", "global"} {
		for _, resources := range []int{0, 1, 19, 20, 21, 50, 60} {
			t.Run(fmt.Sprint(name, resources), func(t *testing.T) { rollingRestart(t, Mode(mode), resources) })
		}
	}
}

func rollingRestart(t *testing.T, mode Mode, resources int) {
	a := &around{
		t: t, now: time.Time{}.Add(time.Hour), shards: map[string]Shard{}, acks: map[string]int64{},
		cfg: Config{Mode: mode, Assignor: assignor.Sticky(), DepartureDelay: time.Minute},
	}
	for i := range resources {
		a.rs = append(a.rs, fmt.Sprintf("r%03d", i))
	}
	const n = 20
	for i := range n {
		a.members = append(a.members, Member{Client: fmt.Sprintf("c%02d.0", i), Key: fmt.Sprintf("i%02d", i), Static: true})
	}
	had := map[string][]string{}
	hear := func(elected bool) {
		if elected {
			a.write, a.set, a.begun, a.last = nil, nil, time.Time{}, 0
			a.c = NewCoordinator(a.cfg, a.now, a.shards, a.status)
			a.say(a.c.Resources(a.now, a.rs))
		}
		a.say(a.c.Members(a.now, slices.Clone(a.members)))
		for a.finish() {
		}
		for key, rs := range had {
			require.Equal(t, rs, a.shards[key].Resources, key)
		}
	}
	hear(true)
	for key, s := range a.shards {
		had[key] = s.Resources
	}
	for i := range n {
		gone := a.members[0]
		a.members = a.members[1:]
		a.now = a.now.Add(10 * time.Second)
		hear(i%3 == 0) // the former coordinator
		a.now = a.now.Add(20 * time.Second)
		again := Member{Client: fmt.Sprintf("c%02d.1", i), Key: gone.Key, Static: true}
		a.members = append(a.members, again)
		hear(false)
		if s, has := a.shards[gone.Key]; has {
			require.Equal(t, again.Client, s.Client)
		}
	}
}

// A limit below zero takes nothing from live members: core depends on that when all
// allowed moves are in progress.
func TestLimitBelowZeroTakesNothing(t *testing.T) {
	ms := []assignor.Member{{Key: "a", Held: []string{"x", "y"}}, {Key: "b"}}
	target := [][]string{{"x"}, {"y", "z"}}
	require.Equal(t, [][]string{{"x", "y"}, {"z"}}, assignor.Limit(ms, target, -1))
	require.Equal(t, target, assignor.Limit(ms, target, 0))
}

// Of several departed static members, the first departed is given up first,
// independently of the order of a map.
func TestFirstDepartureIsTheOneToWakeFor(t *testing.T) {
	start := time.Time{}.Add(time.Hour)
	current, alive := map[string]Shard{}, []Member{}
	var rs []string
	for i := range 8 {
		key, r := fmt.Sprint("key", i), fmt.Sprint("r", i)
		current[key] = Shard{Client: key + "-1", Generation: 1, Resources: []string{r}}
		alive, rs = append(alive, Member{Client: key + "-1", Key: key, Static: true}), append(rs, r)
	}
	cfg := Config{Mode: Resource, Assignor: assignor.Sticky(), DepartureDelay: time.Minute}
	c := NewCoordinator(cfg, start, current, Status{})
	c.computed(start, c.Resources(start, rs))
	for gone := range 8 {
		at := start.Add(time.Duration(gone) * time.Second)
		require.Nil(t, c.computed(at, c.Members(at, alive[:len(alive)-gone])).Write)
		if gone > 0 {
			require.Equal(t, start.Add(time.Second+cfg.DepartureDelay), c.Tick(at).Wake, "%d have gone", gone)
		}
	}
}
