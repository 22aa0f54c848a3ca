package optimistic_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestReadsOfSeveralZnodesShareARoundTripAndMayFindNone(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		for _, path := range []string{"/a", "/a/1", "/a/2", "/b"} {
			require.NoError(w, w.Server.Create(path, []byte("x")))
		}
		s := w.Session(w.Client())
		w.Server.Delay(zktest.Link{}, zktest.ToClient, time.Second)
		began := time.Now()
		r := &optimistic.Reading{Ctx: w.Ctx, Session: s}
		r.Sync("/a")
		got := r.GetAll("/a", "/none", "/b")
		require.Less(w, time.Since(began), 2*time.Second, "one round trip with the sync")
		require.NoError(w, r.Err)
		require.Equal(w, []bool{true, false, true}, []bool{got[0].Exists, got[1].Exists, got[2].Exists})
		require.Equal(w, "x", string(got[0].Data))
		stats := r.StatAll("/a", "/none")
		require.Equal(w, []bool{true, false}, []bool{stats[0].Exists, stats[1].Exists})
		require.EqualValues(w, 2, stats[0].Stat.NumChildren)
		lists := r.ListAll("/none", "/a")
		require.Empty(w, lists[0].Children)
		require.ElementsMatch(w, []string{"1", "2"}, lists[1].Children)
		require.Equal(w, "x", string(r.Get("/a").Data))
		require.False(w, r.Get("/none").Exists)
		require.True(w, r.Exists("/b"))
		require.False(w, r.Exists("/none"))
		require.Len(w, r.List("/a"), 2)
		require.Empty(w, r.List("/none"))
		require.NoError(w, r.Err)
	})
}

// A proof goes ahead of the reads, also if the znode that it checks does not exist.
func TestProofIsSentAheadOfTheReads(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/a", nil))
		s := w.Session(w.Client())
		var order []string
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			order = append(order, r.Op)
			return zktest.Action{}
		})
		for _, path := range []string{"/a", "/none"} {
			order = nil
			r := &optimistic.Reading{Ctx: w.Ctx, Session: s}
			r.Fresh(path, func() { require.Equal(w, path == "/a", r.Get(path).Exists) })
			require.NoError(w, r.Err)
			require.Equal(w, []string{"multi", "getData"}, order)
		}
	})
}

func TestReadingWithoutAnAnswerHasNoUnknownOutcome(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/a", nil))
		s := w.Session(w.Client())
		w.Server.BlackHole(zktest.Link{}, zktest.ToClient)
		r := &optimistic.Reading{Ctx: w.Within(time.Second), Session: s}
		r.Fresh("/a", func() { require.False(w, r.Exists("/a")) })
		require.ErrorIs(w, r.Err, context.DeadlineExceeded)
		require.NotErrorIs(w, r.Err, session.ErrUnknownOutcome, "a check changes nothing")
		first := r.Err
		r.Fresh("/a", func() { require.Fail(w, "called after an error") })
		r.Sync("/a")
		require.Empty(w, r.List("/a"))
		require.False(w, r.Get("/a").Exists)
		require.Equal(w, first, r.Err, "the first counts")
		w.Server.Heal()
	})
}

// A watch that the caller does not get would stay at the server as long as the
// session.
func TestCollectAfterAFailureLeavesNoWatch(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		for _, path := range []string{"/a", "/b"} {
			require.NoError(w, w.Server.Create(path, nil))
		}
		s := w.Session(w.Client())
		start := func(paths ...string) (out []*session.Future[session.Seen]) {
			for _, path := range paths {
				out = append(out, s.StartGet(path, true))
			}
			return out
		}
		r := &optimistic.Reading{Ctx: w.Ctx}
		all := r.Collect(start("/a", "/none")...)
		require.NoError(w, r.Err)
		require.Equal(w, []bool{true, false}, []bool{all[0].Exists, all[1].Exists})
		require.NotNil(w, all[0].Watch)
		all[0].Watch.Stop()

		writeOnly := []session.ACL{{Perms: session.PermAll &^ session.PermRead, Scheme: "world", ID: "anyone"}}
		_, err := s.Create(w.Ctx, "/hidden", nil, session.Persistent, &session.CreateOptions{ACL: writeOnly})
		require.NoError(w, err)
		require.Empty(w, r.Collect(start("/a", "/hidden", "/b")...))
		require.ErrorIs(w, r.Err, session.ErrNoAuth)
		w.Pass(time.Minute)
		require.Empty(w, w.Server.Watches())
	})
}

