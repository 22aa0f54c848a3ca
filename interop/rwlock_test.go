//go:build unix

package interop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rwlock"
)

// TestRWLockIsSharedWithCurator: InterProcessReadWriteLock and ours on one path
// (N25, N26).
func TestRWLockIsSharedWithCurator(t *testing.T) {
	t.Parallel()
	java, we := start(t, curator, timeout), start(t, ours, timeout)
	// That readers are inside together is TestRWLockQueuesInOneOrder's.
	hammer(t, scaled(120), ask{"recipe": "rw", "writes": 4, "path": fresh("rw")},
		crew{java, 4, nil}, crew{we, 4, nil}).finish(rules{})
}

// TestRWLockIsSharedWithKazoo: Kazoo's ReadLock and WriteLock and ours on one
// path. Kazoo's readers wait for writers that came later, too (see below), so
// they have to give up now and then.
func TestRWLockIsSharedWithKazoo(t *testing.T) {
	t.Parallel()
	python, we := start(t, kazoo, timeout), start(t, ours, timeout)
	hammer(t, scaled(50), ask{"recipe": "rw", "layout": "kazoo", "writes": 4, "path": fresh("rw"), "patience": 0.1},
		crew{python, 3, nil}, crew{we, 3, nil}).finish(rules{})

	// Readers are inside together, in any order of their arrival.
	path := fresh("rw")
	read := func(p *peer, as string) int64 {
		return p.number(t, ask{"do": "hold", "recipe": "read", "layout": "kazoo", "path": path, "as": as, "client": as})
	}
	tokens := []int64{read(python, "a")}
	tokens = append(tokens, read(we, "b"), read(python, "c"))
	require.IsIncreasing(t, tokens)
	for as, p := range map[string]*peer{"a": python, "b": we, "c": python} {
		p.do(t, ask{"do": "release", "as": as})
	}
}

// TestRWLockGoesOnWhenPeersAreKilled: readers and writers.
func TestRWLockGoesOnWhenPeersAreKilled(t *testing.T) {
	t.Parallel()
	for kind, layout := range map[string]string{curator: "curator", kazoo: "kazoo"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			killInTheMiddle(t, kind, scaled(20), ask{"recipe": "rw", "layout": layout, "writes": 3, "patience": 0.1}, rules{})
		})
	}
}

// TestRWLockQueuesInOneOrder: a reader passes no writer that came before it, in
// whatever they are written, and readers that stand together enter together.
func TestRWLockQueuesInOneOrder(t *testing.T) {
	t.Parallel()
	java, we, c, path := start(t, curator, timeout), start(t, ours, timeout), connect(t), fresh("rw")
	held, err := rwlock.New(c, path, nil).Lock(t.Context())
	require.NoError(t, err)
	groups := [][]string{{"read", "read", "read"}, {"write"}, {"write"}, {"read", "read"}}
	var waiting [][]*call
	n := 0
	for _, group := range groups {
		var calls []*call
		for _, recipe := range group {
			n++
			as := fmt.Sprint(n)
			calls = append(calls, []*peer{java, we}[n%2].sendRequest(ask{"do": "hold", "recipe": recipe, "path": path, "as": as, "client": as}))
			queued(t, c, path, n+1)
		}
		waiting = append(waiting, calls)
	}
	list, err := rwlock.New(c, path, nil).Contenders(t.Context())
	require.NoError(t, err)
	var kinds []string
	for _, one := range list[1:] {
		kinds = append(kinds, map[bool]string{true: "write", false: "read"}[one.Exclusive])
	}
	require.Equal(t, "read read read write write read read", strings.Join(kinds, " "))

	before := held.Token()
	require.NoError(t, held.Unlock(t.Context()))
	for i, calls := range waiting {
		for _, call := range calls {
			token := decodeAnswer[int64](t, call.requireAnswer(t))
			require.Greater(t, token, before)
			before = token
		}
		for _, later := range waiting[i+1:] {
			for _, call := range later {
				require.True(t, call.pending(), "%v", call.a)
			}
		}
		for _, call := range calls {
			call.p.do(t, ask{"do": "release", "as": call.a["as"]})
		}
	}
	require.Empty(t, children(t, c, path))
}

