package discovery_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// foreignText is data that is no instance.
const foreignText = "foreign"

// emptyService creates the parents, so that the first creation of an instance succeeds.
func (w *World) emptyService() {
	w.Helper()
	require.NoError(w, w.Server.Create(base, nil))
	require.NoError(w, w.Server.Create(dir, nil))
}

// loseReply has the reply to the first request that matches be lost, and another client
// write into the znode at path before the client asks again.
func (w *World) loseReply(match func(zktest.Request) bool, path string) {
	w.Helper()
	w.Server.FailNth(match, 1, zktest.Action{Do: zktest.DropReplyCut})
	w.Once(func(q zktest.Request) bool { return q.Op == "connect" && q.Session != 0 }, func() {
		require.NoError(w, w.Server.Set(path, []byte(foreignText)))
	})
}

// creates matches the creation of znodes at path, or of sequential znodes of this name.
func creates(path string) func(zktest.Request) bool {
	return func(q zktest.Request) bool {
		return strings.HasPrefix(q.Op, "create") && strings.HasPrefix(q.Path, path)
	}
}

// The reply to the creation is lost, and another client writes into the znode before its
// owner looks.
func TestForeignWriteDoesNotHideAnInstanceFromItsOwner(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.emptyService()
		r := registry(w.Client())
		w.loseReply(creates(dir+"/one"), dir+"/one")
		began := time.Now()
		g := w.register(r, instance("one"))
		require.Less(w, time.Since(began), time.Second)
		require.Equal(w, g.Token(), w.node(dir+"/one").Czxid)
		seen, err := r.Instance(w.Ctx, service, "one")
		require.NoError(w, err)
		require.NoError(w, seen.Err)
		require.Equal(w, 8080, seen.Port)
		w.unregister(g)
		require.Empty(w, w.Children(dir))
	})
}

func TestForeignWriteDoesNotHideAMemberFromItsOwner(t *testing.T) {
	for _, layout := range []discovery.Layout{discovery.Curator, discovery.KazooShallow} {
		inWorld(t, nil, func(w *World) {
			require.NoError(w, w.Server.Create("/group", nil))
			group := discovery.NewGroup(w.Client(), "/group", &discovery.Options{Layout: layout})
			w.Server.FailNth(creates("/group/"), 1, zktest.Action{Do: zktest.DropReplyCut})
			w.Once(func(q zktest.Request) bool { return q.Op == "connect" && q.Session != 0 }, func() {
				require.NoError(w, w.Server.Set("/group/"+w.Children("/group")[0], []byte(foreignText)))
			})
			m, err := group.Join(w.Within(time.Minute), "one", nil)
			require.NoError(w, err)
			require.Len(w, w.Children("/group"), 1)
			require.Empty(w, w.node(m.State().Path).Data)
			require.NoError(w, m.Leave(w.Ctx))
			require.Empty(w, w.Children("/group"))
		})
	}
}

func TestForeignWriteDoesNotHideAMovedInstanceFromItsOwner(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		r := registry(w.Client())
		g := w.register(r, instance("one"))
		w.loseReply(isTakeover, dir+"/two")
		require.NoError(w, g.Move(w.Within(time.Minute), service, instance("two")))
		require.Equal(w, g.Token(), w.node(dir+"/two").Czxid)
		require.Equal(w, []string{"two"}, w.ids(r, service))
		w.unregister(g)
		require.Empty(w, w.Children(dir))
	})
}

// The session is lost with the reply: the next session replaces the znode without waiting
// until the servers expire the former session.
func TestForeignWriteDoesNotHideAFormerInstanceFromItsOwner(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.emptyService()
		c := w.Client()
		r, former := registry(c), w.ID(c)
		w.Once(creates(dir+"/one"), func() { w.Server.BlackHole(zktest.Link{Session: former}, zktest.ToClient) })
		got := make(chan *discovery.Registration, 1)
		// Waited for below; ends with the world's context at the latest.
		go func() {
			g, _ := r.Register(w.Ctx, instance("one"))
			got <- g
		}()
		w.Pass(time.Second)
		require.NoError(w, w.Server.Set(dir+"/one", []byte(foreignText)))
		// The former session lives on as long as the servers hear from it.
		for w.ID(c) == former {
			w.Pass(time.Millisecond)
		}
		g := <-got
		require.NotNil(w, g)
		require.True(w, slices.ContainsFunc(w.Server.Sessions(), func(s zktest.Session) bool { return s.ID == former }))
		require.NotEqual(w, former, w.node(dir+"/one").EphemeralOwner)
		require.Equal(w, []string{"one"}, w.ids(r, service))
		w.unregister(g)
		require.Empty(w, w.Children(dir))
	})
}

// A znode of the own session that no other client has written is told by its data: it may
// be of other code of the same client.
func TestZnodeOfOtherCodeOfTheClientIsAConflict(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		s := w.Session(c)
		w.emptyService()
		_, err := s.Create(w.Ctx, dir+"/one", []byte("other"), session.Ephemeral, nil)
		require.NoError(w, err)
		w.Server.FailNth(creates(dir+"/one"), 1, zktest.Action{Do: zktest.DropReplyCut})
		_, err = registry(c).Register(w.Within(time.Minute), instance("one"))
		require.ErrorIs(w, err, discovery.ErrConflict)
		require.Equal(w, "other", string(w.node(dir+"/one").Data))
	})
}

// Two registrations of one registry lose their replies at the same moment, and another
// client writes: one of them has the instance in the end, and the other reports a conflict.
func TestForeignWriteGivesTheInstanceToOneOfTwoRegistrations(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.emptyService()
		r := registry(w.Client())
		w.loseReply(creates(dir+"/one"), dir+"/one")
		other := instance("one")
		other.Port = 9
		type result struct {
			g   *discovery.Registration
			err error
		}
		results := make(chan result, 2)
		for _, i := range []discovery.Instance{instance("one"), other} {
			// Waited for below; ends with the world's context at the latest.
			go func() {
				g, err := r.Register(w.Within(time.Minute), i)
				results <- result{g, err}
			}()
		}
		var won *discovery.Registration
		for range 2 {
			switch got := <-results; {
			case got.err == nil:
				require.Nil(w, won)
				won = got.g
			default:
				require.ErrorIs(w, got.err, discovery.ErrConflict)
			}
		}
		require.NotNil(w, won)
		seen, err := r.Instance(w.Ctx, service, "one")
		require.NoError(w, err)
		require.Equal(w, won.Instance().Port, seen.Port)
		require.Equal(w, won.Token(), seen.Token)
		w.unregister(won)
		require.Empty(w, w.Children(dir))
	})
}
