package election_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Servers do not report the end of a leader whose znode the client may not read: every
// wait for that end fails at once, and names the znode.
func TestUnreadableLeaderEndsEveryWait(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		inWorld(t, o, func(w *World) {
			w.resign(w.campaign(elector(w.Client(), "a"))) // the path is readable
			acl := session.WorldACL(session.PermAll &^ session.PermRead)
			leader := w.campaign(election.New(w.Client(), dir, &election.Options{ID: "hidden", ACL: acl}))
			refused := func(err error) {
				w.Helper()
				require.ErrorIs(w, err, session.ErrNoAuth)
				require.ErrorContains(w, err, leader.Path())
				require.ErrorContains(w, err, "READ permission")
			}
			e := elector(w.Client(), "b")
			_, err := e.Campaign(w.Within(time.Minute))
			refused(err)
			_, err = e.Leader(w.Within(time.Minute))
			refused(err)
			for _, err = range e.Observe(w.Within(time.Minute)) {
			}
			refused(err)
			w.Settle()
			require.Len(w, w.Children(dir), 1)
		})
	}
}