// TestCuratorsWriterWaitsForOurDowngradedReader, which stands in the place of a
// writer that Curator's has waited for.
func TestCuratorsWriterWaitsForOurDowngradedReader(t *testing.T) {
	t.Parallel()
	java, c, path := start(t, curator, timeout), connect(t), fresh("rw")
	m := rwlock.New(c, path, nil)
	writing, err := m.Lock(t.Context())
	require.NoError(t, err)
	hold := func(recipe, as string) *call {
		return java.sendRequest(ask{"do": "hold", "recipe": recipe, "path": path, "as": as, "client": as})
	}
	writer := hold("write", "w")
	queued(t, c, path, 2)
	reader := hold("read", "r")
	queued(t, c, path, 3)
	list, err := m.Contenders(t.Context())
	require.NoError(t, err)
	by := func(i int) func([]int64) bool {
		return func(sessions []int64) bool { return slices.Contains(sessions, list[i].Session) }
	}
	watched(t, writing.Path(), by(1))
	watched(t, writing.Path(), by(2))

	reading, err := writing.Downgrade(t.Context())
	require.NoError(t, err)
	// Both have read the queue again, and watch their new predecessors.
	watched(t, reading.Path(), by(1))
	watched(t, path+"/"+list[1].Name, by(2))
	require.True(t, writer.pending())
	require.True(t, reader.pending(), "a reader passes no writer")
	require.NoError(t, reading.Unlock(t.Context()))
	require.Greater(t, decodeAnswer[int64](t, writer.requireAnswer(t)), reading.Token())
	require.True(t, reader.pending())
	java.do(t, ask{"do": "release", "as": "w"})
	reader.requireAnswer(t)
	java.do(t, ask{"do": "release", "as": "r"})
}

// TestCuratorsDowngradedReaderLosesItsPlace: before 5.5.0 Curator queues the
// reader again, behind writers that wait, and lets go of its place. Such a writer
// is first then, and gets in, while Curator reads: nothing on the path says that
// it should not. From 5.5.0 on the reader has the writer's place, as ours has.
func TestCuratorsDowngradedReaderLosesItsPlace(t *testing.T) {
	t.Parallel()
	java, c, path := start(t, curator, timeout), connect(t), fresh("rw")
	token := java.number(t, ask{"do": "hold", "recipe": "downgrade", "path": path, "as": "a"})
	we := start(t, ours, timeout)
	waits := we.sendRequest(ask{"do": "hold", "recipe": "write", "path": path, "as": "b"})
	queued(t, c, path, 2)
	reads := java.number(t, ask{"do": "downgrade", "as": "a"})
	require.Greater(t, reads, token)

	if version := java.version(t); version == "curator 5.4.0" {
		require.Greater(t, decodeAnswer[int64](t, waits.requireAnswer(t)), token)
		require.Less(t, decodeAnswer[int64](t, waits.requireAnswer(t)), reads, "we had come before the reader")
		require.Len(t, children(t, c, path), 2)
	} else {
		require.True(t, waits.pending(), version)
	}
	java.do(t, ask{"do": "release", "as": "a"})
	waits.requireAnswer(t)
	we.do(t, ask{"do": "release", "as": "b"})
}

// TestKazoosReaderWaitsForLaterWriters: up to Kazoo 2.8.0 a reader that looks at
// the queue a second time waits for its last writer, also for one that came
// later and waits for that reader: they wait for each other indefinitely. Our writer
// keeps to the order, and gets in when the reader gives up.
func TestKazoosReaderWaitsForLaterWriters(t *testing.T) {
	t.Parallel()
	python, we, c, path := start(t, kazoo, timeout), start(t, ours, timeout), connect(t), fresh("rw")
	first, err := rwlock.New(c, path, &rwlock.Options{Layout: rwlock.Kazoo}).Lock(t.Context())
	require.NoError(t, err)
	reader := python.sendRequest(ask{"do": "hold", "recipe": "read", "path": path, "as": "r", "patience": 8})
	queued(t, c, path, 2)
	writer := we.sendRequest(ask{"do": "hold", "recipe": "write", "layout": "kazoo", "path": path, "as": "w"})
	queued(t, c, path, 3)
	list, err := rwlock.New(c, path, &rwlock.Options{Layout: rwlock.Kazoo}).Contenders(t.Context())
	require.NoError(t, err)
	require.NoError(t, first.Unlock(t.Context()))

	if version := python.version(t); version == "kazoo 2.8.0" {
		require.Equal(t, list[2].Token, decodeAnswer[int64](t, writer.requireAnswer(t)))
		require.True(t, reader.pending(), "it has given up, and waits again")
		we.do(t, ask{"do": "release", "as": "w"})
		require.Greater(t, decodeAnswer[int64](t, reader.requireAnswer(t)), list[2].Token)
		python.do(t, ask{"do": "release", "as": "r"})
		return
	}
	require.Equal(t, list[1].Token, decodeAnswer[int64](t, reader.requireAnswer(t)))
	require.True(t, writer.pending())
	python.do(t, ask{"do": "release", "as": "r"})
	writer.requireAnswer(t)
	we.do(t, ask{"do": "release", "as": "w"})
}
