package discovery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// An administrator deletes the znode right before the deletion arrives: it is gone, as
// was asked for.
func TestUnregisteringAnInstanceThatIsGoneSucceeds(t *testing.T) {
	for _, typ := range types {
		inWorld(t, nil, func(w *World) {
			g := w.register(registry(w.Client()), typed("one", typ))
			path := g.State().Path
			w.Once(func(q zktest.Request) bool { return q.Op == "delete" && q.Path == path }, func() {
				require.NoError(w, w.Server.Delete(path))
			})
			w.unregister(g)
			require.ErrorIs(w, g.State().Err, discovery.ErrUnregistered)
		})
	}
}

// An administrator deletes the znode right before the move arrives: the instance is
// registered where it was to be moved to.
func TestMoveOfAnInstanceThatIsGoneRegistersIt(t *testing.T) {
	for _, typ := range types {
		inWorld(t, nil, func(w *World) {
			r := registry(w.Client())
			g := w.register(r, typed("one", typ))
			path := g.State().Path
			w.Once(func(q zktest.Request) bool { return q.Op == "multi" && q.Path == path }, func() {
				require.NoError(w, w.Server.Delete(path))
			})
			require.NoError(w, g.Move(w.Within(time.Minute), "api", g.Instance()))
			require.Empty(w, w.Children(dir))
			require.Len(w, w.Children(base+"/api"), 1)
			w.unregister(g)
		})
	}
}

// A server that refuses the creation refuses the move, and the instance stays where it is.
func TestRefusedMoveLeavesTheInstanceWhereItWas(t *testing.T) {
	for _, typ := range types {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			require.NoError(w, w.Server.Create(base, nil))
			_, err := w.Session(c).Create(w.Ctx, base+"/api", nil, session.Persistent, &session.CreateOptions{ACL: session.WorldACL(zk.PermRead)})
			require.NoError(w, err)
			g := w.register(registry(c), typed("one", typ))
			before := g.State()
			require.ErrorIs(w, g.Move(w.Within(time.Minute), "api", g.Instance()), session.ErrNoAuth)
			s := w.stateIs(g, registered)
			require.Equal(w, before.Token, s.Token)
			require.Equal(w, service, g.Instance().Service)
			w.unregister(g)
		})
	}
}

// A move whose reply is lost has been carried out, and is not repeated.
func TestMoveWhoseReplyIsLostIsCarriedOutOnce_D7(t *testing.T) {
	world.Needs(t, world.Resumes)
	for _, typ := range types {
		inWorld(t, nil, func(w *World) {
			g := w.register(registry(w.Client()), typed("one", typ))
			require.NoError(w, w.Server.Create(base+"/api", nil))
			w.Server.FailNth(func(q zktest.Request) bool { return q.Op == "multi" && !q.OnlyChecks }, 1, zktest.Action{Do: zktest.DropReplyCut})
			var made []int64
			w.Server.OnApply(func(zktest.Txn) {
				for _, name := range w.Children(base + "/api") {
					made = append(made, w.node(base+"/api/"+name).Czxid)
				}
			})
			require.NoError(w, g.Move(w.Ctx, "api", g.Instance()))
			w.Pass(time.Second)
			require.NotEmpty(w, made)
			for _, czxid := range made {
				require.Equal(w, g.Token(), czxid)
			}
			w.unregister(g)
		})
	}
}

// An administrator deletes the znode that a move has created before the client has read
// it: the instance counts as unregistered until another znode exists, and no watch waits
// for the deleted one.
func TestMoveWhoseZnodeIsDeletedAtOnceRegistersAnother_D7(t *testing.T) {
	for _, typ := range types {
		inWorld(t, nil, func(w *World) {
			r := registry(w.Client())
			g := w.register(r, typed("one", typ))
			deleted, between := "", discovery.State{}
			w.Server.OnRequest(func(q zktest.Request) zktest.Action {
				switch {
				case deleted == "" && q.Op == "exists" && strings.HasPrefix(q.Path, base+"/api/one"):
					deleted = q.Path
					require.NoError(w, w.Server.Delete(deleted))
				case deleted != "" && world.Creates(q.Op):
					between = g.State()
				}
				return zktest.Action{}
			})
			require.NoError(w, g.Move(w.Within(time.Minute), "api", g.Instance()))
			require.NotEmpty(w, deleted)
			require.False(w, between.Registered)
			require.ErrorIs(w, between.Err, session.ErrNodeDeleted)
			now := w.stateIs(g, registered)
			require.Equal(w, now.Token, w.node(now.Path).Czxid)
			w.unregister(g)
			require.Empty(w, w.Children(base+"/api"))
			w.Pass(time.Second)
			if world.Has(world.RemovesWatches) {
				require.NotContains(w, w.Server.Watches(), deleted)
			}
		})
	}
}

