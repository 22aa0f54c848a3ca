package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// startService starts a server and a service on it, with that session timeout; over gets the end of
// serve.
func startService(t *testing.T, timeout time.Duration) (srv *zktest.Server, admin *session.Client, url string, stop func(), over chan error) {
	t.Helper()
	srv, err := zktest.Start(&zktest.Options{TickTime: 200 * time.Millisecond, MaxSessionTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	admin, err = session.Connect(t.Context(), srv.Addr(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	ctx, cancel := context.WithCancel(t.Context())
	over = make(chan error, 1)
	// Waited for by each test; ends with ctx.
	go func() { over <- serve(ctx, srv.Addr(), "127.0.0.1:0", &session.Options{Timeout: timeout}) }()
	require.Eventually(t, func() bool {
		all, err := discovery.NewRegistry(admin, "/services", nil).Instances(t.Context(), "web")
		if err != nil || len(all) == 0 {
			return false
		}
		url = fmt.Sprintf("http://%s:%d", all[0].Address, all[0].Port)
		leader, err := election.New(admin, "/web/leader", nil).Leader(t.Context())
		return err == nil && leader.Leads
	}, 20*time.Second, 10*time.Millisecond)
	return srv, admin, url, cancel, over
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(text)
}

func TestServiceLeavesNothingBehind(t *testing.T) {
	srv, _, url, stop, over := startService(t, 20*time.Second) // a busy machine may stand still for seconds
	for _, path := range []string{"/", "/livez", "/readyz"} {
		code, _ := get(t, url+path)
		require.Equal(t, http.StatusOK, code, path)
	}
	stop()
	require.NoError(t, <-over)
	require.Len(t, srv.Sessions(), 1, "that of the admin")
	for _, n := range srv.Dump() {
		require.Zero(t, n.EphemeralOwner, n.Path)
	}
}

// Told to stop while no server answers, the service ends within a session timeout and the
// seconds that Close may take, and says that nothing confirmed the end.
func TestServiceEndsDuringAnOutage(t *testing.T) {
	srv, _, url, stop, over := startService(t, 2*time.Second)
	require.NoError(t, srv.Freeze(1))
	code, _ := get(t, url+"/livez")
	require.Equal(t, http.StatusOK, code, "a restart would not help")
	stop()
	select {
	case err := <-over:
		require.ErrorIs(t, err, session.ErrLost)
	case <-time.After(30 * time.Second):
		t.Fatal("the service does not end")
	}
	require.NoError(t, srv.Thaw(1))
}
