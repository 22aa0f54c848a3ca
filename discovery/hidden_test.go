package discovery_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Another process has an instance of the same id that may not be read. Whose it is can
// be told all the same: it does not keep us from finding our own.
func TestAnothersHiddenNodeDoesNotHideOurs_CH53(t *testing.T) {
	for typ, mode := range map[discovery.Type]session.Mode{
		discovery.Dynamic: session.Ephemeral, discovery.DynamicSequential: session.EphemeralSequential,
	} {
		for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
			inWorld(t, o, func(w *World) {
				w.register(registry(w.Client()), instance("other")) // the service's path exists
				hidden := &session.CreateOptions{ACL: session.WorldACL(zk.PermDelete)}
				theirs, err := w.Session(w.Client()).Create(w.Ctx, dir+"/one", nil, mode, hidden)
				require.NoError(w, err)
				r := registry(w.Client())
				w.Server.FailNth(func(q zktest.Request) bool { return world.Creates(q.Op) }, 1, zktest.Action{Do: zktest.DropReplyCut})
				g, err := r.Register(w.Within(time.Minute), typed("one", typ))
				if typ == discovery.Dynamic {
					require.ErrorIs(w, err, discovery.ErrConflict)
					return
				}
				require.NoError(w, err, "%v", w.Children(dir))
				require.NotEqual(w, theirs.Path, g.State().Path)
				require.Len(w, w.Children(dir), 3)
				w.unregister(g)
				require.Len(w, w.Children(dir), 2)
			})
		}
	}
}

// A persistent node that may not be read is another's, whatever it says.
func TestHiddenNodeUnderTheNameIsAConflict(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		inWorld(t, o, func(w *World) {
			w.register(registry(w.Client()), instance("other"))
			hidden := &session.CreateOptions{ACL: session.WorldACL(zk.PermDelete)}
			_, err := w.Session(w.Client()).Create(w.Ctx, dir+"/one", nil, session.Persistent, hidden)
			require.NoError(w, err)
			_, err = registry(w.Client()).Register(w.Within(time.Minute), typed("one", discovery.Static))
			require.ErrorIs(w, err, discovery.ErrConflict)
		})
	}
}

// A waiting client gets a name when the node that has it, and that the client may not
// read, has gone; a server may send no event for such a node.
func TestNameOfAHiddenNodeIsWaitedFor(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		inWorld(t, o, func(w *World) {
			w.register(registry(w.Client()), instance("other"))
			hidden := &session.CreateOptions{ACL: session.WorldACL(zk.PermDelete)}
			theirs := w.Session(w.Client())
			_, err := theirs.Create(w.Ctx, dir+"/one", nil, session.Ephemeral, hidden)
			require.NoError(w, err)
			got := make(chan error, 1)
			r := discovery.NewRegistry(w.Client(), base, &discovery.Options{Wait: true})
			// Waited for below; ends with the registration.
			go func() { _, err := r.Register(w.Ctx, typed("one", discovery.Dynamic)); got <- err }()
			w.Pass(time.Minute)
			require.Empty(w, got)
			require.NoError(w, theirs.Delete(w.Ctx, dir+"/one", -1))
			w.Pass(10 * time.Second)
			require.NoError(w, <-got)
		})
	}
}
