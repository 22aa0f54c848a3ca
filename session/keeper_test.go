package session

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// inKeepers runs body on a server of each product of the Keeper family.
func inKeepers(t *testing.T, body func(w *world, product zktest.Product)) {
	t.Helper()
	for _, product := range []zktest.Product{zktest.ClickHouseKeeper, zktest.RaftKeeper} {
		t.Run(string(product), func(t *testing.T) {
			inWorld(t, &zktest.Options{Product: product}, nil, func(w *world) { body(w, product) })
		})
	}
}

// keepsOneConnection requires the client to have had one connection, and no request to have
// been one that the server does not know.
func (w *world) keepsOneConnection() {
	w.Helper()
	requests := w.srv.Stats().Requests
	assert.Equal(w, 1, requests["connect"])
	for _, op := range []string{"create2", "createContainer", "createTTL", "addWatch", "removeWatches"} {
		assert.Zero(w, requests[op], op)
	}
}

func TestCreationOnKeepersHasTheStat(t *testing.T) {
	inKeepers(t, func(w *world, _ zktest.Product) {
		require.NoError(w, w.s.EnsurePath(w.ctx, "/dir", Container, nil))
		for mode := Persistent; mode <= EphemeralSequential; mode++ {
			node, err := w.s.Create(w.ctx, fmt.Sprintf("/dir/%d-", mode), []byte("data"), mode, nil)
			require.NoError(w, err)
			stat, exists, err := w.s.Exists(w.ctx, node.Path)
			require.NoError(w, err)
			require.True(w, exists)
			assert.Equal(w, stat, node.Stat)
			protected, err := w.s.CreateProtected(w.ctx, "/dir/"+ProtectedName("x-"), nil, mode, nil)
			require.NoError(w, err)
			stat, _, err = w.s.Exists(w.ctx, protected.Path)
			require.NoError(w, err)
			assert.Equal(w, stat, protected.Stat)
		}
		w.keepsOneConnection()
	})
}

// The reply to the creation tells about a znode that is deleted before its stat is read.
func TestCreationOnKeepersOfAZnodeThatIsDeletedAtOnce(t *testing.T) {
	inKeepers(t, func(w *world, _ zktest.Product) {
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "exists" && r.Path == "/a" {
				assert.NoError(w, w.srv.Delete("/a"))
			}
			return zktest.Action{}
		})
		node, err := w.s.Create(w.ctx, "/a", []byte("12345"), Ephemeral, nil)
		require.NoError(w, err)
		assert.Positive(w, node.Stat.Czxid)
		assert.Equal(w, w.s.ID(), node.Stat.EphemeralOwner)
		assert.EqualValues(w, 5, node.Stat.DataLength)
	})
}

// A creation whose stat is not answered is in doubt, and never taken for one that was not sent.
func TestCreationOnKeepersWithoutAnAnswerToItsStat(t *testing.T) {
	for _, fault := range []zktest.Fault{zktest.DropRequest, zktest.CutBefore, zktest.DropReplyCut, zktest.DropReplyHole} {
		inKeepers(t, func(w *world, product zktest.Product) {
			isStat := func(r zktest.Request) bool { return r.Op == "exists" }
			w.srv.FailNth(isStat, 1, zktest.Action{Do: fault})
			_, err := w.s.Create(w.within(time.Minute), "/plain", nil, Persistent, nil)
			require.ErrorIs(w, err, ErrUnknownOutcome)
			require.False(w, NotSent(err), "%v", err)

			if product == zktest.ClickHouseKeeper {
				<-w.s.Context().Done()
			}
			s, err := w.client.Session(w.within(time.Minute))
			require.NoError(w, err)
			require.NoError(w, s.EnsurePath(w.within(time.Minute), "/dir", Container, nil))
			w.srv.FailNth(isStat, 1, zktest.Action{Do: fault})
			node, err := s.CreateProtected(w.within(time.Minute), "/dir/"+ProtectedName("x-"), nil, EphemeralSequential, nil)
			if product == zktest.ClickHouseKeeper {
				require.ErrorIs(w, err, ErrLost, "the connection was all that the session had")
				return
			}
			require.NoError(w, err)
			children, _, err := s.Children(w.ctx, "/dir")
			require.NoError(w, err)
			assert.Equal(w, []string{node.Path[len("/dir/"):]}, children)
		})
	}
}

func TestTransactionOnKeepers(t *testing.T) {
	inKeepers(t, func(w *world, _ zktest.Product) {
		results, err := w.s.Txn(w.ctx, CreateOp("/a", []byte("1"), Persistent, nil), CreateOp("/a/c", nil, Container, nil),
			CreateOp("/a/s-", nil, EphemeralSequential, nil), SetOp("/a", []byte("2"), 0), CheckOp("/a", 1))
		require.NoError(w, err)
		assert.Equal(w, "/a/s-0000000001", results[2].Path)
		_, err = w.s.Txn(w.ctx, CheckOp("/a", 0), DeleteOp("/a/c", -1))
		require.ErrorIs(w, err, ErrBadVersion)
		w.keepsOneConnection()
	})
}

func TestGetsOnKeepersWithReadsThatFail(t *testing.T) {
	inKeepers(t, func(w *world, _ zktest.Product) {
		w.createNode("/a", "x")
		all, err := w.s.Gets(w.ctx, "/none", "/a", "/none/either")
		require.NoError(w, err)
		require.ErrorIs(w, all[0].Err, ErrNoNode)
		require.NoError(w, all[1].Err)
		assert.Equal(w, "x", string(all[1].Data))
		require.ErrorIs(w, all[2].Err, ErrNoNode)
		w.keepsOneConnection()
	})
}