// A read of one znode waits for a connection; reads of several leave that to the caller.
func TestReadOfOneZnodeWaitsForAConnection(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/a", nil))
		c := w.Client()
		s := w.Session(c)
		w.Server.CutAll()
		w.Settle()
		r := &optimistic.Reading{Ctx: w.Ctx, Session: s}
		require.True(w, r.Exists("/a"))
		require.True(w, r.Get("/a").Exists)
		require.Empty(w, r.List("/a"))
		require.NoError(w, r.Err)
	})
}

func TestCulpritIsTheOperationThatMadeATransactionFail(t *testing.T) {
	path, reason := optimistic.Culprit(fmt.Errorf("a change: %w", &session.TxnError{Path: "/a", Err: session.ErrNoNode}))
	require.Equal(t, "/a", path)
	require.Equal(t, session.ErrNoNode, reason)
	path, reason = optimistic.Culprit(session.ErrNoNode)
	require.Empty(t, path)
	require.NoError(t, reason)
	require.Equal(t, 2, optimistic.CulpritIndex(fmt.Errorf("a change: %w", &session.TxnError{Index: 2, Err: session.ErrNoNode})))
	require.Equal(t, -1, optimistic.CulpritIndex(session.ErrNoNode))
}

func TestDeleteLaterOutlastsALostReply(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		s := w.Session(w.Client())
		n, err := s.CreateProtected(w.Ctx, "/"+session.ProtectedName("x"), nil, session.Ephemeral, nil)
		require.NoError(w, err)
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "delete" }, 1, zktest.Action{Do: zktest.DropRequest})
		began := time.Now()
		optimistic.DeleteLater(s, n.Path)
		require.Zero(w, time.Since(began), "no call waits")
		w.Pass(time.Minute)
		_, err = w.Server.Get(n.Path)
		require.Error(w, err)
	})
}

// A znode that comes between the two reads is read, and no watch is left of the first look.
func TestGetWatchedReadsAndWatchesWhetherTheZnodeExistsOrNot(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		s := w.Session(w.Client())
		missing, err := optimistic.GetWatched(w.Ctx, s, "/a")
		require.NoError(w, err)
		require.False(w, missing.Exists)
		require.NoError(w, w.Server.Create("/a", []byte("x")))
		event, err := missing.Watch.Wait(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, session.EventCreated, event.Type)

		found, err := optimistic.GetWatched(w.Ctx, s, "/a")
		require.NoError(w, err)
		require.True(w, found.Exists)
		require.Equal(w, "x", string(found.Data))
		require.NoError(w, w.Server.Delete("/a"))
		event, err = found.Watch.Wait(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, session.EventDeleted, event.Type)

		created := false
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "exists" && !created {
				created = true
				require.NoError(w, w.Server.Create("/b", []byte("y")))
			}
			return zktest.Action{}
		})
		late, err := optimistic.GetWatched(w.Ctx, s, "/b")
		require.NoError(w, err)
		require.True(w, created)
		require.Equal(w, "y", string(late.Data))
		late.Watch.Stop()
		synctest.Wait()
		require.Zero(w, len(w.Server.Watches()), "a watch was left behind")
	})
}

// A stale server says that nothing exists: the answer counts after the proof alone.
func TestReadFreshReturnsAnAnswerThatAServerHasProved(t *testing.T) {
	errNone := errors.New("none")
	world.In(t, nil, func(w *world.World) {
		s := w.Session(w.Client())
		isNone := func(err error) bool { return errors.Is(err, errNone) }
		reads := 0
		read := func() error {
			reads++
			if _, _, err := s.Get(w.Ctx, "/a"); !errors.Is(err, session.ErrNoNode) {
				return err
			}
			return errNone
		}
		require.ErrorIs(w, optimistic.ReadFresh(w.Ctx, s, "/a", isNone, read), errNone)
		require.Equal(w, 1, reads)

		reads = 0
		w.Server.FailNth(func(r zktest.Request) bool { return r.OnlyChecks }, 1, zktest.Action{Do: zktest.DropReplyCut})
		require.ErrorIs(w, optimistic.ReadFresh(w.Ctx, s, "/a", isNone, read), errNone)
		require.Equal(w, 2, reads, "the first answer was not proved")

		require.ErrorIs(w, optimistic.ReadFresh(w.Ctx, s, "/a", isNone, func() error { return errors.ErrUnsupported }), errors.ErrUnsupported)
		require.NoError(w, optimistic.ReadFresh(w.Ctx, s, "/a", isNone, func() error { return nil }))
	})
}
