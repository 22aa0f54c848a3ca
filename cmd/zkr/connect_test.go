//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// with adds variables to a command's environment.
func with(cmd *exec.Cmd, env ...string) *exec.Cmd {
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

func TestEnvironmentFillsInWhatTheCommandLineLeavesOpen(t *testing.T) {
	b := newBed(t)
	require.NoError(t, b.srv.Create("/app", nil))
	held := b.takeLock("/app/locks/a")
	defer func() { _ = held.Unlock(b.ctx) }()

	z := start(t, with(b.command("lock", "ls", "/locks/a"), "ZKR_CHROOT=/app", "ZKR_OUTPUT=json")).ends(0)
	assert.Contains(t, z.out.String(), `"state":"holds"`)
	z = start(t, with(b.command("lock", "ls", "/a", "--chroot", "/app/locks", "-o", "table"), "ZKR_CHROOT=/nowhere", "ZKR_OUTPUT=json")).ends(0)
	assert.Contains(t, z.out.String(), "holds", "the command line goes first")
	z = start(t, with(command(b.srv.Addr()+"/app", "lock", "ls", "/locks/a"))).ends(0)
	assert.Contains(t, z.out.String(), "holds")

	for env, says := range map[string]string{
		"ZKR_SESSION_TIMEOUT=soon": `ZKR_SESSION_TIMEOUT is "soon"; it must be a time`, "ZKR_CONNECT_TIMEOUT=-1s": "ZKR_CONNECT_TIMEOUT is -1s",
		"ZKR_OUTPUT=xml": `ZKR_OUTPUT is "xml"`, "ZKR_TLS=perhaps": `ZKR_TLS is "perhaps"; it must be true or false`, "ZKR_AUTH=me": "ZKR_AUTH is not user:password",
		"ZKR_SESSION_TIMEOUT=-1s": "ZKR_SESSION_TIMEOUT is -1s", "ZKR_SERVERS=,": "ZKR_SERVERS: ", "ZKR_AUTH_FILE=/no/file": "ZKR_AUTH_FILE /no/file: ",
		"ZKR_CHROOT=app": `ZKR_CHROOT is "app"; it must begin with a slash`, "ZKR_CHROOT=/a//b": `ZKR_CHROOT: invalid path "/a//b"`,
		"ZKR_SERVERS=h/x ZKR_CHROOT=/y": "ZKR_SERVERS h/x has a chroot already, so ZKR_CHROOT /y makes no sense",
		"ZKR_TLS_CA=x":                  "ZKR_TLS_CA, --tls-cert, --tls-key and --tls-server-name need --tls", "ZKR_TLS=1 ZKR_TLS_CA=/no/file": "ZKR_TLS_CA: ",
		"ZKR_TLS=1 ZKR_TLS_KEY=x": "--tls-cert and ZKR_TLS_KEY belong together", "ZKR_TLS=1 ZKR_TLS_CERT=x ZKR_TLS_KEY=x": "ZKR_TLS_CERT, ZKR_TLS_KEY: ",
	} {
		z = inside(t, with(b.command("lock", "ls", "/a"), strings.Fields(env)...)).ends(exit.CodeUsage)
		assert.Contains(t, z.err.String(), says)
	}
	z = inside(t, with(b.command("lock", "ls", "/a", "--output", "yaml"), "ZKR_OUTPUT=xml")).ends(exit.CodeUsage)
	assert.Contains(t, z.err.String(), `--output is "yaml"`, "what was given is named")
}

func TestErrorsAreJSONWhereTheOutputIs(t *testing.T) {
	t.Parallel()
	z := start(t, command("127.0.0.1:1", "lock", "ls", "/a", "-o", "json", "--connect-timeout", "2s")).ends(exit.CodeUnavailable)
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(z.err.String()), &got), z.err.String())
	assert.EqualValues(t, exit.CodeUnavailable, got["code"])
	assert.Contains(t, got["error"], "no server could be reached")
	assert.Contains(t, got["hint"], "zkr serve")
	assert.Empty(t, z.out.String())
}

