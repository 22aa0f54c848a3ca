package dispatch_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A record that was deleted or overwritten is not believed, and the master writes it again,
// within a minute at the latest. A record of a newer format stays.
func TestDamagedCountsAreNotBelievedAndAreRepaired(t *testing.T) {
	newer := `{"format":2,"token":[]}`
	for name, damage := range map[string]func(w *World) error{
		"deleted": func(w *World) error { return w.Server.Delete(countsPath) },
		"garbage": func(w *World) error { return w.Server.Set(countsPath, []byte("garbage")) },
		"empty":   func(w *World) error { return w.Server.Set(countsPath, nil) },
		"invalid": func(w *World) error {
			return w.Server.Set(countsPath, []byte(`{"format":1,"token":13,"tasks":{"waiting":-1}}`))
		},
		"another's": func(w *World) error {
			return w.Server.Set(countsPath, []byte(`{"format":1,"token":1,"tasks":{"waiting":9}}`))
		},
		"newer": func(w *World) error { return w.Server.Set(countsPath, []byte(newer)) },
		"a new znode": func(w *World) error {
			return errors.Join(w.Server.Delete(countsPath), w.Server.Create(countsPath, nil))
		},
	} {
		for _, busy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, busy=%v", name, busy), func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					q := w.queue()
					m := w.master(nil)
					w.submit(q, dispatch.Task{ID: "x"})
					w.Pass(10 * time.Second)
					require.Equal(w, 1, w.published(q).Tasks["waiting"])
					require.NoError(w, damage(w))
					require.Equal(w, map[dispatch.State]int{"waiting": 1}, w.counted(q).Tasks)
					want, within := 1, time.Minute+time.Second
					if busy {
						want, within = 2, 2*time.Second
						w.submit(q, dispatch.Task{ID: "y"})
					}
					w.Pass(within)
					if name == "newer" {
						require.Equal(w, want, w.counted(q).Tasks["waiting"])
						n, err := w.Server.Get(countsPath)
						require.NoError(w, err)
						require.Equal(w, newer, string(n.Data))
						require.NoError(w, w.Server.Delete(countsPath))
						w.Pass(time.Minute + time.Second)
					}
					require.Equal(w, want, w.published(q).Tasks["waiting"])
					require.NoError(w, m.end())
				})
			})
		}
	}
}

// A record that the roles may not read and write costs them nothing else.
func TestCountsOfAnotherACLAreLeftAlone(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		inWorld(t, o, func(w *World) {
			q := w.queue()
			w.submit(q, dispatch.Task{ID: "x"})
			ann := w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("ann", "secret")}})
			_, err := w.Session(ann).Create(w.Ctx, countsPath, nil, session.Persistent, &session.CreateOptions{ACL: session.CreatorACL()})
			require.NoError(w, err)
			m := w.master(nil)
			w.worker(echo, nil)
			require.Equal(w, "done", string(w.collect(q, "x").State))
			w.submit(q, dispatch.Task{ID: "y"})
			w.Pass(2 * time.Minute)
			require.Equal(w, map[dispatch.State]int{"done": 1}, w.counted(q).Tasks)
			require.NoError(w, w.Server.Delete(countsPath))
			w.Pass(time.Minute + time.Second)
			require.Equal(w, map[dispatch.State]int{"done": 1}, w.published(q).Tasks)
			require.NoError(w, m.end())
		})
	}
}

// A master that may not replace its own record any more gives up the leadership: the record
// would be believed, and would never change.
func TestMasterThatMayNotReplaceItsCountsEnds(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		m := w.master(nil)
		w.Pass(10 * time.Second)
		w.published(q)
		admin := w.Session(w.Client())
		_, err := admin.SetACL(w.Ctx, countsPath, []session.ACL{{Perms: session.PermRead, Scheme: "world", ID: "anyone"}}, -1)
		require.NoError(w, err)
		w.submit(q, dispatch.Task{ID: "x"})
		require.ErrorIs(w, <-m.done, session.ErrNoAuth)
		require.Equal(w, map[dispatch.State]int{"waiting": 1}, w.counted(q).Tasks)
	})
}
