package kerberos

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/kdctest"
)

// Each failure names what is wrong and what to do.
func TestFailuresAreNamed(t *testing.T) {
	k := newKDC(t, time.Hour)
	ctx := limited(t)
	verify := func(l *Login, sentinel error, says ...string) {
		t.Helper()
		err := l.Verify(ctx)
		require.ErrorIs(t, err, sentinel)
		for _, text := range says {
			require.ErrorContains(t, err, text)
		}
	}
	good := k.login("alice")
	require.NoError(t, good.Verify(ctx))

	changed := k.login("bob")
	k.Admin("cpw -randkey bob")
	verify(changed, ErrCredentials, "the key in keytab "+k.File("bob.keytab")+" (version 2) is wrong: the key of bob@ZK.TEST has changed; export the keytab again", "PREAUTH_FAILED")
	k.Admin("modprinc -requires_preauth bob")
	verify(changed, ErrCredentials, "bob.keytab has another key of bob@ZK.TEST than the KDC: export the keytab again")

	deleted := k.login("carol")
	k.Admin("delprinc -force carol")
	verify(deleted, ErrCredentials, "the KDC does not know the principal carol@ZK.TEST")

	locked := k.login("dave")
	k.Admin("modprinc -allow_tix dave")
	verify(locked, ErrCredentials, "the principal dave@ZK.TEST is locked or expired")

	_, err := good.SASL(ctx, "zk9.zk.test")
	require.ErrorIs(t, err, ErrServerUnknown)
	require.ErrorContains(t, err, "authenticate to zk9.zk.test: the KDC does not know the server's principal: there is no principal zookeeper/zk9.zk.test@ZK.TEST")

	require.NoError(t, os.Remove(k.File("alice.keytab")))
	verify(good, ErrCredentials, "alice.keytab: no such file")
}

// A KDC with another time refuses the proof of the key, whose time is this machine's.
func TestClockSkewIsNamed(t *testing.T) {
	k := newKDC(t, time.Hour)
	l := k.login("alice")
	k.Admin("modprinc -requires_preauth %s", "alice")
	for _, c := range []struct{ offset, says string }{{"+10m", `the KDC's differs by (10m0s|9m5\ds)`}, {"-10m", `the KDC's differs by -10m\ds`}} {
		k.Stop()
		k.StartAhead(c.offset)
		err := l.Verify(limited(t))
		require.ErrorIs(t, err, ErrClockSkew)
		require.Regexp(t, c.says, err.Error())
		k.Admin("modprinc +requires_preauth alice")
		err = l.Verify(limited(t))
		require.ErrorIs(t, err, ErrClockSkew)
		require.Regexp(t, c.says, err.Error())
		k.Admin("modprinc -requires_preauth alice")
	}
}

// A KDC that accepts and says nothing costs no more than the context allows, or the time of
// the attempts; so does one that is gone.
func TestSilentKDCCostsTheContextsTime(t *testing.T) {
	k := newKDC(t, time.Hour)
	l := k.login("alice")
	k.Freeze()
	for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if errors.Is(end, context.Canceled) {
			cancel()
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, cancel)
		}
		began := time.Now()
		_, err := l.SASL(ctx, listedName)
		require.ErrorIs(t, err, ErrKDCUnreachable)
		require.Less(t, time.Since(began), attemptTimeout)
		cancel()
	}
	k.Stop()
	err := l.Verify(limited(t))
	require.ErrorIs(t, err, ErrKDCUnreachable)
	require.ErrorContains(t, err, "connection refused")
}

// The KDC that answered last is asked first.
func TestSecondKDCIsUsedWhileTheFirstIsSilent(t *testing.T) {
	k := newKDC(t, time.Hour)
	l := k.login("alice")
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	text, err := os.ReadFile(k.File("krb5.conf"))
	require.NoError(t, err)
	k.Write("krb5.conf", kdctest.ReplaceOnce(t, string(text), "    kdc = ", "    kdc = "+silent.Addr().String()+"\n    kdc = "))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, l.Verify(ctx))
	require.Equal(t, place{"tcp", k.Address}, l.kdcs[testRealm])
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	require.NoError(t, l.Verify(ctx))
	require.Less(t, time.Since(began), attemptTimeout)
}

func TestKDCWithoutTCPIsUsed(t *testing.T) {
	k := newKDC(t, time.Hour)
	l := k.login("alice")
	k.Stop()
	text, err := os.ReadFile(k.File("kdc.conf"))
	require.NoError(t, err)
	k.Write("kdc.conf", kdctest.ReplaceOnce(t, string(text), "kdc_tcp_listen = "+k.Address, `kdc_tcp_listen = ""`))
	k.Launch()
	require.Eventually(t, func() bool { return l.Verify(t.Context()) == nil }, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, place{"udp", k.Address}, l.kdcs[testRealm])
}