// TestCredentialsComeFromWhereTheyAreNotSeen: by variable, file and flag. The
// znode lets only its owner in.
func TestCredentialsComeFromWhereTheyAreNotSeen(t *testing.T) {
	b := newBed(t)
	owner, err := session.Connect(b.ctx, b.srv.Addr(), &session.Options{
		Timeout: longest, ACL: session.CreatorACL(), Credentials: []session.Credential{session.Digest("ann", "a:b")},
	})
	require.NoError(t, err)
	defer func() { _ = owner.Close(b.ctx) }()
	s, err := owner.Session(b.ctx)
	require.NoError(t, err)
	_, err = s.Create(b.ctx, "/mine", nil, session.Persistent, nil)
	require.NoError(t, err)

	z := b.run("lock", "ls", "/mine").ends(exit.CodeDenied)
	assert.Contains(t, z.err.String(), "ZKR_AUTH")
	b.run(locked("/mine", nil, "true")...).ends(exit.CodeDenied)
	start(t, with(b.command(locked("/mine", nil, "true")...), "ZKR_AUTH=ann:a:b")).ends(0)
	start(t, with(b.command("lock", "ls", "/mine"), "ZKR_AUTH=ann:wrong")).ends(exit.CodeDenied)
	b.run("lock", "ls", "/mine", "--user", "ann:a:b").ends(0)
	file := filepath.Join(t.TempDir(), "auth")
	require.NoError(t, os.WriteFile(file, []byte("ann:a:b\r\nignored\n"), 0o600))
	b.run("lock", "ls", "/mine", "--auth-file", file).ends(0)
	start(t, with(b.command("lock", "ls", "/mine"), "ZKR_AUTH_FILE="+file)).ends(0)
	require.NoError(t, os.WriteFile(file, []byte("\n"), 0o600))
	b.run("lock", "ls", "/mine", "--auth-file", file).ends(exit.CodeUsage)
}

// The same credentials in the scheme "sasl", with a server that demands it.
func TestCredentialsOfSASL(t *testing.T) {
	b := newBedWith(t, &zktest.Options{
		MaxSessionTimeout: longest, SASLUsers: map[string]string{"ann": "a:b"}, EnforceAuth: []string{"sasl"},
	})
	sasl := []string{"--auth-scheme", "sasl", "--user", "ann:a:b"}
	b.run(append([]string{"lock", "ls", "/a"}, sasl...)...).ends(0)
	start(t, with(b.command("lock", "ls", "/a"), "ZKR_AUTH_SCHEME=sasl", "ZKR_AUTH=ann:a:b")).ends(0)
	b.run("lock", "ls", "/a", "--auth-scheme", "sasl", "--user", "ann:wrong").ends(exit.CodeDenied)
	z := b.run("lock", "ls", "/a", "--user", "ann:a:b").ends(exit.CodeDenied)
	assert.Contains(t, z.err.String(), "zookeeper.enforce.auth.schemes")
	z = b.run("lock", "ls", "/a", "--auth-scheme", "plain").ends(exit.CodeUsage)
	assert.Contains(t, z.err.String(), "plain")
	assert.Contains(t, z.err.String(), "digest, sasl or kerberos")
}

