//go:build unix

package interop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// TestMutexIsSharedWithCurator: InterProcessMutex and ours on one path.
func TestMutexIsSharedWithCurator(t *testing.T) {
	t.Parallel()
	java, we := start(t, curator, timeout), start(t, ours, timeout)
	got := hammer(t, scaled(200), ask{"recipe": "mutex", "path": fresh("mutex")},
		crew{java, 3, nil}, crew{we, 3, nil}).finish(rules{})
	require.Greater(t, got.changes, scaled(600), "they take turns")
}

// TestMutexThatIsHandedOnIsSharedWithCurator: goroutines of one process, which
// hand the lock on among themselves, leave the others their turns.
func TestMutexThatIsHandedOnIsSharedWithCurator(t *testing.T) {
	t.Parallel()
	java, we := start(t, curator, timeout), start(t, ours, timeout)
	path := fresh("mutex")
	h := hammer(t, scaled(20), ask{"recipe": "mutex", "path": path},
		crew{java, 2, nil}, crew{we, 2, ask{"client": "one"}}, crew{we, 2, ask{"client": "two"}})
	got := h.finish(rules{})
	entered, tokens := 0, map[string]bool{}
	for _, n := range got.entered {
		entered += n
	}
	for line := range strings.Lines(h.seen.read(t)) {
		if words := strings.Fields(line); words[0] == "in" {
			tokens[words[3]] = true
		}
	}
	require.Less(t, len(tokens), entered, "some have had it from the one before them")
}

// TestMutexIsSharedWithKazoo: Kazoo's Lock and ours on one path, in both layouts
// (PD4).
func TestMutexIsSharedWithKazoo(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"curator", "kazoo"} {
		t.Run(layout, func(t *testing.T) {
			python, we := start(t, kazoo, timeout), start(t, ours, timeout)
			got := hammer(t, scaled(100), ask{"recipe": "mutex", "path": fresh("mutex"), "layout": layout},
				crew{python, 3, nil}, crew{we, 3, nil}).finish(rules{})
			require.Greater(t, got.changes, scaled(300), "they take turns")
		})
	}
}

// TestKazooWithoutPatternsExcludesNoClient: Kazoo's Lock sees only its own names
// unless it is told of Curator's, as the layout's table says; and the witness
// tells of it, live.
func TestKazooWithoutPatternsExcludesNoClient(t *testing.T) {
	t.Parallel()
	python, we, c, path := start(t, kazoo, timeout), start(t, ours, timeout), connect(t), fresh("mutex")
	held, err := lock.New(c, path, nil).Lock(t.Context())
	require.NoError(t, err)
	require.Greater(t, python.number(t, ask{"do": "hold", "recipe": "mutex", "path": path, "as": "a"}), held.Token(), "both hold it")
	python.do(t, ask{"do": "release", "as": "a"})
	require.NoError(t, held.Unlock(t.Context()))

	h := hammer(t, 20, ask{"recipe": "mutex", "path": path, "pause": 5}, crew{python, 2, nil}, crew{we, 2, nil})
	h.awaitAllRounds()
	h.stop()
	_, err = judgeTurns(h.seen.read(t), rules{})
	require.Error(t, err)
}

// TestMutexQueuesInOneOrder: contenders are served in the order of arrival,
// whatever library they use.
func TestMutexQueuesInOneOrder(t *testing.T) {
	t.Parallel()
	for _, other := range []string{curator, kazoo} {
		t.Run(other, func(t *testing.T) {
			they, we, c := start(t, other, timeout), start(t, ours, timeout), connect(t)
			path := fresh("mutex")
			held, err := lock.New(c, path, nil).Lock(t.Context())
			require.NoError(t, err)
			before := held.Token()
			var waiting []*call
			for i := range 6 {
				p := []*peer{they, we}[i%2]
				as := fmt.Sprint(i)
				waiting = append(waiting, p.sendRequest(ask{"do": "hold", "recipe": "mutex", "layout": "curator", "path": path, "as": as, "client": as}))
				queued(t, c, path, i+2)
			}
			require.NoError(t, held.Unlock(t.Context()))
			for i, call := range waiting {
				token := decodeAnswer[int64](t, call.requireAnswer(t))
				require.Greater(t, token, before, "tokens grow")
				before = token
				for _, later := range waiting[i+1:] {
					require.True(t, later.pending(), "one at a time")
				}
				call.p.do(t, ask{"do": "release", "as": fmt.Sprint(i)})
			}
			require.Empty(t, children(t, c, path))
		})
	}
}

// TestMutexGoesOnWhenPeersAreKilled: when any peer is killed in the middle, in or
// before the lock, the others go on when its session has ended.
func TestMutexGoesOnWhenPeersAreKilled(t *testing.T) {
	t.Parallel()
	for _, other := range []string{curator, kazoo} {
		t.Run(other, func(t *testing.T) {
			t.Parallel()
			killInTheMiddle(t, other, scaled(30), ask{"recipe": "mutex", "layout": "curator"}, rules{})
		})
	}
}

