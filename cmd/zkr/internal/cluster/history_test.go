package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// at is a moment of a story, in milliseconds.
func at(ms int) time.Time { return time.UnixMilli(int64(ms)) }

func leader(name string, token int64, since int) Status {
	return Status{Name: name, Role: Leader, Token: token, Since: at(since)}
}

func TestFailoverIsFromItsCauseToTheFirstServing(t *testing.T) {
	for name, c := range map[string]struct {
		story func(h *history)
		want  []Failover // newest first
	}{
		"the first leader is no failover": {func(h *history) { h.leads(leader("a", 5, 100), at(110)) }, nil},
		"killed": {func(h *history) {
			h.leads(leader("a", 5, 100), at(110))
			h.ordered(at(200), "a", Kill)
			h.leads(leader("b", 7, 1300), at(1350))
			h.leads(leader("b", 7, 1300), at(1550))
		}, []Failover{{From: "a", To: "b", Cause: Kill, Began: at(200), Serving: at(1300), Took: 1100, Token: 7}}},
		"by itself: from its last answer": {func(h *history) {
			h.leads(leader("a", 5, 100), at(110))
			h.leads(leader("a", 5, 100), at(900))
			h.leads(leader("b", 7, 1300), at(1350))
		}, []Failover{{From: "a", To: "b", Began: at(900), Serving: at(1300), Took: 400, Token: 7}}},
		"orders to other nodes, earlier and later orders, and harmless orders are no cause": {func(h *history) {
			h.ordered(at(50), "a", Kill)
			h.leads(leader("a", 5, 100), at(110))
			h.ordered(at(200), "b", Kill)
			h.ordered(at(300), "a", Heal)
			h.ordered(at(1400), "a", Kill)
			h.leads(leader("c", 7, 1300), at(1450))
		}, []Failover{{From: "a", To: "c", Began: at(110), Serving: at(1300), Took: 1190, Token: 7}}},
		"the first order did it": {func(h *history) {
			h.leads(leader("a", 5, 100), at(110))
			h.ordered(at(200), "a", Freeze)
			h.ordered(at(700), "a", Kill)
			h.leads(leader("b", 7, 1300), at(1350))
		}, []Failover{{From: "a", To: "b", Cause: Freeze, Began: at(200), Serving: at(1300), Took: 1100, Token: 7}}},
		"an older leader counts for nothing": {func(h *history) {
			h.leads(leader("b", 7, 1300), at(1350))
			assert.False(t, h.leads(leader("a", 5, 100), at(1400)))
			h.leads(leader("b", 7, 1300), at(1450))
		}, nil},
		"it resigns, no other node is present, and it leads again": {func(h *history) {
			h.leads(leader("a", 5, 100), at(110))
			h.ordered(at(200), "a", Resign)
			h.stopped(&Led{Token: 5, Until: at(203)}) // no leader has followed yet
			h.leads(leader("a", 7, 210), at(250))
			h.stopped(&Led{Token: 5, Until: at(203)})
			h.stopped(&Led{Token: 5, Until: at(999)}) // the first word counts
			h.stopped(nil)
		}, []Failover{{From: "a", To: "a", Cause: Resign, Began: at(200), Stopped: at(203), Serving: at(210), Took: 10, Token: 7}}},
	} {
		var h history
		c.story(&h)
		assert.Equal(t, c.want, told(h.failovers()), name)
	}
}

// proved is an answering leader. By its answer, its session was last proved by
// a request sent at then.
func proved(name string, token int64, since, then int) Status {
	s := leader(name, token, since)
	s.Timeout, s.TrustedUntil = 1000, at(then+1000)
	return s
}

