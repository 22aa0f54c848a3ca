package discovery_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Static instances, and requests about them that got stuck at a server which does
// not run, in a session that its client has given up and the servers have not.

// atLeader is a client that knows no other server.
func (w *World) atLeader() *session.Client {
	return w.ClientAt(strings.Split(w.Server.Addr(), ",")[w.Server.Leader()-1], session.Options{})
}

// stuck is one such story. first is done before, begin sends what gets stuck, rest
// is done in the next session; the server goes on behind that, or after a while if
// rest waits for the end of the session before.
func stuck(t *testing.T, first, begin, rest func(w *World, r *discovery.Registry)) {
	t.Helper()
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		for w.Server.Leader() == 0 {
			w.Settle()
		}
		w.Server.BlackHole(zktest.Link{Client: "c1", Server: w.Server.Leader()}, zktest.Both)
		dial := w.Server.Client("c1")
		var avoided atomic.Value // a server's address
		c := w.ClientWith(session.Options{Timeout: 10 * time.Second, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == avoided.Load() {
				return nil, errors.New("refused")
			}
			return dial(ctx, network, addr)
		}})
		r := registry(c)
		var at int // the server
		forget := w.Server.OnRequest(func(q zktest.Request) zktest.Action {
			at = q.Server
			return zktest.Action{}
		})
		w.register(r, instance("held")) // its hold keeps the session under trial
		w.Pass(4 * time.Second)         // heartbeats
		forget()
		first(w, r)
		s := w.Session(c)
		w.Server.BlackHole(zktest.Link{Client: "c1", Server: 6 - at - w.Server.Leader()}, zktest.Both)
		require.NoError(w, w.Server.Freeze(at))
		begin(w, r)
		<-s.Context().Done()
		require.ErrorIs(w, s.Err(), session.ErrTrustRanOut)
		servers := strings.Split(w.Server.Addr(), ",")
		avoided.Store(servers[at-1]) // it would accept, and not answer
		w.Server.Heal()
		done := make(chan struct{})
		// Waited for below; ends with the world's context at the latest.
		go func() {
			defer close(done)
			rest(w, r)
		}()
		w.Pass(300 * time.Millisecond)
		require.NoError(w, w.Server.Thaw(at))
		<-done
		w.Pass(20 * time.Second)
	})
}

func TestLateRemovalHitsNoOtherRegistration(t *testing.T) {
	var g *discovery.Registration
	stuck(t, func(w *World, r *discovery.Registry) {
		g = w.register(r, typed("one", discovery.Static))
	}, func(w *World, _ *discovery.Registry) {
		require.ErrorIs(w, g.Unregister(w.Within(time.Second)), context.DeadlineExceeded)
	}, func(w *World, _ *discovery.Registry) {
		w.unregister(g)
		theirs := w.register(registry(w.atLeader()), typed("one", discovery.Static))
		was := theirs.State().Token
		w.Pass(20 * time.Second)
		require.Equal(w, was, theirs.State().Token, "it is another one")
	})
}

func TestLateUpdateHitsNoOtherRegistration(t *testing.T) {
	var g *discovery.Registration
	stuck(t, func(w *World, r *discovery.Registry) {
		g = w.register(r, typed("one", discovery.Static))
	}, func(w *World, _ *discovery.Registry) {
		next := typed("one", discovery.Static)
		next.Port = 1
		require.ErrorIs(w, g.Update(w.Within(time.Second), next), context.DeadlineExceeded)
	}, func(w *World, _ *discovery.Registry) {
		w.unregister(g)
		r := registry(w.atLeader())
		w.register(r, typed("one", discovery.Static))
		w.Pass(20 * time.Second)
		i, err := r.Instance(w.Ctx, service, "one")
		require.NoError(w, err)
		require.Equal(w, 8080, i.Port)
	})
}

func TestCreationThatComesLateBringsNothingBack(t *testing.T) {
	var out chan *discovery.Registration
	stuck(t, func(*World, *discovery.Registry) {}, func(w *World, r *discovery.Registry) {
		out = make(chan *discovery.Registration, 1)
		// Waited for by rest; ends in the next session.
		go func() {
			g, _ := r.Register(w.Ctx, typed("one", discovery.Static))
			out <- g
		}()
		w.Settle()
	}, func(w *World, r *discovery.Registry) {
		w.unregister(<-out)
		w.Pass(20 * time.Second)
		require.Equal(w, []string{"held"}, w.ids(r, service))
	})
}

func TestMoveThatComesLateBringsNothingBack(t *testing.T) {
	var g *discovery.Registration
	stuck(t, func(w *World, r *discovery.Registry) {
		g = w.register(r, typed("one", discovery.Static))
	}, func(w *World, _ *discovery.Registry) {
		require.ErrorIs(w, g.Move(w.Within(time.Second), service, typed("two", discovery.Static)), context.DeadlineExceeded)
	}, func(w *World, r *discovery.Registry) {
		w.unregister(g)
		w.Pass(20 * time.Second)
		require.Equal(w, []string{"held"}, w.ids(r, service))
	})
}
