package discovery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A leader that has lost its followers answers without knowing the instance and
// the member that a majority has confirmed.
func TestInstanceExistsThoughALeaderWithoutFollowersDoesNotKnowIt(t *testing.T) {
	isEmpty := func(length int, err error) bool { return err == nil && length == 0 }
	for name, missing := range map[string]func(w *World, c *session.Client) bool{
		"Instance": func(w *World, c *session.Client) bool {
			_, err := registry(c).Instance(w.Within(time.Minute), service, "one")
			require.NotErrorIs(w, err, session.ErrNoNode)
			return false
		},
		"Instances": func(w *World, c *session.Client) bool {
			list, err := registry(c).Instances(w.Within(time.Minute), service)
			return isEmpty(len(list), err)
		},
		"Services": func(w *World, c *session.Client) bool {
			list, err := registry(c).Services(w.Within(time.Minute))
			return isEmpty(len(list), err)
		},
		"Members": func(w *World, c *session.Client) bool {
			list, err := discovery.NewGroup(c, "/group", nil).Members(w.Within(time.Minute))
			return isEmpty(len(list), err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				require.NoError(w, w.Server.WaitLeader(w.Ctx))
				alone := w.Server.Leader()
				mine := w.ClientAt(w.Server.ServerAddr(alone), session.Options{})
				other := w.ClientAt(w.Server.ServerAddr(1+alone%3), session.Options{})
				require.NoError(w, w.Session(other).EnsurePath(w.Ctx, "/group", session.Persistent, nil))
				_, err := registry(mine).Instance(w.Ctx, service, "one")
				require.ErrorIs(w, err, session.ErrNoNode)
				w.Settle()
				w.Server.IsolateServer(alone)
				w.register(registry(other), instance("one"))
				_, err = discovery.NewGroup(other, "/group", nil).Join(w.Ctx, "me", nil)
				require.NoError(w, err)
				require.NotEqual(w, alone, w.Server.Leader())
				require.False(w, missing(w, mine), "a majority has confirmed it")
			})
		})
	}
}