// A server refuses to show the znode that a move has just created, and shows it from the
// next request on: the move fails, and leaves neither two znodes nor the moved one.
func TestMoveWhoseZnodeMayNotBeReadForAMomentLeavesOneZnode_D7(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			inWorld(t, &zktest.Options{StatNeedsRead: true}, func(w *World) {
				c := w.Client()
				r, admin := registry(c), w.Session(w.Client())
				g := w.register(r, typed("one", typ))
				require.NoError(w, w.Server.Create(base+"/api", nil))
				asked, id := "", w.ID(c)
				w.Server.OnRequest(func(q zktest.Request) zktest.Action {
					switch {
					case q.Session != id || asked != "":
					case q.Op == "exists" && strings.HasPrefix(q.Path, base+"/api/one"):
						asked = q.Path
						return zktest.Action{Do: zktest.DelayReply, For: time.Second}
					case q.Op == "multi" && !q.OnlyChecks:
						return zktest.Action{Do: zktest.DelayReply, For: time.Second}
					}
					return zktest.Action{}
				})
				moved := make(chan error, 1)
				// Waited for below; ends with the move.
				go func() { moved <- g.Move(w.Within(time.Minute), "api", g.Instance()) }()
				w.Pass(500 * time.Millisecond) // the reply to the move is on its way
				made := base + "/api/" + w.Children(base + "/api")[0]
				_, err := admin.SetACL(w.Ctx, made, session.WorldACL(zk.PermAll&^zk.PermRead), -1)
				require.NoError(w, err)
				w.Pass(time.Second) // the refusal is on its way
				require.Equal(w, made, asked)
				_, err = admin.SetACL(w.Ctx, made, session.WorldACL(zk.PermAll), -1)
				require.NoError(w, err)
				require.ErrorIs(w, <-moved, session.ErrNoAuth)
				now := w.stateIs(g, registered)
				require.Equal(w, now.Token, w.node(now.Path).Czxid)
				require.Equal(w, service, g.Instance().Service)
				w.Settle()
				require.Len(w, w.Children(dir), 1)
				require.Empty(w, w.Children(base+"/api"))
				w.unregister(g)
				require.Empty(w, w.Children(dir))
			})
		})
	}
}

// The session is lost right after a move, before its znode has been read: the znode is
// found and replaced in the next session.
func TestSessionLostRightAfterAMove_D7(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				c := w.Client()
				r := registry(c)
				g, other := w.register(r, typed("one", typ)), w.register(r, instance("other"))
				asked := make(chan struct{})
				w.Server.FailNth(func(q zktest.Request) bool {
					if q.Op != "exists" || !strings.HasPrefix(q.Path, base+"/api/") || isClosed(asked) {
						return false
					}
					close(asked)
					return true
				}, 1, zktest.Action{Do: zktest.DropRequest})
				moved := make(chan error, 1)
				// Waited for below; ends with the move.
				go func() { moved <- g.Move(w.Ctx, "api", g.Instance()) }()
				<-asked
				w.Away(other.Context())
				back := time.Now()
				require.NoError(w, <-moved)
				require.Less(w, time.Since(back), 3*time.Second)
				require.Equal(w, []string{"other"}, w.ids(r, service))
				require.Equal(w, []string{"one"}, w.ids(r, "api"))
				w.unregister(g)
				require.Empty(w, w.Children(base+"/api"))
			})
		})
	}
}
