package kerberos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

const testRealm = "ZK.TEST"

// fakeClock is the library that gives a process another time.
const fakeClock = "/usr/lib/*/faketime/libfaketime.so.1"

// kdc is MIT Kerberos' KDC on the loopback, with a database of its own.
type kdc struct {
	testing.TB
	dir, address string
	env          []string
	realms       []string // other than testRealm
	cmd          *exec.Cmd
}

// newKDC makes a KDC of testRealm, which issues tickets for life, and starts it.
func newKDC(t testing.TB, life time.Duration) *kdc {
	t.Helper()
	for _, program := range []string{"krb5kdc", "kdb5_util", "kadmin.local", "kinit"} {
		if _, err := findProgram(program); err != nil {
			skip(t, "no "+program+": install the packages krb5-kdc and krb5-admin-server")
		}
	}
	k := &kdc{TB: t, dir: t.TempDir(), address: freeAddress(t)}
	k.write("krb5.conf", fmt.Sprintf(`[libdefaults]
  default_realm = %[1]s
  dns_lookup_kdc = false
  rdns = false
[realms]
  %[1]s = {
    kdc = %[2]s
  }
`, testRealm, k.address))
	k.write("kdc.conf", fmt.Sprintf(`[kdcdefaults]
  kdc_listen = %[2]s
  kdc_tcp_listen = %[2]s
[realms]
  %[1]s = {
    database_name = %[3]s/principal
    key_stash_file = %[3]s/stash
    acl_file = %[3]s/acl
    max_life = %[4]ds
    supported_enctypes = aes256-cts:normal aes128-cts:normal aes256-sha2:normal aes128-sha2:normal
    default_principal_flags = +preauth
  }
[logging]
  kdc = FILE:%[3]s/log
`, testRealm, k.address, k.dir, int(life.Seconds())))
	k.env = append(os.Environ(), "KRB5_CONFIG="+k.file("krb5.conf"), "KRB5_KDC_PROFILE="+k.file("kdc.conf"))
	k.run("kdb5_util", "create", "-s", "-r", testRealm, "-P", "master")
	k.start()
	t.Cleanup(k.stop)
	return k
}

// skip skips a test that lacks a program, or fails it where CI demands it.
func skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(apache.EnvRequire) == "1" {
		t.Fatalf("a KDC is required (%s=1): %s", apache.EnvRequire, why)
	}
	t.Skipf("\n*** NOT TESTED WITH A KDC: %s\n*** (%s=1 makes this a failure)", why, apache.EnvRequire)
}

// findProgram finds a program, also where only the path of root leads.
func findProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return exec.LookPath("/usr/sbin/" + name)
}

