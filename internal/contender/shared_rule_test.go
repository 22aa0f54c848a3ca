package contender_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"pgregory.net/rapid"
)

// The rules of readers and writers against a simulation that knows nothing but
// the queue.

const (
	reads  = "r-"
	writes = "w-"
)

func isWriter(marker string) bool { return marker == writes }

// sharedName is a contender's name; which is what makes it unique.
func sharedName(marker string, which, seq int) string {
	return fmt.Sprintf("%c%d-%s%010d", 'z'-byte(which*7%26), which, marker, seq)
}

// sharedQueue makes a queue of 'r' and 'w'.
func sharedQueue(kinds string) znode.Queue {
	var names []string
	for i, k := range kinds {
		names = append(names, sharedName(string(k)+"-", i, i))
	}
	return znode.Parse(names, reads, writes)
}

func sharedRule(e znode.Entry) contender.Rule {
	if isWriter(e.Marker) {
		return contender.Writer(isWriter)
	}
	return contender.Reader(isWriter)
}

// dumbShared is the definition: nobody before a writer, no writer before a
// reader.
func dumbShared(q znode.Queue, self int) bool {
	for _, e := range q.Entries[:self] {
		if isWriter(e.Marker) || isWriter(q.Entries[self].Marker) {
			return false
		}
	}
	return true
}

// sharedWaiter is a contender as it sees things: by its last listing.
type sharedWaiter struct {
	seen    znode.Queue
	granted bool
	d       contender.Decision
}

// look has name apply its rule to q.
func (w *sharedWaiter) look(q znode.Queue, name string) {
	w.seen = q
	self := q.Index(name)
	w.d = sharedRule(q.Entries[self])(q, self)
	w.granted = w.d.Granted
}

// wake tells name that gone has left; q is the queue as it is now.
func (w *sharedWaiter) wake(t *rapid.T, q znode.Queue, name, gone string) {
	switch {
	case w.d.Enough:
		w.granted = true
	case w.d.Shrinks:
		w.look(without(w.seen, gone), name)
	default:
		w.look(q, name)
	}
	// A contender that had gone before it could be watched is noticed at once.
	for !w.granted && slices.ContainsFunc(w.d.Watch, func(n string) bool { return q.Index(n) < 0 }) {
		w.look(q, name)
	}
	if w.granted != dumbShared(q, q.Index(name)) {
		t.Fatalf("%s granted=%v in %v", name, w.granted, q.Entries)
	}
}

// Contenders come, leave, and turn from writers into readers in any order: each
// is granted at the moment at which the queue says so, not before, although it
// looks only when one that it watches has gone.
func TestReadersAndWritersNeverMissTheirGrant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, next := znode.Queue{}, 0
		waiters := map[string]*sharedWaiter{}
		add := func(marker string, seq int) string {
			name := sharedName(marker, next, seq)
			next++
			names := []string{name}
			for _, e := range q.Entries {
				names = append(names, e.Name)
			}
			q = znode.Parse(names, reads, writes)
			waiters[name] = &sharedWaiter{}
			return name
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			kind := rapid.SampledFrom([]string{"read", "write", "leave", "leave", "downgrade"}).Draw(t, "step")
			gone := ""
			switch {
			case kind == "read" || kind == "write" || len(q.Entries) == 0:
				name := add(map[bool]string{true: writes, false: reads}[kind == "write"], next)
				waiters[name].look(q, name)
			case kind == "leave": // a holder releases, or a waiter gives up or dies
				gone = rapid.SampledFrom(q.Entries).Draw(t, "leaves").Name
				q = without(q, gone)
			case isWriter(q.Entries[0].Marker): // the holder downgrades
				old := q.Entries[0]
				gone = old.Name
				q = without(q, gone)
				name := add(reads, int(old.Seq))
				waiters[name].look(q, name)
			}
			delete(waiters, gone)
			for name, w := range waiters {
				if !w.granted && slices.Contains(w.d.Watch, gone) {
					w.wake(t, q, name, gone)
				}
			}
			checkShared(t, q, waiters)
		}
	})
}

// checkShared wants everybody to know what the queue says.
func checkShared(t *rapid.T, q znode.Queue, waiters map[string]*sharedWaiter) {
	for name, w := range waiters {
		self := q.Index(name)
		if w.granted != dumbShared(q, self) {
			t.Fatalf("%s granted=%v in %v", name, w.granted, q.Entries)
		}
		for _, watched := range w.d.Watch {
			if at := q.Index(watched); !w.granted && (at < 0 || at >= self) {
				t.Fatalf("%s watches %s, in %v", name, watched, q.Entries)
			}
		}
	}
}

// The mistake that the rule of writers avoids: with the mutex's rule two would
// hold it after a downgrade.
func TestMutexRuleWouldGrantBesideADowngradedWriter(t *testing.T) {
	q := sharedQueue("ww")
	require.True(t, contender.Exclusive(q, 1).Enough, "the first one's going would be a grant")
	d := contender.Writer(isWriter)(q, 1)
	require.False(t, d.Enough || d.Shrinks, "it must look at the queue")
	down := znode.Parse([]string{sharedName(reads, 9, 0), q.Entries[1].Name}, reads, writes)
	d = contender.Writer(isWriter)(down, 1)
	require.False(t, d.Granted)
	require.Equal(t, contender.Decision{Watch: []string{down.Entries[0].Name}, Enough: true}, d)
}

// N25, N26: who watches whom, and who need not ask.
func TestReadersAndWritersWatchOne_N25_N26(t *testing.T) {
	for _, tc := range []struct {
		queue   string
		granted bool
		watch   int // the index of the one that is watched
		enough  bool
	}{
		{queue: "r", granted: true},
		{queue: "w", granted: true},
		{queue: "rr", granted: true},
		{queue: "rrrr", granted: true},
		{queue: "wr", watch: 0, enough: true},
		{queue: "wrrr", watch: 0, enough: true},
		{queue: "wrwrr", watch: 2},
		{queue: "rwr", watch: 1, enough: true},
		{queue: "rw", watch: 0, enough: true},
		{queue: "rrw", watch: 1},
		{queue: "ww", watch: 0},
		{queue: "wrw", watch: 1},
	} {
		t.Run(tc.queue, func(t *testing.T) {
			q := sharedQueue(tc.queue)
			self := len(q.Entries) - 1
			d := sharedRule(q.Entries[self])(q, self)
			require.Equal(t, tc.granted, d.Granted)
			require.Equal(t, tc.enough, d.Enough)
			if tc.granted {
				require.Empty(t, d.Watch)
				return
			}
			require.Equal(t, []string{q.Entries[tc.watch].Name}, d.Watch)
			require.Equal(t, strings.HasSuffix(tc.queue, "r"), d.Shrinks, "only what is ahead of a reader just shrinks")
		})
	}
}

// Newcomers behind a contender change nothing for it.
func TestSharedRulesAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.StringMatching(`[rw]{2,20}`).Draw(t, "queue")
		all := sharedQueue(kinds)
		n := rapid.IntRange(1, len(kinds)).Draw(t, "before")
		for i := range n {
			early := znode.Queue{Entries: all.Entries[:n]}
			rule := sharedRule(all.Entries[i])
			require.Equal(t, rule(early, i), rule(all, i))
		}
	})
}
