// Package kdctest runs a KDC of MIT Kerberos on the loopback, and a ZooKeeper that demands its
// tickets, for tests.
package kdctest

import (
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

// Realm is the default realm of a KDC.
const Realm = "ZK.TEST"

// fakeClock is the library that gives a process another time.
const fakeClock = "/usr/lib/*/faketime/libfaketime.so.1"

// KDC is MIT Kerberos' KDC on the loopback, with a database of its own.
type KDC struct {
	testing.TB
	Address string
	// Env is the environment of Kerberos' programs that use the KDC.
	Env []string

	dir    string
	realms []string // other than Realm
	cmd    *exec.Cmd
}

// New makes a KDC of Realm, which issues tickets for life, and starts it.
func New(t testing.TB, life time.Duration) *KDC {
	t.Helper()
	for _, program := range []string{"krb5kdc", "kdb5_util", "kadmin.local", "kinit"} {
		if _, err := findProgram(program); err != nil {
			skip(t, "no "+program+": install the packages krb5-kdc and krb5-admin-server")
		}
	}
	k := &KDC{TB: t, dir: t.TempDir(), Address: freeAddress(t)}
	k.Write("krb5.conf", fmt.Sprintf(`[libdefaults]
  default_realm = %[1]s
  dns_lookup_kdc = false
  rdns = false
[realms]
  %[1]s = {
    kdc = %[2]s
  }
`, Realm, k.Address))
	k.Write("kdc.conf", fmt.Sprintf(`[kdcdefaults]
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
`, Realm, k.Address, k.dir, int(life.Seconds())))
	k.Env = append(os.Environ(), "KRB5_CONFIG="+k.File("krb5.conf"), "KRB5_KDC_PROFILE="+k.File("kdc.conf"))
	k.Run("kdb5_util", "create", "-s", "-r", Realm, "-P", "master")
	k.Start()
	t.Cleanup(k.Stop)
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

// File is the path of a file of the KDC.
func (k *KDC) File(name string) string { return filepath.Join(k.dir, name) }

// Write writes a file of the KDC, and returns its path.
func (k *KDC) Write(name, text string) string {
	require.NoError(k, os.WriteFile(k.File(name), []byte(text), 0o600))
	return k.File(name)
}

func (k *KDC) command(name string, args ...string) *exec.Cmd {
	path, err := findProgram(name)
	require.NoError(k, err)
	cmd := exec.Command(path, args...)
	cmd.Env = k.Env
	return cmd
}

// Run runs one of Kerberos' programs.
func (k *KDC) Run(name string, args ...string) {
	k.Helper()
	out, err := k.command(name, args...).CombinedOutput()
	require.NoError(k, err, "%s %q: %s", name, args, out)
}

// Admin runs a query of kadmin in Realm.
func (k *KDC) Admin(query string, args ...any) {
	k.Run("kadmin.local", "-r", Realm, "-q", fmt.Sprintf(query, args...))
}

// AddRealm makes a realm of which Realm's clients get tickets, and restarts the KDC.
func (k *KDC) AddRealm(name string) {
	k.Helper()
	for _, file := range []string{"krb5.conf", "kdc.conf"} {
		text, err := os.ReadFile(k.File(file))
		require.NoError(k, err)
		k.Write(file, ReplaceOnce(k, string(text), "[realms]", fmt.Sprintf(`[realms]
  %[1]s = {
    kdc = %[2]s
    database_name = %[3]s/%[1]s
    key_stash_file = %[3]s/%[1]s.stash
  }`, name, k.Address, k.dir)))
	}
	k.Run("kdb5_util", "create", "-s", "-r", name, "-P", "master")
	for _, realm := range []string{Realm, name} {
		k.Run("kadmin.local", "-r", realm, "-q", fmt.Sprintf("addprinc -pw trust krbtgt/%s@%s", name, Realm))
	}
	k.realms = append(k.realms, name)
	k.Stop()
	k.Start()
}

// Start runs the KDC, with further variables of the environment, until it listens.
func (k *KDC) Start(env ...string) {
	k.Helper()
	k.Launch(env...)
	require.Eventually(k, func() bool {
		conn, err := net.Dial("tcp", k.Address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
}

// Launch starts the KDC, and does not wait for it.
func (k *KDC) Launch(env ...string) {
	k.Helper()
	args := []string{"-n", "-P", k.File("pid")}
	for _, realm := range append(k.realms, Realm) {
		args = append(args, "-r", realm)
	}
	k.cmd = k.command("krb5kdc", args...)
	k.cmd.Env = append(k.cmd.Env, env...)
	require.NoError(k, k.cmd.Start())
}

// StartAhead starts the KDC with a clock that is ahead by an offset.
func (k *KDC) StartAhead(offset string) {
	k.Helper()
	libraries, err := filepath.Glob(fakeClock)
	require.NoError(k, err)
	if len(libraries) == 0 {
		skip(k.TB, "no "+fakeClock+": install the package libfaketime")
	}
	k.Start("LD_PRELOAD="+libraries[0], "FAKETIME="+offset)
}

// Stop ends the KDC.
func (k *KDC) Stop() {
	if k.cmd == nil {
		return
	}
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait() // the error "killed" is expected
	k.cmd = nil
}

// Freeze stops the KDC without notice: connections are accepted, and not answered.
func (k *KDC) Freeze() {
	require.NoError(k, exec.Command("kill", "-STOP", strconv.Itoa(k.cmd.Process.Pid)).Run())
}

// Keytab makes a principal if it is new, or changes its key, and returns a keytab with it.
func (k *KDC) Keytab(name string) string {
	k.Helper()
	k.Admin("addprinc -randkey %s", name) // a complaint of one that exists does no harm
	path := k.File(strings.ReplaceAll(name, "/", "_") + ".keytab")
	fresh := path + ".new"
	k.Admin("ktadd -k %s %s", fresh, name)
	require.NoError(k, os.Rename(fresh, path)) // without the keys of former versions
	return path
}

// Issued counts the tickets issued by requests of a kind, AS_REQ or TGS_REQ, for a client.
func (k *KDC) Issued(kind, client string) (n int) {
	text, err := os.ReadFile(k.File("log"))
	require.NoError(k, err)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, kind) && strings.Contains(line, "ISSUE") && strings.Contains(line, " "+client+"@") {
			n++
		}
	}
	return n
}

// ReplaceOnce replaces text that must exist.
func ReplaceOnce(t testing.TB, text, was, is string) string {
	t.Helper()
	require.Contains(t, text, was)
	return strings.Replace(text, was, is, 1)
}