// freeAddress is an address on which no other process listens while the KDC is stopped.
func freeAddress(t testing.TB) string {
	l, err := net.Listen("tcp", world.OwnAddress())
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (k *kdc) file(name string) string { return filepath.Join(k.dir, name) }

func (k *kdc) write(name, text string) string {
	require.NoError(k, os.WriteFile(k.file(name), []byte(text), 0o600))
	return k.file(name)
}

func (k *kdc) command(name string, args ...string) *exec.Cmd {
	path, err := findProgram(name)
	require.NoError(k, err)
	cmd := exec.Command(path, args...)
	cmd.Env = k.env
	return cmd
}

func (k *kdc) run(name string, args ...string) {
	k.Helper()
	out, err := k.command(name, args...).CombinedOutput()
	require.NoError(k, err, "%s %q: %s", name, args, out)
}

func (k *kdc) admin(query string, args ...any) {
	k.run("kadmin.local", "-r", testRealm, "-q", fmt.Sprintf(query, args...))
}

// addRealm makes a realm of which testRealm's clients get tickets, and restarts the KDC.
func (k *kdc) addRealm(name string) {
	k.Helper()
	for _, file := range []string{"krb5.conf", "kdc.conf"} {
		text, err := os.ReadFile(k.file(file))
		require.NoError(k, err)
		k.write(file, replaceOnce(k, string(text), "[realms]", fmt.Sprintf(`[realms]
  %[1]s = {
    kdc = %[2]s
    database_name = %[3]s/%[1]s
    key_stash_file = %[3]s/%[1]s.stash
  }`, name, k.address, k.dir)))
	}
	k.run("kdb5_util", "create", "-s", "-r", name, "-P", "master")
	for _, realm := range []string{testRealm, name} {
		k.run("kadmin.local", "-r", realm, "-q", fmt.Sprintf("addprinc -pw trust krbtgt/%s@%s", name, testRealm))
	}
	k.realms = append(k.realms, name)
	k.stop()
	k.start()
}

// start runs the KDC, with further variables of the environment, until it listens.
func (k *kdc) start(env ...string) {
	k.Helper()
	k.launch(env...)
	require.Eventually(k, func() bool {
		conn, err := net.Dial("tcp", k.address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
}

func (k *kdc) launch(env ...string) {
	k.Helper()
	args := []string{"-n", "-P", k.file("pid")}
	for _, realm := range append(k.realms, testRealm) {
		args = append(args, "-r", realm)
	}
	k.cmd = k.command("krb5kdc", args...)
	k.cmd.Env = append(k.cmd.Env, env...)
	require.NoError(k, k.cmd.Start())
}

// startLate starts the KDC with a clock that is ahead by an offset.
func (k *kdc) startLate(offset string) {
	k.Helper()
	libraries, err := filepath.Glob(fakeClock)
	require.NoError(k, err)
	if len(libraries) == 0 {
		skip(k.TB, "no "+fakeClock+": install the package libfaketime")
	}
	k.start("LD_PRELOAD="+libraries[0], "FAKETIME="+offset)
}

func (k *kdc) stop() {
	if k.cmd == nil {
		return
	}
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait() // the error "killed" is expected
	k.cmd = nil
}

// freeze stops the KDC without notice: connections are accepted, and not answered.
func (k *kdc) freeze() {
	require.NoError(k, exec.Command("kill", "-STOP", strconv.Itoa(k.cmd.Process.Pid)).Run())
}

// keytab makes a principal if it is new, or changes its key, and returns a keytab with it.
func (k *kdc) keytab(name string) string {
	k.Helper()
	k.admin("addprinc -randkey %s", name) // a complaint of one that exists does no harm
	path := k.file(strings.ReplaceAll(name, "/", "_") + ".keytab")
	fresh := path + ".new"
	k.admin("ktadd -k %s %s", fresh, name)
	require.NoError(k, os.Rename(fresh, path)) // without the keys of former versions
	return path
}

// issued counts the tickets issued by requests of a kind, AS_REQ or TGS_REQ, for a client.
func (k *kdc) issued(kind, client string) (n int) {
	text, err := os.ReadFile(k.file("log"))
	require.NoError(k, err)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, kind) && strings.Contains(line, "ISSUE") && strings.Contains(line, " "+client+"@") {
			n++
		}
	}
	return n
}

// options are those of a Login with the KDC.
func (k *kdc) options() *Options { return &Options{ConfigFile: k.file("krb5.conf")} }

// login is a Login by a new key of a principal.
func (k *kdc) login(name string) *Login {
	k.Helper()
	l, err := Keytab(name, k.keytab(name), k.options())
	require.NoError(k, err)
	l.dns = testNames()
	return l
}

// The names of the server of startZooKeeper: that in the list of servers, and the one that its
// address has.
const (
	listedName    = "zookeeper.test"
	canonicalName = "zk1.zk.test"
	someAddress   = "192.0.2.1"
)

// names is a DNS.
type names map[string][]string

func (n names) LookupHost(_ context.Context, host string) ([]string, error) {
	host = strings.TrimSuffix(host, ".")
	if n[host] == nil {
		return nil, errors.New("no such host")
	}
	return n[host], nil
}

func (n names) LookupAddr(ctx context.Context, address string) ([]string, error) {
	return n.LookupHost(ctx, address)
}

func testNames() names {
	return names{listedName: {someAddress}, canonicalName: {someAddress}, someAddress: {canonicalName + "."}}
}

// startZooKeeper starts a server that demands Kerberos of its clients.
func (k *kdc) startZooKeeper(t testing.TB) *cable {
	t.Helper()
	login := k.write("login.conf", fmt.Sprintf(`Server {
  com.sun.security.auth.module.Krb5LoginModule required
  useKeyTab=true storeKey=true useTicketCache=false isInitiator=false
  keyTab="%s" principal="zookeeper/%s@%s";
};
`, k.keytab("zookeeper/"+canonicalName), canonicalName, testRealm))
	cluster := apache.Require(t, &apache.Options{Mode: apache.Jars, Own: true, Properties: map[string]string{
		"java.security.auth.login.config": login, "java.security.krb5.conf": k.file("krb5.conf"), "java.io.tmpdir": t.TempDir(),
		"zookeeper.authProvider.1":                   "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
		"zookeeper.sessionRequireClientSASLAuth":     "true",
		"zookeeper.kerberos.removeHostFromPrincipal": "true", "zookeeper.kerberos.removeRealmFromPrincipal": "true",
		"zookeeper.enforce.auth.enabled": "true", "zookeeper.enforce.auth.schemes": "sasl",
	}})
	return &cable{address: cluster.Connect()}
}

// replaceOnce replaces text that must exist.
func replaceOnce(t testing.TB, text, was, is string) string {
	t.Helper()
	require.Contains(t, text, was)
	return strings.Replace(text, was, is, 1)
}
