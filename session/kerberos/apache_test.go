package kerberos

import (
	"context"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/kdctest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// cable leads clients to a server, and can be cut.
type cable struct {
	address string

	mu    sync.Mutex
	conns []net.Conn
}

func (c *cable) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, c.address)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

// cut closes all connections.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

// limited is a context for a test.
func limited(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// begin is the type of session.Options.SASL.
type begin = func(context.Context, string) (session.SASLMechanism, error)

// tryConnect connects to the server at the end of a cable.
func tryConnect(ctx context.Context, c *cable, sasl begin) (*session.Client, error) {
	return session.Connect(ctx, listedName+":2181", &session.Options{Timeout: 12 * time.Second, Dialer: c.dial, SASL: sasl})
}

// connect is tryConnect for a session that is made.
func connect(ctx context.Context, t testing.TB, c *cable, sasl begin) (*session.Client, *session.Session) {
	t.Helper()
	client, err := tryConnect(ctx, c, sasl)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close(context.WithoutCancel(ctx))) })
	s, err := client.Session(ctx)
	require.NoError(t, err)
	return client, s
}

func TestServerKnowsTheClientByItsPrincipalOnApache(t *testing.T) {
	k := newKDC(t, time.Hour)
	server := k.startZooKeeper(t)
	ctx := limited(t)
	alice := k.login("alice/app.zk.test")
	_, hers := connect(ctx, t, server, alice.SASL)
	_, err := hers.Create(ctx, "/hers", []byte("secret"), session.Persistent, &session.CreateOptions{ACL: session.CreatorACL()})
	require.NoError(t, err)
	acl, _, err := hers.ACL(ctx, "/hers")
	require.NoError(t, err)
	require.Equal(t, []session.ACL{{Perms: session.PermAll, Scheme: "sasl", ID: "alice"}}, acl)

	_, his := connect(ctx, t, server, k.login("bob").SASL)
	_, _, err = his.Get(ctx, "/hers")
	require.ErrorIs(t, err, session.ErrNoAuth)

	server.cut()
	data, _, err := hers.Get(ctx, "/hers")
	require.NoError(t, err)
	require.Equal(t, "secret", string(data))
	require.Equal(t, 1, k.Issued("AS_REQ", "alice/app.zk.test"), "one login serves all connections")
	require.GreaterOrEqual(t, k.Issued("TGS_REQ", "alice/app.zk.test"), 2, "each connection has a ticket of its own; a machine that stalls may cost another connection")

	_, nobodys := connect(ctx, t, server, nil)
	_, _, err = nobodys.Exists(ctx, "/")
	require.ErrorIs(t, err, session.ErrAuthRequired)
}

func TestEncryptionTypesOnApache(t *testing.T) {
	k := newKDC(t, time.Hour)
	server := k.startZooKeeper(t)
	ctx := limited(t)
	l := k.login("alice")
	text, err := os.ReadFile(k.File("krb5.conf"))
	require.NoError(t, err)
	for _, name := range []string{"aes256-cts-hmac-sha1-96", "aes128-cts-hmac-sha1-96", "aes256-cts-hmac-sha384-192", "aes128-cts-hmac-sha256-128"} {
		l.tgt = nil
		l.options.ConfigFile = k.Write(name+".conf", kdctest.ReplaceOnce(t, string(text), "[libdefaults]",
			"[libdefaults]\ndefault_tkt_enctypes = "+name+"\ndefault_tgs_enctypes = "+name))
		connect(ctx, t, server, l.SASL)
		require.Equal(t, etypeID.ETypesByName[name], l.tgt.key.KeyType)
	}
	l.options.ConfigFile = k.Write("old.conf", kdctest.ReplaceOnce(t, string(text), "[libdefaults]", "[libdefaults]\ndefault_tgs_enctypes = arcfour-hmac-md5"))
	_, err = l.SASL(ctx, listedName)
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "default_tgs_enctypes has no AES type")
}

// A lock stays held over lost connections: while the KDC answers, while it is silent, and
// while it is gone, as the last ticket is valid.
func TestLockStaysHeldWithoutAKDCOnApache(t *testing.T) {
	k := newKDC(t, time.Hour)
	server := k.startZooKeeper(t)
	ctx := limited(t)
	client, s := connect(ctx, t, server, k.login("alice").SASL)
	held, err := lock.New(client, "/locks/report", nil).Lock(ctx)
	require.NoError(t, err)
	for _, fault := range []func(){func() {}, k.Freeze, k.Stop} {
		fault()
		server.cut()
		_, exists, err := s.Exists(ctx, held.Path())
		require.NoError(t, err)
		require.True(t, exists)
		require.NoError(t, context.Cause(held.Context()))
	}
	require.NoError(t, held.Unlock(ctx))
}

func TestClientConnectsWhenTheKDCIsBackOnApache(t *testing.T) {
	k := newKDC(t, time.Hour)
	server := k.startZooKeeper(t)
	l := k.login("alice")
	k.Stop()
	ctx := limited(t)
	asked := make(chan struct{}, 1000)
	sasl := func(ctx context.Context, server string) (session.SASLMechanism, error) {
		m, err := l.SASL(ctx, server)
		if err != nil {
			assert.ErrorIs(t, err, ErrKDCUnreachable)
			asked <- struct{}{}
		}
		return m, err
	}
	connected := make(chan error)
	// Waited for below; ends with ctx.
	go func() {
		client, err := tryConnect(ctx, server, sasl)
		if err == nil {
			err = client.Close(ctx)
		}
		connected <- err
	}()
	<-asked
	<-asked
	k.Start()
	require.NoError(t, <-connected)
}