// A KDC that has got another key, as one that was restored, refuses the ticket-granting
// ticket; the next one is accepted.
func TestTicketThatTheKDCForgotIsReplaced(t *testing.T) {
	k := newKDC(t, time.Hour)
	l := k.login("alice")
	k.Keytab("zookeeper/" + canonicalName)
	ctx := limited(t)
	_, err := l.SASL(ctx, listedName)
	require.NoError(t, err)
	k.Admin("cpw -randkey krbtgt/%s", testRealm)
	_, err = l.SASL(ctx, listedName)
	require.NoError(t, err)
	require.Equal(t, 2, k.Issued("AS_REQ", "alice"))
}

// The KDC of the client's realm gives a ticket for the KDC of the server's realm.
func TestServerInAnotherRealmIsReached(t *testing.T) {
	const other = "OTHER.TEST"
	k := newKDC(t, time.Hour)
	l := k.login("alice")
	k.AddRealm(other)
	k.Run("kadmin.local", "-r", other, "-q", "addprinc -randkey zookeeper/"+canonicalName)
	l.options.ServerPrincipal = "zookeeper/_HOST@" + other
	_, err := l.SASL(limited(t), listedName)
	require.NoError(t, err)
	got := l.services["zookeeper/"+canonicalName+"@"+other]
	require.Equal(t, other, got.message.Realm)
	require.Equal(t, "alice@"+testRealm, got.client.String())

	l.options.ServerPrincipal = "zookeeper/_HOST@NOWHERE.TEST"
	_, err = l.SASL(limited(t), listedName)
	require.ErrorIs(t, err, ErrServerUnknown)
	require.ErrorContains(t, err, "krbtgt/NOWHERE.TEST@"+testRealm)
}

func TestMisuseAndMissingFilesAreErrorsAtOnce(t *testing.T) {
	dir := t.TempDir()
	conf, junk := filepath.Join(dir, "krb5.conf"), filepath.Join(dir, "junk")
	require.NoError(t, os.WriteFile(conf, []byte("[libdefaults]\ndefault_realm = ZK.TEST\n"), 0o600))
	require.NoError(t, os.WriteFile(junk, []byte("\x05\x04\x00\x0cjunk"), 0o600))
	o := &Options{ConfigFile: conf}
	missing := filepath.Join(dir, "missing")
	for _, c := range []struct {
		err      func() error
		sentinel error
		says     string
	}{
		{func() error { _, err := Keytab("", junk, o); return err }, ErrInvalidArgument, "the principal is empty"},
		{func() error { _, err := Keytab("a/@R", junk, o); return err }, ErrInvalidArgument, `the principal is "a/@R"`},
		{func() error { _, err := Keytab("a@", junk, o); return err }, ErrInvalidArgument, "empty realm"},
		{func() error { _, err := Keytab("alice", "", o); return err }, ErrInvalidArgument, "the path of the keytab is empty"},
		{func() error { _, err := Keytab("alice", missing, o); return err }, ErrCredentials, missing},
		{func() error { _, err := Keytab("alice", missing, o); return err }, os.ErrNotExist, missing},
		{func() error { _, err := Keytab("alice", junk, o); return err }, ErrCredentials, "keytab"},
		{func() error { _, err := Keytab("alice", junk, &Options{ConfigFile: missing}); return err }, ErrConfig, "set Options.ConfigFile or KRB5_CONFIG"},
		{func() error { _, err := Keytab("alice", junk, &Options{ServerPrincipal: "zookeeper"}); return err }, ErrInvalidArgument, "ServerPrincipal"},
		{func() error { _, err := CredentialCache(missing, o); return err }, ErrCredentials, "run kinit"},
		{func() error { _, err := CredentialCache(junk, o); return err }, ErrCredentials, "it is damaged"},
		{func() error { _, err := CredentialCache("KEYRING:persistent:0", o); return err }, ErrInvalidArgument, "KEYRING"},
		{func() error { return (*Login)(nil).Verify(t.Context()) }, ErrInvalidArgument, "make it with kerberos.Keytab"},
		{func() error { _, err := new(Login).SASL(t.Context(), "zk"); return err }, ErrInvalidArgument, "make it with kerberos.Keytab"},
	} {
		err := c.err()
		require.ErrorIs(t, err, c.sentinel)
		require.ErrorContains(t, err, c.says)
		require.Regexp(t, "^kerberos: ", err.Error())
	}
}
