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

// The rules of readers and writers against a simulation with the queue alone.

const (
	reads  = "r-"
	writes = "w-"
)

func isWriter(marker string) bool { return marker == writes }

// sharedName is a contender's name, made unique by which.
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

// dumbShared is the definition: no contender before a writer, no writer before
// a reader.
func dumbShared(q znode.Queue, self int) bool {
	for _, e := range q.Entries[:self] {
		if isWriter(e.Marker) || isWriter(q.Entries[self].Marker) {
			return false
		}
	}
	return true
}

// sharedWaiter is a contender with its last listing.
type sharedWaiter struct {
	seen    znode.Queue
	granted bool
	d       contender.Decision
}

// applyRule has name apply its rule to q.
func (w *sharedWaiter) applyRule(q znode.Queue, name string) {
	w.seen = q
	self := q.Index(name)
	w.d = sharedRule(q.Entries[self])(q, self)
	w.granted = w.d.Granted
}

// onDeparture tells name of the departure of gone; q is the present queue.
func (w *sharedWaiter) onDeparture(t *rapid.T, q znode.Queue, name, gone string) {
	switch {
	case w.d.Enough:
		w.granted = true
	case w.d.Shrinks && gone != w.d.Recheck:
		w.applyRule(without(w.seen, gone), name)
	default:
		w.applyRule(q, name)
	}
	// A contender that had left before the watch was set is noticed at once.
	for !w.granted && slices.ContainsFunc(w.d.Watch, func(n string) bool { return q.Index(n) < 0 }) {
		w.applyRule(q, name)
	}
	if w.granted != dumbShared(q, q.Index(name)) {
		t.Fatalf("%s granted=%v in %v", name, w.granted, q.Entries)
	}
}

// Contenders come, leave, and turn from writers into readers in any order. Each
// contender is granted at the moment given by the queue, not before, although it
// looks only after the departure of a watched contender.
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
				waiters[name].applyRule(q, name)
			case kind == "leave": // a holder releases, or a waiter gives up or dies
				gone = rapid.SampledFrom(q.Entries).Draw(t, "leaves").Name
				q = without(q, gone)
			case isWriter(q.Entries[0].Marker): // the holder downgrades
				old := q.Entries[0]
				gone = old.Name
				q = without(q, gone)
				name := add(reads, int(old.Seq))
				waiters[name].applyRule(q, name)
			}
			delete(waiters, gone)
			for name, w := range waiters {
				if !w.granted && slices.Contains(w.d.Watch, gone) {
					w.onDeparture(t, q, name, gone)
				}
			}
			checkShared(t, q, waiters)
		}
	})
}

// checkShared requires that every waiter knows its grant by the queue.
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

// The rule of writers avoids a mistake: with the mutex's rule two contenders would
// hold the lock after a downgrade.
func TestMutexRuleWouldGrantBesideADowngradedWriter(t *testing.T) {
	q := sharedQueue("ww")
	require.True(t, contender.Exclusive(q, 1).Enough, "the departure of the first would be a grant")
	d := contender.Writer(isWriter)(q, 1)
	require.False(t, d.Enough)
	require.Equal(t, q.Entries[0].Name, d.Recheck, "the writer must look at the queue")
	down := znode.Parse([]string{sharedName(reads, 9, 0), q.Entries[1].Name}, reads, writes)
	d = contender.Writer(isWriter)(down, 1)
	require.False(t, d.Granted)
	require.Equal(t, contender.Decision{Watch: []string{down.Entries[0].Name}, Enough: true, Shrinks: true}, d)
}

// A writer watches sixteen readers at most.
func TestWritersWatchABoundedNumberOfReaders(t *testing.T) {
	q := sharedQueue("w" + strings.Repeat("r", 40) + "w")
	d := contender.Writer(isWriter)(q, 41)
	require.Len(t, d.Watch, 16)
	require.Equal(t, q.Entries[40].Name, d.Watch[0])
	require.Empty(t, d.Recheck, "that writer is not watched")
}

// N25, N26: the watched contenders, and the waits without a request.
func TestReadersWatchTheLastWriterAndWritersTheReadersToo_N25_N26(t *testing.T) {
	for _, tc := range []struct {
		queue   string
		granted bool
		watch   string // the indices of the watched contenders
		enough  bool
	}{
		{queue: "r", granted: true},
		{queue: "w", granted: true},
		{queue: "rr", granted: true},
		{queue: "rrrr", granted: true},
		{queue: "wr", watch: "0", enough: true},
		{queue: "wrrr", watch: "0", enough: true},
		{queue: "wrwrr", watch: "2"},
		{queue: "rwr", watch: "1", enough: true},
		{queue: "rw", watch: "0", enough: true},
		{queue: "rrw", watch: "10"},
		{queue: "ww", watch: "0"},
		{queue: "wrw", watch: "10"},
		{queue: "rww", watch: "1"},
		{queue: "wrwrrw", watch: "432"},
		{queue: "rrrrrrrrrw", watch: "876543210"},
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
			var watch []string
			for _, i := range tc.watch {
				watch = append(watch, q.Entries[i-'0'].Name)
			}
			require.Equal(t, watch, d.Watch)
			require.True(t, d.Shrinks)
			recheck := ""
			if last := q.Entries[tc.watch[len(tc.watch)-1]-'0']; strings.HasSuffix(tc.queue, "w") && isWriter(last.Marker) {
				recheck = last.Name
			}
			require.Equal(t, recheck, d.Recheck, "a writer ahead of a writer may become a reader")
		})
	}
}

// Newcomers behind a contender change nothing for the contender.
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
