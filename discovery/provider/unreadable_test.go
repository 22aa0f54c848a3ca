package provider_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/provider"
	"github.com/zkrecipes/zkrecipes/session"
)

// The service's znode becomes unreadable: on the next connection Run returns, and Get
// fails instead of picking from an old list. Another Run goes on once the znode may be
// read again.
func TestServiceThatBecomesUnreadableEndsRun(t *testing.T) {
	inWorld(t, func(w *World) {
		w.register("one")
		p := provider.New(discovery.NewRegistry(w.user, "/services", nil), service, provider.RoundRobin(), nil)
		run := func() chan error {
			ctx, cancel := context.WithCancel(w.Ctx)
			w.Cleanup(cancel)
			over := make(chan error, 1)
			// Waited for below, or by the bubble; ends with ctx, or with an error.
			go func() { over <- p.Run(ctx) }()
			return over
		}
		over := run()
		require.Equal(w, "one", w.get(p, nil))
		rights := func(perms int32) {
			_, err := w.Session(w.client).SetACL(w.Ctx, "/services/"+service, session.WorldACL(perms), -1)
			require.NoError(w, err)
		}
		rights(zk.PermAll &^ zk.PermRead)
		w.register("two")
		w.Settle()
		require.Equal(w, "twoone", w.gets(p, 2), "the instances may be read")
		w.Server.Cut(w.ID(w.user))
		require.ErrorIs(w, <-over, session.ErrNoAuth)
		_, err := p.Get(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		_, err = p.All(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.ErrorIs(w, p.Status().Err, session.ErrNoAuth)
		rights(zk.PermAll)
		run()
		w.Settle()
		all, err := p.All(w.Ctx)
		require.NoError(w, err)
		require.Len(w, all, 2)
	})
}
