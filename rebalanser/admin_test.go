package rebalanser_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestAdministrationOfNoGroup(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.admin()
		_, err := a.AddResources(w.Ctx, "a")
		require.ErrorIs(w, err, rebalanser.ErrNoGroup)
		_, err = a.RemoveResources(w.Ctx, "a")
		require.ErrorIs(w, err, rebalanser.ErrNoGroup)
		_, err = a.Resources(w.Ctx)
		require.ErrorIs(w, err, rebalanser.ErrNoGroup)
		_, err = a.Status(w.Ctx)
		require.ErrorIs(w, err, rebalanser.ErrNoGroup)
		require.ErrorIs(w, a.Pause(w.Ctx), rebalanser.ErrNoGroup)
		require.ErrorIs(w, a.Resume(w.Ctx), rebalanser.ErrNoGroup)
		require.Empty(w, w.Children("/groups"), "and nothing has been made")
		ended, cancel := context.WithCancel(w.Ctx)
		cancel()
		require.ErrorIs(w, a.Create(ended), context.Canceled)
		require.Empty(w, w.Children("/groups"))
	})
}

func TestResourcesAreAddedAndRemovedOnce(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.admin()
		require.NoError(w, a.Create(w.Ctx))
		require.NoError(w, a.Create(w.Ctx), "once more changes nothing")
		added, err := a.AddResources(w.Ctx, "b", "a", "b")
		require.NoError(w, err)
		require.Equal(w, []string{"b", "a"}, added)
		added, err = a.AddResources(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, added)
		added, err = a.AddResources(w.Ctx, "a", "c")
		require.NoError(w, err)
		require.Equal(w, []string{"c"}, added)
		removed, err := a.RemoveResources(w.Ctx, "x", "c", "b", "c")
		require.NoError(w, err)
		require.Equal(w, []string{"c", "b"}, removed)
		all, err := a.Resources(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, []string{"a"}, all)
	})
}

// Two administrators add and remove concurrently: each resource is added by
// exactly one.
func TestOneOfTwoAdministratorsHasAddedAResource(t *testing.T) {
	inBoth(t, func(w *World) {
		a, b := w.stock(0), w.admin()
		once := false
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "multi" && !r.OnlyChecks && !once && r.Client == "c1" {
				once = true
				require.NoError(w, w.Server.Create(path+"/resources/r01", nil))
			}
			return zktest.Action{}
		})
		added, err := a.AddResources(w.Ctx, names(3)...)
		require.NoError(w, err)
		require.Equal(w, []string{"r00", "r02"}, added)
		added, err = b.AddResources(w.Ctx, names(3)...)
		require.NoError(w, err)
		require.Empty(w, added)
	})
}

// The coordinator knows, and any client can read, when a generation is started everywhere.
// R30, R45, X9.
func TestStatusTellsTheOwnersOfResources_R30(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(4)
		st := w.status(a)
		require.Equal(w, rebalanser.Status{Mode: w.mode, Resources: 4, Unowned: names(4)}, st)
		began := time.Now()
		c1 := w.node("c2", rebalanser.Options{ID: "one"}).run()
		w.Pass(time.Second)
		c2 := w.node("c3", rebalanser.Options{ID: "two", Instance: "i-2", Zone: "z", Weight: 5}).run()
		w.Pass(time.Second)
		st = w.status(a)
		require.Equal(w, c1.group.State().Client, st.Coordinator)
		require.EqualValues(w, 1, st.Epoch)
		require.EqualValues(w, 2, st.Generation)
		if w.mode == rebalanser.GlobalBarrier {
			require.Equal(w, "confirmed", st.State)
		}
		require.Empty(w, st.Unowned)
		require.Empty(w, st.Waiting)
		require.Len(w, st.Members, 2)
		one, two := st.Members[0], st.Members[1]
		require.Equal(w, "one", one.ID)
		require.Equal(w, []string{"two", "i-2", "z"}, []string{two.ID, two.Instance, two.Zone})
		require.Equal(w, 5, two.Weight)
		require.Equal(w, c2.group.State().Client, two.Client)
		for i, n := range []*node{c1, c2} {
			m := st.Members[i]
			require.Equal(w, 2, m.Assigned)
			require.Len(w, m.Owned, 2)
			require.WithinDuration(w, began, m.Since, 3*time.Second)
			for _, name := range w.of(n.memberID) {
				require.WithinDuration(w, began, m.Owned[name], 3*time.Second, name)
			}
		}

		w.markDead("c3")
		w.Server.BlackHole(zktest.Link{Client: "c3"}, zktest.Both)
		w.Pass(15 * time.Second)
		st = w.status(a)
		require.Len(w, st.Members, 2)
		require.True(w, st.Members[1].Gone)
		require.Equal(w, "i-2", st.Members[1].Instance, "its resources are kept for the instance")
		require.Len(w, st.Unowned, 2)
		require.Len(w, st.Waiting, 2)
		require.Equal(w, two.Client, st.Waiting[0].For)
		require.Empty(w, st.Waiting[0].On)
		w.Pass(time.Minute)
		st = w.status(a)
		require.Empty(w, st.Unowned)
		require.Len(w, st.Members, 1)
	})
}

func TestStatusWithoutRightToRead(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(1)
		s := w.Session(w.Client())
		_, err := s.SetACL(w.Ctx, path+"/epoch", []session.ACL{{Perms: 2, Scheme: "world", ID: "anyone"}}, -1)
		require.NoError(w, err)
		_, err = a.Status(w.Ctx)
		require.ErrorIs(w, err, session.ErrNoAuth)
	})
}