// Before a connection: the keytab, krb5.conf and the ticket of kinit are read, and the KDC is
// asked. The tests of session/kerberos have one that answers.
func TestCredentialsOfKerberos(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	conf, keytab := filepath.Join(dir, "krb5.conf"), filepath.Join(dir, "app.keytab")
	require.NoError(t, os.WriteFile(conf, []byte("[libdefaults]\ndefault_realm = ZK.TEST\n[realms]\nZK.TEST = {\nkdc = 127.0.0.1:1\n}\n"), 0o600))
	require.NoError(t, os.WriteFile(keytab, []byte("x"), 0o600))
	list := func(conf string, flags ...string) *zkrProcess {
		cmd := b.command(append([]string{"lock", "ls", "/a"}, flags...)...)
		return start(t, with(cmd, "KRB5_CONFIG="+conf, "KRB5CCNAME="+filepath.Join(dir, "cache")))
	}
	for _, tt := range []struct {
		flags []string
		code  int
		says  string
	}{
		{[]string{"--kerberos-server", "zk/_HOST"}, exit.CodeUsage, "--auth-scheme kerberos"},
		{[]string{"--auth-scheme", "kerberos", "--user", "a:b"}, exit.CodeUsage, "needs no user:password"},
		{[]string{"--auth-scheme", "kerberos", "--kerberos-keytab", keytab}, exit.CodeUsage, "--kerberos-keytab and --kerberos-principal belong together"},
		{[]string{"--auth-scheme", "kerberos", "--kerberos-keytab", keytab + "x", "--kerberos-principal", "app"}, exit.CodeDenied, keytab + "x"},
		{[]string{"--auth-scheme", "kerberos", "--kerberos-keytab", keytab, "--kerberos-principal", "app"}, exit.CodeDenied, keytab + ": "},
		{[]string{"--auth-scheme", "kerberos"}, exit.CodeDenied, filepath.Join(dir, "cache")},
	} {
		z := list(conf, tt.flags...).ends(tt.code)
		assert.Contains(t, z.err.String(), tt.says, tt.flags)
	}
	z := list(filepath.Join(dir, "none.conf"), "--auth-scheme", "kerberos").ends(exit.CodeUsage)
	assert.Contains(t, z.err.String(), "none.conf")
}

func TestVerboseTellsOfTheSession(t *testing.T) {
	b := newBed(t)
	z := b.run("lock", "ls", "/a", "--verbose").ends(0)
	assert.Contains(t, z.err.String(), `msg="session connected"`)
	assert.NotContains(t, b.run("lock", "ls", "/a").ends(0).err.String(), "session")
}

// The server that a command was given leaves the ensemble, and the command's lock stays.
func TestEnsembleIsFollowed(t *testing.T) {
	b := newBedOf(t, 3)
	require.NoError(t, b.srv.WaitLeader(b.ctx))
	b.configure(1, 1, 2, 3)
	z := b.start(running([]string{"lock", "/l", "--follow-ensemble", "--servers", b.srv.ServerAddr(1)}, "sh", "-c", "echo in; exec sleep 1000")...)
	z.says("in")
	b.configure(2, 2, 3)
	eventually(t, func() bool {
		sessions := b.srv.Sessions()
		return len(sessions) == 1 && sessions[0].Server > 1
	}, "its session is at a server that stays; it said: %s", z.err)
	require.NoError(t, b.srv.Stop(1))
	assert.Contains(t, b.run("lock", "ls", "/l", "--servers", b.srv.ServerAddr(2)).ends(0).out.String(), "holds")
	z.running()
}

// configure sets the ensemble's dynamic configuration.
func (b *bed) configure(version int, servers ...int) {
	b.Helper()
	var text strings.Builder
	for _, i := range servers {
		fmt.Fprintf(&text, "server.%d=127.0.0.1:2888:3888:participant;%s\n", i, b.srv.ServerAddr(i))
	}
	fmt.Fprintf(&text, "version=%x", version)
	require.NoError(b, b.srv.Set("/zookeeper/config", []byte(text.String())))
}

func TestVersionNamesModuleGoAndZooKeeper(t *testing.T) {
	z := start(t, command("x", "version")).ends(0)
	assert.Contains(t, z.out.String(), "zkr ")
	assert.Contains(t, z.out.String(), "go1.")
	assert.Contains(t, z.out.String(), "Apache ZooKeeper 3.6 to 3.9")
	var got map[string]string
	require.NoError(t, json.Unmarshal([]byte(start(t, command("x", "version", "-o", "json")).ends(0).out.String()), &got))
	assert.Equal(t, "3.6 to 3.9", got["zookeeper"])
	assert.True(t, strings.HasPrefix(got["go"], "go1."))
}
