package counter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Servers do not report changes of an unreadable counter: Watch fails at once,
// and names the znode.
func TestWatchOfAnUnreadableCounterIsRefused(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		inWorld(t, o, func(w *World) {
			s := w.Session(w.Client())
			acl := session.WorldACL(session.PermAll &^ session.PermRead)
			_, err := s.Create(w.Ctx, "/hidden", []byte("1"), session.Persistent, &session.CreateOptions{ACL: acl})
			require.NoError(w, err)
			for _, err = range counter.New(w.Client(), "/hidden", nil).Watch(w.Within(time.Minute)) {
			}
			require.ErrorIs(w, err, session.ErrNoAuth)
			require.ErrorContains(w, err, "/hidden")
			require.ErrorContains(w, err, "READ permission")
		})
	}
}
