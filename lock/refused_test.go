package lock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The answer to the creation is lost, and the path may not be listed for a while: what
// cannot be found now is found, and deleted, as soon as that is allowed.
func TestZnodeThatMayNotBeLookedForGoesWhenItMay(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		m := lock.New(a, dir, nil)
		w.unlock(w.lock(m))
		setACL := func(perms int32) {
			_, err := w.Session(b).SetACL(w.Ctx, dir, session.WorldACL(perms), -1)
			require.NoError(w, err)
		}
		setACL(zk.PermAll &^ zk.PermRead)
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "create2" && strings.HasPrefix(r.Path, dir+"/") }, 1,
			zktest.Action{Do: zktest.DropReplyCut})
		_, err := m.Lock(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		setACL(zk.PermAll)
		w.Pass(time.Minute)
		require.Empty(w, w.Children(dir))
		w.unlock(w.lock(lock.New(b, dir, nil)))
	})
}
