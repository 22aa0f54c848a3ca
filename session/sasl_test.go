package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// saslUsers are the users of the tests' servers.
func saslUsers() map[string]string {
	return map[string]string{"alice": "wonder", "bob": `p,w=\"x`, "zoe": "pässwörd"}
}

// testSASL uses servers that have saslUsers, and demand SASL.
func testSASL(t *testing.T, servers string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	connect := func(sasl func(context.Context, string) (SASLMechanism, error)) (*Client, error) {
		return Connect(ctx, servers, &Options{Timeout: 6 * time.Second, SASL: sasl})
	}
	path := "/sasl-" + NewID()
	for user, password := range saslUsers() {
		c, err := connect(SASLDigestMD5(user, password))
		require.NoError(t, err, user)
		s, err := c.Session(ctx)
		require.NoError(t, err)
		if user == "alice" {
			_, err = s.Create(ctx, path, []byte("hers"), Persistent, &CreateOptions{ACL: CreatorACL()})
			require.NoError(t, err)
		}
		// Each connection of the session is authenticated.
		s.link.Drop(errors.New("a cable is pulled"))
		_, _, err = s.Exists(ctx, "/")
		require.NoError(t, err)
		require.NoError(t, c.Close(ctx))
	}
	for _, user := range []string{"bob", "alice"} {
		c, err := connect(SASLDigestMD5(user, saslUsers()[user]))
		require.NoError(t, err)
		s, err := c.Session(ctx)
		require.NoError(t, err)
		_, _, err = s.Get(ctx, path)
		if user == "alice" {
			require.NoError(t, err)
			require.NoError(t, s.Delete(ctx, path, -1))
		} else {
			require.ErrorIs(t, err, ErrNoAuth)
		}
		require.NoError(t, c.Close(ctx))
	}
	for _, wrong := range [][2]string{{"alice", "Wonder"}, {"carol", "unknown"}} {
		_, err := connect(SASLDigestMD5(wrong[0], wrong[1]))
		require.ErrorIs(t, err, ErrAuthFailed, "%q", wrong)
	}

	c, err := connect(nil)
	require.NoError(t, err)
	s, err := c.Session(ctx)
	require.NoError(t, err)
	_, _, err = s.Exists(ctx, "/")
	require.ErrorIs(t, err, ErrAuthRequired)
	require.NoError(t, c.Close(ctx))
}

func TestSASL(t *testing.T) {
	srv, err := zktest.Start(&zktest.Options{SASLUsers: saslUsers(), EnforceAuth: []string{"sasl"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	testSASL(t, srv.Addr())
}

func TestSASLOnApache(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Own: true, SASLUsers: saslUsers(), Properties: map[string]string{
		"zookeeper.enforce.auth.enabled": "true", "zookeeper.enforce.auth.schemes": "sasl",
	}})
	testSASL(t, cluster.Connect())
}

// A mechanism that fails, for instance because a ticket cannot be had, costs the connection
// and not the session: the next attempt may succeed.
func TestMechanismThatFailsIsTriedAgain(t *testing.T) {
	srv, err := zktest.Start(&zktest.Options{SASLUsers: saslUsers()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tries := 0
	var asked []string
	c, err := Connect(ctx, srv.Addr(), &Options{SASL: func(ctx context.Context, server string) (SASLMechanism, error) {
		asked = append(asked, server)
		if tries++; tries < 3 {
			return nil, errors.New("no ticket yet")
		}
		_, limited := ctx.Deadline()
		assert.True(t, limited)
		return SASLDigestMD5("alice", "wonder")(ctx, server)
	}})
	require.NoError(t, err)
	require.NoError(t, c.Close(ctx))
	require.Empty(t, srv.Sessions(), "no attempt leaves a session")
	require.Equal(t, []string{"127.0.0.1", "127.0.0.1", "127.0.0.1"}, asked)
}

// untilCalled ends a context at call number n of the function that it returns: by then the
// attempts before have failed, on a machine of any speed.
func untilCalled(t *testing.T, n int) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx, func() {
		if n--; n == 0 {
			cancel()
		}
	}
}

func TestServerWithoutSASLIsNamed(t *testing.T) {
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	ctx, called := untilCalled(t, 2)
	_, err = Connect(ctx, srv.Addr(), &Options{SASL: func(ctx context.Context, server string) (SASLMechanism, error) {
		called()
		return SASLDigestMD5("alice", "wonder")(ctx, server)
	}})
	require.ErrorIs(t, err, ErrUnreachable)
	require.ErrorContains(t, err, "it has no SASL")
}

func TestSASLNeedsAUser(t *testing.T) {
	_, err := SASLDigestMD5("", "secret")(t.Context(), "zk.example.org")
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorContains(t, err, "SASLDigestMD5")
}