// Tickets of a few seconds: the session goes on with tickets that did not exist when it was
// made, and with a key that did not either.
func TestSessionOutlivesItsTicketsAndItsKeyOnApache(t *testing.T) {
	k := newKDC(t, 8*time.Second)
	server := k.startZooKeeper(t)
	ctx := limited(t)
	l := k.login("alice")
	_, s := connect(ctx, t, server, l.SASL)
	for range 2 {
		k.Keytab("alice")
		first := l.tgt
		require.Eventually(t, func() bool { return !first.isValid(time.Now()) }, 20*time.Second, 50*time.Millisecond)
		server.cut()
		_, _, err := s.Exists(ctx, "/")
		require.NoError(t, err)
		require.NotSame(t, first, l.tgt)
	}
	require.GreaterOrEqual(t, k.Issued("AS_REQ", "alice"), 3)
}

// The owner of a credential cache renews the ticket in it; another user's ticket makes the
// next connections that user's.
func TestTicketOfACredentialCacheIsReadAgainOnApache(t *testing.T) {
	k := newKDC(t, 8*time.Second)
	server := k.startZooKeeper(t)
	ctx := limited(t)
	cache, keytab := k.File("ccache"), k.Keytab("alice")
	k.Run("kinit", "-c", cache, "-k", "-t", keytab, "alice")
	l, err := CredentialCache("FILE:"+cache, k.options())
	require.NoError(t, err)
	l.dns = testNames()
	require.NoError(t, l.Verify(ctx))
	_, s := connect(ctx, t, server, l.SASL)

	require.Eventually(t, func() bool { _, err := readCache(cache); return err != nil }, 20*time.Second, 50*time.Millisecond)
	err = l.Verify(ctx)
	require.ErrorIs(t, err, ErrCredentials)
	require.ErrorContains(t, err, "the ticket of alice@ZK.TEST in "+cache+" expired")
	_, err = CredentialCache(cache, k.options())
	require.ErrorIs(t, err, ErrCredentials)

	k.Run("kinit", "-c", cache, "-k", "-t", keytab, "alice")
	server.cut()
	_, _, err = s.Exists(ctx, "/")
	require.NoError(t, err)
}

// The key of the server's principal has changed, and the server's keytab has not: the server
// cannot read the ticket, and refuses the client. A refusal ends the session.
func TestServerThatCannotReadTheTicketRefusesOnApache(t *testing.T) {
	k := newKDC(t, time.Hour)
	server := k.startZooKeeper(t)
	ctx := limited(t)
	_, s := connect(ctx, t, server, k.login("alice").SASL)
	k.Admin("cpw -randkey zookeeper/%s", canonicalName)
	server.cut()
	_, _, err := s.Exists(ctx, "/")
	require.ErrorIs(t, err, session.ErrAuthFailed)
}

func TestConnectSaysWhatIsWrongWithTheKeyOnApache(t *testing.T) {
	k := newKDC(t, time.Hour)
	server := k.startZooKeeper(t)
	l := k.login("alice")
	k.Admin("cpw -randkey alice")
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	tries := 0
	_, err := tryConnect(ctx, server, func(ctx context.Context, server string) (session.SASLMechanism, error) {
		if tries++; tries == 3 {
			cancel()
		}
		return l.SASL(ctx, server)
	})
	require.ErrorIs(t, err, session.ErrUnreachable)
	require.ErrorIs(t, err, ErrCredentials)
	require.ErrorContains(t, err, "the key in keytab "+k.File("alice.keytab")+" (version 2) is wrong")
}

// TestToolLogsInOnApache with a keytab, and with the ticket of kinit.
func TestToolLogsInOnApache(t *testing.T) {
	k := newKDC(t, time.Hour)
	server := k.startZooKeeper(t)
	zkr := k.File("zkr")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", zkr, "../../cmd/zkr").CombinedOutput()
	require.NoError(t, err, string(out))
	cache, keytab := k.File("ccache"), k.Keytab("alice")
	tree := func(flags ...string) (string, error) {
		cmd := exec.CommandContext(limited(t), zkr, append([]string{
			"tree", "/", "--servers", server.address, "--auth-scheme", "kerberos", "--kerberos-server", "zookeeper/" + canonicalName,
		}, flags...)...)
		cmd.Env = append(os.Environ(), "KRB5_CONFIG="+k.File("krb5.conf"), "KRB5CCNAME="+cache)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	said, err := tree("--kerberos-keytab", keytab, "--kerberos-principal", "alice")
	require.NoError(t, err, said)
	require.Contains(t, said, "zookeeper")

	said, err = tree()
	require.ErrorContains(t, err, "exit status 77", said)
	require.Contains(t, said, "run kinit")
	k.Run("kinit", "-c", cache, "-k", "-t", keytab, "alice")
	said, err = tree()
	require.NoError(t, err, said)

	k.Admin("cpw -randkey alice")
	said, err = tree("--kerberos-keytab", keytab, "--kerberos-principal", "alice")
	require.ErrorContains(t, err, "exit status 77", said)
	require.Contains(t, said, "is wrong")
	k.Stop()
	said, err = tree("--kerberos-keytab", keytab, "--kerberos-principal", "alice")
	require.ErrorContains(t, err, "exit status 69", said)
}
