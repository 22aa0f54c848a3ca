package session

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// Linux answers on all addresses of 127.0.0.0/8.

// namesFor resolves every name into these addresses.
func namesFor(addresses ...string) func(context.Context, string) ([]string, error) {
	return func(_ context.Context, host string) ([]string, error) {
		if host != "zk.example.org" {
			return nil, errors.New("no such host: " + host)
		}
		return addresses, nil
	}
}

// One name, of which one address accepts connections and never answers.
func TestEveryAddressOfANameIsTried(t *testing.T) {
	t.Parallel() // it waits
	srv, err := zktest.Start(&zktest.Options{Addr: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	_, port, err := net.SplitHostPort(srv.Addr())
	require.NoError(t, err)
	silent, err := net.Listen("tcp", "127.77.0.2:"+port)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 4 { // the order is random
		c, err := Connect(ctx, "zk.example.org:"+port, &Options{Timeout: 6 * time.Second, Resolver: namesFor("127.77.0.2", "127.0.0.1")})
		require.NoError(t, err)
		assert.Equal(t, srv.Addr(), c.State().Server, "with several addresses, the address tells which")
		require.NoError(t, c.Close(ctx))
	}
}

// The members of an ensemble behind one name, as a headless service has it: the address of
// a server that has gone costs no session.
func TestSessionMovesToAnotherAddressOfTheName(t *testing.T) {
	server := apache.Require(t, nil)
	host, port, err := net.SplitHostPort(server.Connect())
	require.NoError(t, err)
	gone := "127.77.0.3"
	require.NotEqual(t, gone, host)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := Connect(ctx, "zk.example.org:"+port, &Options{Timeout: 6 * time.Second, Resolver: namesFor(gone, host)})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(ctx)) }()
	s, err := c.Session(ctx)
	require.NoError(t, err)
	for range 3 {
		s.link.Drop(errors.New("a cable is pulled"))
		_, _, err = s.Exists(ctx, "/")
		require.NoError(t, err)
	}
	require.NoError(t, s.Err())
}

func TestErrorOfTheResolverIsSaid(t *testing.T) {
	ctx, called := untilCalled(t, 2)
	sealed := errors.New("the vault is sealed")
	_, err := Connect(ctx, "zk.invalid:2181", &Options{Resolver: func(context.Context, string) ([]string, error) {
		called()
		return nil, sealed
	}})
	require.ErrorIs(t, err, ErrUnreachable)
	require.ErrorIs(t, err, sealed)
	require.ErrorContains(t, err, "resolve zk.invalid")
}

// The attempt that says most need not be the last one.
func TestErrorsOfAllAddressesAreSaid(t *testing.T) {
	srv, err := zktest.Start(&zktest.Options{Addr: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	_, port, err := net.SplitHostPort(srv.Addr())
	require.NoError(t, err)
	for range 4 { // the order is random
		ctx, called := untilCalled(t, 2) // the second round
		resolve := namesFor("127.77.0.4", "127.0.0.1")
		_, err = Connect(ctx, "zk.example.org:"+port, &Options{SASL: SASLDigestMD5("alice", "wonder"), Resolver: func(ctx context.Context, host string) ([]string, error) {
			called()
			return resolve(ctx, host)
		}})
		require.ErrorIs(t, err, syscall.ECONNREFUSED, "127.77.0.4")
		require.ErrorContains(t, err, "it has no SASL", "127.0.0.1")
	}
}