// A request that a Keeper lacks is refused by name, and not sent.
func TestRequestsUnknownToKeepersAreRefused(t *testing.T) {
	inKeepers(t, func(w *world, _ zktest.Product) {
		w.createNode("/a", "")
		ttl := &CreateOptions{TTL: time.Minute}
		_, err := w.s.Create(w.ctx, "/t", nil, PersistentTTL, ttl)
		require.ErrorIs(w, err, ErrUnsupported)
		require.ErrorContains(w, err, "TTL")
		_, err = w.s.Txn(w.ctx, CreateOp("/t-", nil, PersistentSequentialTTL, ttl))
		require.ErrorIs(w, err, ErrUnsupported)
		_, err = w.s.Subscribe(w.ctx, "/a", true, func(Event) {})
		require.ErrorIs(w, err, ErrUnsupported)
		require.ErrorContains(w, err, "Keeper")
		_, _, watch, err := w.s.GetW(w.ctx, "/a")
		require.NoError(w, err)
		watch.Stop() // nor is its registration removed
		require.NoError(w, w.s.Sync(w.ctx, "/"))
		w.keepsOneConnection()
	})
}

// The registration that a stopped watch leaves on the server harms no later watch.
func TestWatchAfterAStoppedOneOnKeepers(t *testing.T) {
	inKeepers(t, func(w *world, _ zktest.Product) {
		w.createNode("/a", "")
		_, _, first, err := w.s.GetW(w.ctx, "/a")
		require.NoError(w, err)
		first.Stop()
		_, _, second, err := w.s.GetW(w.ctx, "/a")
		require.NoError(w, err)
		require.NoError(w, w.srv.Set("/a", []byte("x")))
		ev, err := second.Wait(w.within(time.Minute))
		require.NoError(w, err)
		assert.Equal(w, EventDataChanged, ev.Type)
		require.NoError(w, w.srv.Set("/a", []byte("y"))) // no watch is left
		require.NoError(w, w.s.Sync(w.ctx, "/"))
	})
}

// ClickHouse Keeper resumes no session: the session is lost at once, and the client gets
// along with the next one.
func TestConnectionToClickHouseKeeperThatIsLostCostsTheSession(t *testing.T) {
	inWorld(t, &zktest.Options{Product: zktest.ClickHouseKeeper}, nil, func(w *world) {
		start := time.Now()
		w.srv.CutAll()
		<-w.s.Context().Done()
		require.ErrorIs(w, context.Cause(w.s.Context()), ErrReplaced)
		require.Less(w, time.Since(start), time.Second)
		next, err := w.client.Session(w.within(time.Minute))
		require.NoError(w, err)
		_, err = next.Create(w.ctx, "/a", nil, Ephemeral, nil)
		require.NoError(w, err)
		time.Sleep(time.Minute)
		assert.Len(w, w.srv.Sessions(), 1, "neither the lost session nor its replacement is left")
	})
}

// A Keeper without a leader names a session in its refusal, which the client does not use.
func TestKeeperWithoutALeaderMakesNoSession(t *testing.T) {
	for _, product := range []zktest.Product{zktest.ClickHouseKeeper, zktest.RaftKeeper} {
		t.Run(string(product), func(t *testing.T) {
			inWorld(t, &zktest.Options{Product: product, Servers: 3}, nil, func(w *world) {
				require.NoError(w, w.srv.Stop(2))
				require.NoError(w, w.srv.Stop(3))
				time.Sleep(time.Minute)
				_, err := Connect(w.within(20*time.Second), w.srv.ServerAddr(1), &Options{Dialer: w.srv.Client("late")})
				require.ErrorIs(w, err, ErrUnreachable)
				if product == zktest.ClickHouseKeeper {
					require.ErrorContains(w, err, "no leader")
				}
				require.NoError(w, w.srv.Restart(2))
				_, err = w.client.Session(w.within(time.Minute))
				require.NoError(w, err)
			})
		})
	}
}

// A client that may not read what it creates knows that it has created it.
func TestCreationOnKeepersOfAZnodeThatMayNotBeRead(t *testing.T) {
	inKeepers(t, func(w *world, _ zktest.Product) {
		o := &CreateOptions{ACL: WorldACL(PermWrite | PermDelete)}
		node, err := w.s.Create(w.ctx, "/secret", nil, Persistent, o)
		require.NoError(w, err)
		assert.Positive(w, node.Stat.Czxid)
		node, err = w.s.CreateProtected(w.within(time.Minute), "/"+ProtectedName("x"), nil, Ephemeral, o)
		require.NoError(w, err)
		assert.Equal(w, w.s.ID(), node.Stat.EphemeralOwner)
	})
}

// A RaftKeeper without a leader says that sessions have expired, which exist: what they leave
// behind is deleted.
func TestSessionThatRaftKeeperDisownsMayExist(t *testing.T) {
	inWorld(t, &zktest.Options{Product: zktest.RaftKeeper, Servers: 3}, nil, func(w *world) {
		_, err := w.s.Create(w.ctx, "/e", nil, Ephemeral, nil)
		require.NoError(w, err)
		stopped := []int{w.srv.Leader(), w.srv.Leader()%3 + 1}
		for _, i := range stopped {
			require.NoError(w, w.srv.Stop(i))
		}
		<-w.s.Context().Done()
		require.NotErrorIs(w, w.s.Err(), ErrExpired)
		w.s.EnsureRemainsDeleted("/e")
		for _, i := range stopped {
			require.NoError(w, w.srv.Restart(i))
		}
		next, err := w.client.Session(w.within(time.Minute))
		require.NoError(w, err)
		require.NoError(w, next.Sync(w.ctx, "/"))
		time.Sleep(time.Second)
		_, exists, err := next.Exists(w.ctx, "/e")
		require.NoError(w, err)
		assert.False(w, exists)
	})
}
