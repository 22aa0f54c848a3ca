package world

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// NoticesWeakTrust is a test of checks: isolated cuts off a follower of an
// ensemble, together with a client that has a hold and knows no other server,
// and checks the observations. Under the weaker rule of trust, used by other
// clients, two clients have the hold then: the follower continues to answer,
// and the other servers expire the session. The check must detect this. Under
// the default rule, only one client has the hold.
func NoticesWeakTrust(t *testing.T, isolated func(w *World, trust session.TrustRule) error) {
	t.Helper()
	for name, trust := range map[string]session.TrustRule{"weaker": session.TrustAnswered, "default": session.TrustQuorum} {
		t.Run(name, func(t *testing.T) {
			In(t, &zktest.Options{Servers: 3}, func(w *World) {
				err := isolated(w, trust)
				if trust == session.TrustQuorum {
					require.NoError(w, err)
					return
				}
				require.ErrorIs(w, err, ErrBroken)
				require.ErrorIs(w, err, ErrOrder, "seen by the other checker, too")
				require.NotErrorIs(w, err, ErrStale, "guards hold under any rule")
			})
		})
	}
}

// IsolateHolder lets one client take a hold at a follower, isolates the follower, and
// lets a second client take the hold at the other servers. Both hold as long as they
// can; in the end the first client writes as if it still held. It runs in a bubble.
func (w *World) IsolateHolder(s *Stress, trust session.TrustRule, take func(c *session.Client, i int) (Holding, error), note func(Hold, Holding)) {
	w.Helper()
	w.Pass(time.Second)
	alone := 1 + w.Server.Leader()%3
	require.NoError(w, w.Server.Create(Guarded, nil))
	var first Holding
	var all sync.WaitGroup
	for i, addr := range []string{w.Server.ServerAddr(alone), w.Server.ServerAddr(w.Server.Leader())} {
		s.Clients = append(s.Clients, w.ClientAt(addr, session.Options{Trust: trust}))
		asked := time.Now()
		held, err := take(s.Clients[i], i)
		require.NoError(w, err)
		h := Hold{Client: i, Session: held.Session().ID(), Token: held.Token(), Asked: asked, From: time.Now()}
		s.Write(w.Ctx, held.Session(), held.Guard(), held.Token())
		// Waited for below; ends with the hold.
		all.Go(func() {
			<-held.Context().Done()
			h.To = time.Now()
			note(h, held)
		})
		if i == 0 {
			first = held
			w.Pass(20 * time.Second) // until trust rests on heartbeats
			w.Server.IsolateServer(alone)
		}
	}
	w.Pass(time.Minute)
	w.Server.HealPeers()
	s.Write(w.Ctx, w.Session(s.Clients[1]), first.Guard(), first.Token())
	for _, c := range s.Clients {
		require.NoError(w, c.Close(w.Ctx))
	}
	all.Wait()
}
