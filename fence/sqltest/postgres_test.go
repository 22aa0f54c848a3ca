//go:build unix

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// postgresBin are the folders of Debian's packages postgresql-<version>.
const postgresBin = "/usr/lib/postgresql/*/bin"

// startPostgres starts a server on the loopback with an empty database in a temporary
// folder, and returns its connection string. Without PostgreSQL the test is skipped, or
// fails where CI demands it.
func startPostgres(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(postgresBin, "initdb"))
	require.NoError(t, err)
	if len(found) == 0 {
		const why = "no " + postgresBin + "/initdb: install the package postgresql"
		if os.Getenv(apache.EnvRequire) == "1" {
			t.Fatalf("PostgreSQL is required (%s=1): %s", apache.EnvRequire, why)
		}
		t.Skipf("\n*** NOT TESTED WITH POSTGRESQL: %s\n*** (%s=1 makes this a failure)", why, apache.EnvRequire)
	}
	bin := filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp("", "fence-postgres-") // t.TempDir is below a folder that other users cannot enter
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	as := owner(t, dir)
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(t.Context(), filepath.Join(bin, "initdb"), "-D", data, "-U", "test", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
	initdb.SysProcAttr, initdb.Dir = as, dir
	out, err := initdb.CombinedOutput()
	require.NoError(t, err, "%s", out)

	host, port := freePort(t)
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	defer log.Close()
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", port, "-k", dir, "-c", "listen_addresses="+host, "-c", "fsync=off")
	server.SysProcAttr, server.Dir, server.Stdout, server.Stderr = as, dir, log, log
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT) // ends at once, without a farewell to clients
		_ = server.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("PostgreSQL's log:\n%s", text)
		}
	})
	dsn := "postgres://test@" + net.JoinHostPort(host, port) + "/postgres?sslmode=disable"
	awaitPostgres(t, dsn)
	return dsn
}

// owner gives the folder to another user, because PostgreSQL refuses to run as root.
func owner(t *testing.T, dir string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	require.NoError(t, err)
	uid, err := strconv.Atoi(nobody.Uid)
	require.NoError(t, err)
	gid, err := strconv.Atoi(nobody.Gid)
	require.NoError(t, err)
	require.NoError(t, os.Chown(dir, uid, gid))
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

// freePort returns a port on an address of this machine that no other process uses: a port of
// 127.0.0.1 could be taken before the server listens.
func freePort(t *testing.T) (host, port string) {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)))
	require.NoError(t, err)
	defer l.Close()
	host, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return host, port
}

// awaitPostgres waits until the server accepts connections.
func awaitPostgres(t *testing.T, dsn string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer db.Close()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = db.PingContext(ctx)
		return err == nil
	}, 30*time.Second, 50*time.Millisecond, "%v", fmt.Errorf("connect: %w", errors.Join(err)))
}
