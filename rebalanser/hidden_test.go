package rebalanser_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The coordinator reads the record of each member.
func TestUnreadableMemberEndsTheCoordinator(t *testing.T) {
	for _, mode := range modes() {
		for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
			inWorld(t, mode, o, func(w *World) {
				w.stock(4)
				first := w.start(1, rebalanser.Options{})[0]
				w.Pass(time.Minute)
				hidden := w.node("hidden", rebalanser.Options{ACL: session.WorldACL(session.PermAll &^ session.PermRead)}).run()
				// The first member cannot read the other one, which coordinates next, and
				// whose writes depend on a check that servers refuse.
				for _, n := range []*node{first, hidden} {
					err := n.awaitEnd()
					require.ErrorIs(w, err, session.ErrNoAuth)
					require.ErrorContains(w, err, path+"/clients/_c_")
					require.ErrorContains(w, err, "READ permission")
				}
			})
		}
	}
}

// Servers do not report the end of an owner with an unreadable znode: a member
// waiting for the end would wait indefinitely.
func TestBarrierOfAnUnreadableOwnerIsNotWaitedFor(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		inWorld(t, rebalanser.ResourceBarrier, o, func(w *World) {
			admin := w.admin()
			require.NoError(w, admin.Create(w.Ctx))
			c := w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("a", "b")}})
			secret := &session.CreateOptions{ACL: zk.DigestACL(zk.PermAll, "a", "b")}
			able := w.nodeOf(c, "able", rebalanser.Options{}).run()
			w.Pass(time.Minute)
			owner := "_c_00000000-0000-4000-8000-000000000000-latch-0000001000"
			_, err := w.Session(c).Create(w.Ctx, path+"/clients/"+owner, nil, session.Ephemeral, secret)
			require.NoError(w, err)
			for _, name := range names(2) {
				require.NoError(w, w.Server.Create(path+"/barriers/"+name, []byte(`{"format":1,"client":"`+owner+`"}`)))
			}
			_, err = admin.AddResources(w.Ctx, names(2)...)
			require.NoError(w, err)
			other := w.node("other", rebalanser.Options{}).run()
			err = other.awaitEnd()
			require.ErrorIs(w, err, session.ErrNoAuth)
			require.ErrorContains(w, err, owner)
			require.ErrorContains(w, err, "READ permission")
			require.Empty(w, w.of("able"))
			require.NoError(w, w.Session(c).Delete(w.Ctx, path+"/clients/"+owner, -1))
			w.Pass(time.Minute)
			w.shared(2, able)
		})
	}
}
