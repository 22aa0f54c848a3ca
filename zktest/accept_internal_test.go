package zktest

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// listener is a net.Listener that returns the connections queued by a test.
type listener struct {
	conns  chan net.Conn // nil is a failure
	closed chan struct{}
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	fail := func(err error) error { return &net.OpError{Op: "accept", Net: "tcp", Err: err} }
	select {
	case c := <-l.conns:
		if c == nil {
			return nil, fail(syscall.EMFILE)
		}
		return c, nil
	case <-l.closed:
		return nil, fail(net.ErrClosed)
	}
}

// Close implements net.Listener.
func (l *listener) Close() error { close(l.closed); return nil }

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// inAccepting runs f in a bubble with a server that serves l and writes its log
// to the buffer.
func inAccepting(t *testing.T, f func(t *testing.T, s *Server, l *listener, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := Start(&Options{InMemory: true, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
		require.NoError(t, err)
		defer s.Close()
		l := newListener()
		s.mu.Lock()
		s.listeners[0] = l
		s.serveLocked(1, l)
		s.mu.Unlock()
		f(t, s, l, &log)
	})
}

// requireServed checks that a connection accepted now is served.
func requireServed(t *testing.T, l *listener) {
	t.Helper()
	client, server := net.Pipe()
	l.conns <- server
	_, err := client.Write([]byte("ruok"))
	require.NoError(t, err)
	b := make([]byte, 4)
	_, err = client.Read(b)
	require.NoError(t, err)
	require.Equal(t, "imok", string(b))
	require.NoError(t, client.Close())
}

func TestServerAcceptsAgainAfterFailures(t *testing.T) {
	inAccepting(t, func(t *testing.T, _ *Server, l *listener, log *bytes.Buffer) {
		begin := time.Now()
		for range 10 {
			l.conns <- nil
		}
		requireServed(t, l)
		took := time.Since(begin)
		require.Greater(t, took, 2*time.Second, "every pause is longer than the one before")
		require.Less(t, took, 4*time.Second, "and none longer than a second")
		require.Equal(t, 1, strings.Count(log.String(), "cannot accept"), "%s", log)
		require.Contains(t, log.String(), syscall.EMFILE.Error())

		begin = time.Now()
		l.conns <- nil
		requireServed(t, l)
		require.Equal(t, acceptPause, time.Since(begin), "a success ends the row")
		require.Equal(t, 2, strings.Count(log.String(), "cannot accept"), "%s", log)
	})
}

func TestCloseEndsThePauseAfterAFailedAccept(t *testing.T) {
	inAccepting(t, func(t *testing.T, s *Server, l *listener, _ *bytes.Buffer) {
		for range 10 {
			l.conns <- nil
		}
		synctest.Wait()
		begin := time.Now()
		require.NoError(t, s.Close())
		require.Zero(t, time.Since(begin))
		_, err := l.Accept()
		require.True(t, errors.Is(err, net.ErrClosed))
	})
}