// killInTheMiddle has two peers of a kind and two of ours hammer, and kills one
// of each.
func killInTheMiddle(t *testing.T, kind string, rounds int, what ask, r rules) {
	t.Helper()
	what["path"] = fresh("killed")
	crews := []crew{
		{start(t, kind, brief), 2, nil}, {start(t, ours, brief), 2, nil},
		{start(t, kind, timeout), 2, nil}, {start(t, ours, timeout), 2, nil},
	}
	h := hammer(t, rounds, what, crews...)
	for _, victim := range crews[:2] {
		h.awaitRounds(victim.peer, rounds)
		h.kill(victim.peer)
	}
	h.awaitMoreRounds(rounds)
	h.finish(r)
}

// TestMutexListsTheContendersOfAllClients: every client lists the contenders of all clients.
func TestMutexListsTheContendersOfAllClients(t *testing.T) {
	t.Parallel()
	c := connect(t)

	t.Run(curator, func(t *testing.T) {
		java, path := start(t, curator, timeout), fresh("mutex")
		m := lock.New(c, path, &lock.Options{ID: "go:1"})
		token := java.number(t, ask{"do": "hold", "recipe": "mutex", "path": path, "as": "a"})
		_, err := m.TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrBusy)
		list, err := m.Contenders(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, token, list[0].Token)
		require.True(t, list[0].Holds)
		require.Regexp(t, `^\d+\.\d+\.\d+\.\d+$`, string(list[0].Data), "Curator shows an address")
		java.do(t, ask{"do": "release", "as": "a"})

		held, err := m.TryLock(t.Context())
		require.NoError(t, err)
		require.Greater(t, held.Token(), token)
		require.Equal(t, []string{held.Path()}, decodeAnswer[[]string](t, java.do(t, ask{"do": "participants", "path": path})))
		require.NoError(t, held.Unlock(t.Context()))
	})

	t.Run(kazoo, func(t *testing.T) {
		python, path := start(t, kazoo, timeout), fresh("mutex")
		m := lock.New(c, path, &lock.Options{Layout: lock.Kazoo, ID: "go:1"})
		held, err := m.Lock(t.Context())
		require.NoError(t, err)
		waits := python.sendRequest(ask{"do": "hold", "recipe": "mutex", "path": path, "as": "a", "who": "python:2"})
		queued(t, c, path, 2)
		require.Equal(t, []string{"go:1", "python:2"}, decodeAnswer[[]string](t, python.do(t, ask{"do": "contenders", "recipe": "mutex", "path": path})))
		list, err := m.Contenders(t.Context())
		require.NoError(t, err)
		require.Equal(t, "python:2", string(list[1].Data))
		require.True(t, waits.pending())
		require.NoError(t, held.Unlock(t.Context()))
		require.Greater(t, decodeAnswer[int64](t, waits.requireAnswer(t)), held.Token())
		python.do(t, ask{"do": "release", "as": "a"})
	})
}

// TestCuratorAsksOurHolder: Curator asks a holder to give the lock back by writing into its
// znode. A holder that does not wait for such requests keeps the lock, and its guard.
func TestCuratorAsksOurHolder(t *testing.T) {
	t.Parallel()
	java, c, path := start(t, curator, timeout), connect(t), fresh("mutex")
	held, err := lock.New(c, path, nil).Lock(t.Context())
	require.NoError(t, err)
	asked := make(chan error, 1)
	// Waited for below; ends with the hold.
	go func() { asked <- held.AwaitRevocation(t.Context()) }()
	waits := java.sendRequest(ask{"do": "hold", "recipe": "mutex", "path": path, "as": "a"})
	queued(t, c, path, 2)
	require.Empty(t, asked)
	java.do(t, ask{"do": "revoke", "path": held.Path()})
	require.NoError(t, <-asked)
	data, _, err := held.Session().Get(t.Context(), held.Path())
	require.NoError(t, err)
	require.Equal(t, "__REVOKE__", string(data))
	require.NoError(t, held.Context().Err())
	_, err = held.Session().Txn(t.Context(), held.Guard(), session.SetOp(path, nil, -1))
	require.NoError(t, err, "the guard checks that the znode exists, not its data")
	require.True(t, waits.pending())
	require.NoError(t, held.Unlock(t.Context()))
	waits.requireAnswer(t)
	java.do(t, ask{"do": "release", "as": "a"})
}