// TestSurvivedOrdersAreNotBlamed: survived disturbances and orders without
// effect spoil no figure.
func TestSurvivedOrdersAreNotBlamed(t *testing.T) {
	give := func(h *history, ms int, what Order) int64 {
		id := h.ordered(at(ms), "a", what)
		h.carried(id, at(ms+5))
		return id
	}
	next := leader("b", 7, 9000)
	for name, c := range map[string]struct {
		story func(h *history)
		cause Order
		began int
	}{
		"frozen, resumed, and killed much later": {func(h *history) {
			give(h, 200, Freeze)
			give(h, 600, Resume)
			h.leads(proved("a", 5, 100, 650), at(700))
			give(h, 8000, Kill)
		}, Kill, 8000},
		"cut off, reconnected, and resigned much later": {func(h *history) {
			give(h, 200, Cut)
			h.leads(proved("a", 5, 100, 150), at(400)) // the leader still trusts its session
			give(h, 600, Heal)
			h.leads(proved("a", 5, 100, 700), at(900))
			give(h, 8000, Resign)
		}, Resign, 8000},
		"frozen, resumed, and gone by itself": {func(h *history) {
			give(h, 200, Freeze)
			h.leads(proved("a", 5, 100, 650), at(700))
			h.leads(proved("a", 5, 100, 7900), at(8100))
		}, "", 8100},
		"resumed, and its session not proved since": {func(h *history) {
			give(h, 200, Freeze)
			give(h, 600, Resume)
			h.leads(proved("a", 5, 100, 190), at(700))
		}, Freeze, 200},
		"cut off, it goes on until its trust runs out": {func(h *history) {
			give(h, 200, Cut)
			for ms := 250; ms < 900; ms += 50 {
				h.leads(proved("a", 5, 100, 199), at(ms))
			}
		}, Cut, 200},
		"cut off, reconnected, and killed: unknown": {func(h *history) {
			give(h, 200, Cut)
			give(h, 600, Heal)
			h.leads(proved("a", 5, 100, 150), at(650))
			give(h, 700, Kill)
		}, "", 650},
		"cut off, frozen, resumed, and killed: still cut off": {func(h *history) {
			give(h, 200, Cut)
			give(h, 300, Freeze)
			give(h, 600, Resume)
			give(h, 700, Kill)
		}, Cut, 200},
		"proved while the order was in flight": {func(h *history) {
			id := h.ordered(at(200), "a", Freeze)
			h.leads(proved("a", 5, 100, 300), at(310))
			h.carried(id, at(320))
		}, Freeze, 200},
		"an answer without a word of trust proves nothing": {func(h *history) {
			give(h, 200, Freeze)
			h.leads(leader("a", 5, 100), at(8000))
		}, Freeze, 200},
		"resigning was refused": {func(h *history) {
			h.undone(h.ordered(at(200), "a", Resign))
			give(h, 8000, Kill)
		}, Kill, 8000},
		"one of two orders was survived": {func(h *history) {
			give(h, 200, Freeze)
			give(h, 700, Cut)
			h.leads(proved("a", 5, 100, 600), at(750))
		}, Cut, 700},
		"the orders of another node are not forgotten": {func(h *history) {
			id := h.ordered(at(8000), "b", Kill)
			h.carried(id, at(8001))
			h.leads(proved("a", 5, 100, 8500), at(8600))
			assert.Len(t, h.orders, 1)
		}, "", 8600},
	} {
		var h history
		h.leads(proved("a", 5, 100, 100), at(110))
		c.story(&h)
		h.leads(next, at(9050))
		want := []Failover{{
			From: "a", To: "b", Cause: c.cause, Began: at(c.began), Serving: at(9000), Took: float64(9000 - c.began), Token: 7,
		}}
		assert.Equal(t, want, told(h.failovers()), name)
	}
}

// TestRefusalIsHeardLate: the next leader serves before the answer to an order
// arrives: not carried out.
func TestRefusalIsHeardLate(t *testing.T) {
	var h history
	h.leads(leader("a", 5, 100), at(900))
	id := h.ordered(at(1000), "a", Resign)
	h.leads(leader("b", 7, 1300), at(1350))
	assert.Equal(t, Resign, h.failovers()[0].Cause)
	h.undone(id + 1)
	assert.Equal(t, Resign, h.failovers()[0].Cause)
	h.undone(id)
	assert.Equal(t, []Failover{{From: "a", To: "b", Began: at(900), Serving: at(1300), Took: 400, Token: 7}}, told(h.failovers()))
}

