package contender_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"pgregory.net/rapid"
)

// The rules against a simulation with the queue alone.

const marker = "n-"

// queueOf makes a queue of contenders with the given weights, numbered from
// first on; names begin with anything.
func queueOf(weights []int, first int) znode.Queue {
	var names []string
	for i, w := range weights {
		names = append(names, fmt.Sprintf("%c%d-%s%010d", 'z'-byte(i*7%26), w, marker, first+i))
	}
	return znode.Parse(names, marker)
}

// weightOf reads the weight in a name of queueOf.
func weightOf(name string) int {
	w, err := strconv.Atoi(strings.TrimLeft(strings.SplitN(name, "-", 2)[0], "abcdefghijklmnopqrstuvwxyz"))
	if err != nil {
		panic(err)
	}
	return w
}

func without(q znode.Queue, name string) znode.Queue {
	q.Entries = slices.DeleteFunc(slices.Clone(q.Entries), func(e znode.Entry) bool { return e.Name == name })
	return q
}

// dumbGrant is the definition: the permits of all contenders ahead and of the
// contender itself fit together.
func dumbGrant(q znode.Queue, name string, total int) bool {
	sum := 0
	for _, e := range q.Entries {
		sum += weightOf(e.Name)
		if e.Name == name {
			return sum <= total
		}
	}
	return false
}

// simulateDepartures lets contenders depart in a random order. Each waiter looks
// only when a watched contender departs, as in a real queue. The result is the
// largest number of waiters that one departure woke.
func simulateDepartures(t *rapid.T, rule contender.Rule, weights []int, total int) (wakes int) {
	q := queueOf(weights, 0)
	type waiter struct {
		granted bool
		d       contender.Decision
	}
	waiters := map[string]*waiter{}
	look := func(name string) {
		w := waiters[name]
		w.d = rule(q, q.Index(name))
		w.granted = w.d.Granted
	}
	for _, e := range q.Entries {
		waiters[e.Name] = &waiter{}
		look(e.Name)
	}
	verify := func() {
		held := 0
		for _, e := range q.Entries {
			w := waiters[e.Name]
			if w.granted != dumbGrant(q, e.Name, total) {
				t.Fatalf("%s granted=%v in %v, total %d", e.Name, w.granted, q.Entries, total)
			}
			if w.granted {
				held += weightOf(e.Name)
			}
			for _, name := range w.d.Watch {
				if !w.granted && q.Index(name) < 0 {
					t.Fatalf("%s watches %s, which is gone", e.Name, name)
				}
			}
		}
		if held > total {
			t.Fatalf("%d of %d granted", held, total)
		}
	}
	verify()
	for len(q.Entries) > 0 {
		// A holder releases, or a waiter gives up or dies.
		gone := rapid.SampledFrom(q.Entries).Draw(t, "departs").Name
		q = without(q, gone)
		delete(waiters, gone)
		woken := 0
		for _, e := range slices.Clone(q.Entries) {
			w := waiters[e.Name]
			if w.granted || !slices.Contains(w.d.Watch, gone) {
				continue
			}
			woken++
			enough := w.d.Enough
			look(e.Name)
			if enough && !w.granted {
				t.Fatalf("%s was told that %s going is enough; it is not: %v", e.Name, gone, q.Entries)
			}
		}
		wakes = max(wakes, woken)
		verify()
	}
	return wakes
}

func TestExclusiveWaiterNeverMissesItsGrant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := slices.Repeat([]int{1}, rapid.IntRange(1, 30).Draw(t, "contenders"))
		if wakes := simulateDepartures(t, contender.Exclusive, weights, 1); wakes > 2 {
			t.Fatalf("a departure woke %d", wakes)
		}
	})
}

func TestWeightedWaiterNeverMissesItsGrant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 12).Draw(t, "total")
		weights := rapid.SliceOfN(rapid.IntRange(1, total), 1, 30).Draw(t, "weights")
		if wakes := simulateDepartures(t, contender.Weighted(total, weightOf), weights, total); wakes > max(total, 2) {
			t.Fatalf("a departure woke %d, of %d permits", wakes, total)
		}
	})
}

// Newcomers behind a contender change nothing for the contender.
func TestRulesAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 8).Draw(t, "total")
		weights := rapid.SliceOfN(rapid.IntRange(1, total), 2, 20).Draw(t, "weights")
		all := queueOf(weights, 0)
		n := rapid.IntRange(1, len(weights)).Draw(t, "before")
		for _, rule := range []contender.Rule{contender.Exclusive, contender.Weighted(total, weightOf)} {
			for i := range n {
				early := znode.Queue{Entries: all.Entries[:n]}
				require.Equal(t, rule(early, i), rule(all, i))
			}
		}
	})
}

func TestWeightedOfOneIsExclusive(t *testing.T) {
	one := contender.Weighted(1, func(string) int { return 1 })
	q := queueOf([]int{1, 1, 1, 1, 1}, 5)
	for i := range q.Entries {
		want := contender.Exclusive(q, i)
		want.Shrinks = false // a semaphore that shrinks would have to weigh again
		require.Equal(t, want, one(q, i), "contender %d", i)
	}
}

func TestExclusiveTellsWhenAListingIsNeeded(t *testing.T) {
	q := queueOf([]int{1, 1, 1}, 0)
	require.Equal(t, contender.Decision{Granted: true}, contender.Exclusive(q, 0))
	require.True(t, contender.Exclusive(q, 1).Enough, "the predecessor is the holder")
	require.False(t, contender.Exclusive(q, 2).Enough, "the predecessor may be a waiter that gives up")
}

// A stranger with too large a demand waits indefinitely, and blocks later
// contenders, but is never granted, and grants no other contender more.
func TestWeightedNeverGrantsMoreThanThereIs(t *testing.T) {
	rule := contender.Weighted(3, weightOf)
	q := queueOf([]int{5, 1}, 0)
	require.False(t, rule(q, 0).Granted)
	require.False(t, rule(q, 1).Granted)
	require.False(t, rule(q, 1).Enough && rule(q, 0).Granted)
	q = queueOf([]int{2, 5, 1}, 0)
	require.True(t, rule(q, 0).Granted)
	require.False(t, rule(q, 1).Granted)
	require.False(t, rule(q, 2).Granted)
}