// TestWeAskCuratorsHolder: the listener of makeRevocable is called.
func TestWeAskCuratorsHolder(t *testing.T) {
	t.Parallel()
	java, c, path := start(t, curator, timeout), connect(t), fresh("mutex")
	java.do(t, ask{"do": "hold", "recipe": "revocable", "path": path, "as": "a"})
	m := lock.New(c, path, nil)
	queue, err := m.Contenders(t.Context())
	require.NoError(t, err)
	require.Len(t, queue, 1)
	require.JSONEq(t, "false", string(java.do(t, ask{"do": "asked", "as": "a"})))
	require.NoError(t, m.Revoke(t.Context(), queue[0]))
	require.Eventually(t, func() bool { return string(java.do(t, ask{"do": "asked", "as": "a"})) == "true" }, 20*time.Second, 10*time.Millisecond)
	java.do(t, ask{"do": "release", "as": "a"})
}

// TestFrozenHolder: a process that holds the lock is stopped for longer than its
// session lives, and continues after another process has got the lock.
func TestFrozenHolder(t *testing.T) {
	t.Parallel()

	// Our holder knows it at once, and its late writes behind the guard are refused.
	for _, other := range []string{curator, kazoo} {
		t.Run("ours before "+other, func(t *testing.T) {
			t.Parallel()
			we, they, c, path, target := start(t, ours, brief), start(t, other, timeout), connect(t), fresh("mutex"), fresh("target")
			s := current(t, c)
			require.NoError(t, s.EnsurePath(t.Context(), target, session.Persistent, nil))
			token := we.number(t, ask{"do": "hold", "recipe": "mutex", "path": path, "as": "a"})
			late := ask{"do": "lost", "as": "a", "path": target, "value": "late"}
			require.Equal(t, map[string]string{"context": "holds", "write": "applied"}, decodeAnswer[map[string]string](t, we.do(t, late)))
			_, err := s.Set(t.Context(), target, nil, -1)
			require.NoError(t, err)

			we.freeze(t)
			next := they.number(t, ask{"do": "hold", "recipe": "mutex", "layout": "curator", "path": path, "as": "b"})
			require.Greater(t, next, token)
			we.thaw(t)
			lost := decodeAnswer[map[string]string](t, we.do(t, late))
			require.Contains(t, lost["context"], "lost")
			require.NotEqual(t, "applied", lost["write"])
			data, _, err := s.Get(t.Context(), target)
			require.NoError(t, err)
			require.Empty(t, data)
			they.do(t, ask{"do": "release", "as": "b"})
		})
	}

	// Curator's goes on believing that it holds the lock until its client has
	// connected again and is told that the session is over, and its mutex says
	// so even then (CL10). We hold it meanwhile, and our token is higher: that
	// is all that can be had.
	t.Run("curator before ours", func(t *testing.T) {
		t.Parallel()
		java, c, path := start(t, curator, brief), connect(t), fresh("mutex")
		token := java.number(t, ask{"do": "hold", "recipe": "mutex", "path": path, "as": "a"})
		java.freeze(t)
		held, err := lock.New(c, path, nil).Lock(t.Context())
		require.NoError(t, err)
		require.Greater(t, held.Token(), token)
		java.thaw(t)
		require.True(t, decodeAnswer[bool](t, java.do(t, ask{"do": "believes", "as": "a"})), "Curator 5.4 does not know; has it learned?")
		require.NoError(t, held.Context().Err())
		// It deletes its own znode, which has gone, and no other client's.
		_, err = java.sendRequest(ask{"do": "release", "as": "a"}).wait(t.Context())
		if err != nil {
			require.ErrorContains(t, err, "NoNode")
		}
		_, exists, err := held.Session().Exists(t.Context(), held.Path())
		require.NoError(t, err)
		require.True(t, exists)
		require.NoError(t, held.Unlock(t.Context()))
	})
}

// TestWaiterThatGivesUpIsNotInTheWay: of ours, before one of Curator's.
func TestWaiterThatGivesUpIsNotInTheWay(t *testing.T) {
	t.Parallel()
	java, c, path := start(t, curator, timeout), connect(t), fresh("mutex")
	java.do(t, ask{"do": "hold", "recipe": "mutex", "path": path, "as": "a", "client": "a"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gaveUp := make(chan error, 1)
	m := lock.New(c, path, nil)
	// Waited for below; ends with ctx.
	go func() {
		_, err := m.Lock(ctx)
		gaveUp <- err
	}()
	queued(t, c, path, 2)
	waits := java.sendRequest(ask{"do": "hold", "recipe": "mutex", "path": path, "as": "b", "client": "b"})
	queued(t, c, path, 3)
	cancel()
	require.ErrorIs(t, <-gaveUp, context.Canceled)
	queued(t, c, path, 2)
	java.do(t, ask{"do": "release", "as": "a"})
	waits.requireAnswer(t)
	names := children(t, c, path)
	require.Len(t, names, 1)
	require.True(t, slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "_c_") }))
	java.do(t, ask{"do": "release", "as": "b"})
}
