package world

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// NoticesWeakTrust has isolated cut off a follower of an ensemble, together with a
// client that holds something and knows no other server, and judge what was seen. With
// the weaker rule of trust, which other clients go by, two hold it then: the follower
// goes on answering, and the others expire the session. A judge that does not notice
// that is no judge. With the rule that is the default, there are not two.
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
