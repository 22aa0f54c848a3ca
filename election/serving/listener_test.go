package serving_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// freeAddress is an address that no process listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln := listen(t)
	defer ln.Close()
	return ln.Addr().String()
}

// Two instances with one address: the second listens when the first has closed.
func TestListenerIsOpenOnlyWhileLeading(t *testing.T) {
	zookeeper, err := zktest.Start(nil)
	require.NoError(t, err)
	defer zookeeper.Close()
	address := freeAddress(t)
	url := "http://" + address
	begin := func(id string) (*serving.Leader, net.Listener, *session.Client, context.CancelFunc, chan error) {
		client, err := session.Connect(t.Context(), zookeeper.Addr(), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close(context.Background())) })
		l := serving.New(election.New(client, dir, &election.Options{ID: id}), nil)
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: l.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			lead, _ := serving.FromContext(r.Context())
			_, _ = w.Write([]byte(lead.ID()))
		}))}
		ln := l.Listener("tcp", address)
		stop, out := serve(t, l, server, ln)
		return l, ln, client, stop, out
	}
	served := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool {
			code, body := get(t, url)
			return code == http.StatusOK && body == want
		}, 20*time.Second, 5*time.Millisecond)
	}
	code, _ := get(t, url)
	require.Zero(t, code)
	a, ln, client, stopA, outA := begin("a")
	require.Equal(t, "tcp", ln.Addr().Network())
	served("a")
	require.Equal(t, address, ln.Addr().String())
	// A loss closes the port; the next leadership opens it again.
	s, err := client.Session(t.Context())
	require.NoError(t, err)
	before := a.Held().Token()
	require.NoError(t, zookeeper.ExpireSession(s.ID()))
	require.Eventually(t, func() bool { h := a.Held(); return h != nil && h.Token() > before }, 20*time.Second, time.Millisecond)
	served("a")

	_, _, _, stopB, outB := begin("b")
	served("a")
	stopA()
	require.NoError(t, <-outA)
	served("b")
	stopB()
	require.NoError(t, <-outB)
	code, _ = get(t, url)
	require.Zero(t, code)
}

func TestClosedListenerAcceptsNothing(t *testing.T) {
	l := realLeader(t, nil)
	address := freeAddress(t)
	ln := l.Listener("tcp", address)
	require.Equal(t, address, ln.Addr().String())
	accepted := make(chan error, 1)
	accept := func() {
		_, err := ln.Accept()
		accepted <- err
	}
	// Waited for below; ends with Close.
	go accept()
	require.NoError(t, ln.Close())
	require.NoError(t, ln.Close())
	require.ErrorIs(t, <-accepted, net.ErrClosed)

	// Closed while it is open.
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { out <- l.Run(ctx) }()
	admitted(t, l, true)
	accept()
	require.ErrorIs(t, <-accepted, net.ErrClosed)
	ln = l.Listener("tcp", address)
	// Waited for below; ends with Close.
	go accept()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 20*time.Second, time.Millisecond)
	require.NoError(t, <-accepted)
	// Waited for below; ends with Close.
	go accept()
	require.NoError(t, ln.Close())
	require.ErrorIs(t, <-accepted, net.ErrClosed)
	// An address that is taken is an error of Accept.
	taken := listen(t)
	defer taken.Close()
	_, err := l.Listener("tcp", taken.Addr().String()).Accept()
	require.ErrorContains(t, err, "address already in use")
	cancel()
	require.NoError(t, <-out)
}