// TestHistoryIsThatOfTheDumbTwin, which keeps everything, and searches for
// causes only on demand.
func TestHistoryIsThatOfTheDumbTwin(t *testing.T) {
	type event struct {
		given
		undone bool
		answer Status // of a leader, at given.at
	}
	rapid.Check(t, func(t *rapid.T) {
		var h history
		var log []event
		now, token, name, since := 1000, int64(1), "a", 900
		names, orders := rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]Order{Kill, Freeze, Cut, Resign, Heal, Resume})
		answer := func(proof int) {
			s := proved(name, token, since, proof)
			h.leads(s, at(now))
			log = append(log, event{given: given{at: at(now)}, answer: s})
		}
		answer(now)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += rapid.IntRange(1, 300).Draw(t, "pause")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0: // an order and its outcome
				o := given{at: at(now), node: names.Draw(t, "node"), what: orders.Draw(t, "order")}
				o.id = h.ordered(o.at, o.node, o.what)
				end := rapid.IntRange(0, 2).Draw(t, "end")
				now++
				if end == 0 {
					h.undone(o.id)
				} else if end == 1 {
					o.done = at(now)
					h.carried(o.id, o.done)
				}
				log = append(log, event{given: o, undone: end == 0})
			case 1: // another leader
				token, name, since = token+1, names.Draw(t, "next"), now
				now++
				answer(now)
			default:
				answer(now - rapid.IntRange(0, 500).Draw(t, "age"))
			}
		}
		// The twin.
		var want []Failover
		for i, e := range log {
			if e.answer.Token == 0 {
				continue
			}
			var before event
			for _, b := range log[:i] {
				if b.answer.Token != 0 {
					before = b
				}
			}
			if before.answer.Token == 0 || before.answer.Token == e.answer.Token {
				continue
			}
			f := Failover{From: before.answer.Name, To: e.answer.Name, Began: before.at, Serving: e.answer.Since, Token: e.answer.Token}
			lifted, killed := false, false
			for j := i - 1; j >= 0; j-- { // backward: the first stays
				o := log[j]
				gotOver := false
				for _, later := range log[j:i] {
					gotOver = gotOver || later.answer.Name == o.node && !o.done.IsZero() &&
						later.answer.TrustedUntil.Add(-time.Second).After(o.done)
				}
				if o.node == f.From && o.what.disturbs() && !o.undone && !gotOver && o.at.After(before.answer.Since) {
					f.Began, f.Cause = o.at, o.what
					lifted, killed = false, killed || o.what == Kill
					for _, later := range log[j+1 : i] {
						lifted = lifted || later.node == o.node && (o.what == Cut && later.what == Heal || o.what == Freeze && later.what == Resume)
					}
				}
			}
			if lifted && killed {
				f.Began, f.Cause = before.at, ""
			}
			f.Took = float64(f.Serving.Sub(f.Began).Microseconds()) / 1000
			want = append([]Failover{f}, want...)
		}
		assert.Equal(t, want, told(h.failovers()))
	})
}

// TestKillsStandApart: from causes with other durations.
func TestKillsStandApart(t *testing.T) {
	list := []Failover{
		{Cause: Kill, Took: 1000}, {Cause: Resign, Took: 4}, {Cause: Kill, Took: 1100}, {Cause: Resign, Took: 6}, {Cause: Freeze, Took: 1500},
		{Took: 10}, {Cause: Resign, Took: 5}, {Cause: Cut, Took: 1200},
	}
	f := Sum(list)
	assert.Equal(t, Times{N: 2, Min: 1000, Median: 1000, P99: 1100, Max: 1100}, f.Kills)
	var causes []string
	for _, o := range f.Others {
		causes = append(causes, o.Cause.Text())
	}
	assert.Equal(t, []string{"resign", "cut", "freeze", "by itself"}, causes)
	assert.Equal(t, Times{N: 3, Min: 4, Median: 5, P99: 6, Max: 6}, f.Others[0].Times)
	assert.Equal(t, Figures{}, Sum(nil))
	assert.Equal(t, 1000.0, list[0].Took, "the list is unchanged")
}

