package world

import (
	"testing"

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
