package discovery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// loses has the server lose the first n requests to change path, each with its
// connection: from the second on the registrant pauses before it asks again.
func (w *World) loses(n int, op, path string) {
	w.Server.OnRequest(func(r zktest.Request) zktest.Action {
		if n > 0 && (r.Op == op || world.Creates(r.Op) && world.Creates(op)) && r.Path == path {
			n--
			return zktest.Action{Do: zktest.CutBefore}
		}
		return zktest.Action{}
	})
}

// CH51: an update that comes while a creation's outcome is found out is not
// overlooked.
func TestUpdateDuringAPauseIsNotOverlooked_CH51(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		g := w.register(registry(c), typed("one", discovery.Dynamic))
		w.loses(6, "create", dir+"/one")
		w.Expire(c)
		w.Pass(2 * time.Second)
		require.Empty(w, w.Children(dir), "it is in a pause")
		i := g.Instance()
		i.Payload = json.RawMessage(`"late"`)
		require.NoError(w, g.Update(w.Within(time.Minute), i))
		require.Contains(w, string(w.node(dir+"/one").Data), "late")
		w.unregister(g)
	})
}

// CH54: neither is giving up, for any type and at any time.
func TestGivingUpDuringAPauseLeavesNothing_CH54(t *testing.T) {
	for _, typ := range []discovery.Type{discovery.Dynamic, discovery.Static} {
		for _, after := range []time.Duration{50, 150, 250, 400} {
			t.Run(fmt.Sprint(typ, int(after)), func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					c := w.Client()
					require.NoError(w, w.Session(c).EnsurePath(w.Ctx, dir, session.Persistent, nil))
					w.loses(4, "create", dir+"/one")
					_, err := registry(c).Register(w.Within(after*time.Millisecond), typed("one", typ))
					require.ErrorIs(w, err, context.DeadlineExceeded)
					w.Pass(time.Minute)
					require.Empty(w, w.Children(dir))
				})
			})
		}
	}
}

// A registration that the servers refuse to make again in the next session says why, is
// retried every five seconds, and at once when something else is wanted.
func TestRefusedRegistrationIsTriedAgainAfterAPause(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, admin := w.Client(), w.Client()
		g := w.register(registry(c), instance("one"))
		_, err := w.Session(admin).SetACL(w.Ctx, dir, session.WorldACL(zk.PermRead|zk.PermAdmin), -1)
		require.NoError(w, err)
		tries := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if world.Creates(r.Op) && r.Path == dir+"/one" {
				tries++
			}
			return zktest.Action{}
		})
		w.Expire(c)
		w.Pass(time.Second)
		before := tries
		require.Positive(w, before)
		require.False(w, g.State().Registered)
		require.ErrorIs(w, g.State().Err, session.ErrNoAuth)
		w.Pass(20 * time.Second)
		require.Equal(w, before+4, tries)

		began := time.Now()
		require.ErrorIs(w, g.Update(w.Ctx, g.Instance()), session.ErrNoAuth)
		require.Less(w, time.Since(began), time.Second, "it does not wait for the end of the pause")
		_, err = w.Session(admin).SetACL(w.Ctx, dir, session.WorldACL(zk.PermAll), -1)
		require.NoError(w, err)
		w.Pass(6 * time.Second)
		require.True(w, g.State().Registered)
		w.unregister(g)
	})
}