// TestLeaderOutOfTurnIsNotCounted: the leader joined when all others were dead,
// or after an unobserved leader.
func TestLeaderOutOfTurnIsNotCounted(t *testing.T) {
	registered := func(names ...string) (out []peer) {
		for i, name := range names {
			out = append(out, peer{entry: entry{Name: name, Znode: fmt.Sprintf("/election/x-%010d", i+1)}})
		}
		return out
	}
	assert.EqualValues(t, 2, nextOf(registered("a", "b", "c"), "a"))
	assert.EqualValues(t, -1, nextOf(registered("a", "b", "c"), "c"))
	assert.EqualValues(t, -1, nextOf(registered("b"), "a"), "the order is unknown")
	assert.EqualValues(t, 4, nextOf(registered("a", "b", "a", "c"), "a"), "started again")
	for term, counts := range map[int64]int{2: 1, 3: 0} {
		var h history
		h.leads(leader("a", 5, 100), at(110))
		h.next = nextOf(registered("a", "b"), "a")
		h.ordered(at(200), "a", Kill)
		next := leader("c", 7, 300_000)
		next.Term = term
		h.leads(next, at(300_001))
		assert.Equal(t, counts, Sum(h.failovers()).Kills.N, "term %d", term)
		assert.Equal(t, Kill, h.failovers()[0].Cause)
		assert.Equal(t, counts == 0, h.failovers()[0].OutOfTurn)
	}
}

// told are failovers without their internal fields.
func told(list []Failover) (out []Failover) {
	for _, f := range list {
		f.former, f.order, f.seen = 0, 0, time.Time{}
		out = append(out, f)
	}
	return out
}

// TestGapTellsTwoLeadersApartFromNone: a defect is visible.
func TestGapTellsTwoLeadersApartFromNone(t *testing.T) {
	f := Failover{Cause: Cut, Serving: at(1300), Stopped: at(1000)}
	d, ok := f.Gap()
	assert.True(t, ok)
	assert.Equal(t, 300*time.Millisecond, d)
	assert.Equal(t, "stopped 300 ms before", gap(f))
	f.Stopped = at(1400)
	assert.Equal(t, "BOTH served for 0.10 s", gap(f))
	f.Stopped = time.Time{}
	assert.Equal(t, "not known yet", gap(f))
	f.Cause, f.Stopped = Freeze, at(9000)
	assert.Equal(t, "it did not run", gap(f))
	f.Cause = Kill
	assert.Equal(t, "it was dead", gap(f))
}

func TestHistoryForgetsTheOldest(t *testing.T) {
	var h history
	for i := range 3 * kept {
		h.ordered(at(10*i), "a", Kill)
		h.leads(leader("a", int64(i+1), 10*i+5), at(10*i+6))
	}
	list := h.failovers()
	require.Len(t, list, kept)
	assert.EqualValues(t, 3*kept, list[0].Token)
	assert.Empty(t, h.orders, "all of them had their effect")
	h.leads(leader("b", 9999, 9e5), at(9e5))
	assert.Equal(t, kept, Sum(h.failovers()).Kills.N, "of each cause")
	assert.Len(t, h.failovers(), kept+1)
	for i := range 3 * kept {
		h.ordered(at(1e6+i), "a", Kill)
	}
	assert.Len(t, h.orders, kept, "the outcome of these orders is unknown")
}

// TestPercentilesAreThoseOfTheDumbTwin, which counts values.
func TestPercentilesAreThoseOfTheDumbTwin(t *testing.T) {
	assert.Equal(t, Times{}, Measure(nil))
	rapid.Check(t, func(t *rapid.T) {
		took := rapid.SliceOfN(rapid.Float64Range(0, 1e5), 1, 150).Draw(t, "took")
		var list []Failover
		for _, ms := range took {
			list = append(list, Failover{Took: ms})
		}
		twin := func(hundredths int) float64 {
			best := slices.Max(took)
			for _, ms := range took {
				below := 0
				for _, other := range took {
					if other <= ms {
						below++
					}
				}
				if 100*below >= hundredths*len(took) {
					best = min(best, ms)
				}
			}
			return best
		}
		assert.Equal(t, Times{N: len(took), Min: slices.Min(took), Median: twin(50), P99: twin(99), Max: slices.Max(took)}, Measure(list))
	})
}
