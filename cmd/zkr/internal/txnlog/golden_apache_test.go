package txnlog_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// goldenKinds are the configurations of the servers that write the golden files.
//
// read only
var goldenKinds = []struct {
	name       string
	properties map[string]string
	suffix     string // of snapshots
	digest     bool   // in transactions
	paths      bool   // in the ends of sessions
}{
	{"plain", nil, "", true, true},
	{"gzip", map[string]string{"zookeeper.snapshot.compression.method": "gz", "zookeeper.closeSessionTxn.enabled": "false"}, ".gz", true, false},
	{"snappy", map[string]string{"zookeeper.snapshot.compression.method": "snappy", "zookeeper.digest.enabled": "false"}, ".snappy", false, true},
}

// freePorts returns an address of this machine that no other process uses, and n ports of it.
func freePorts(t *testing.T, n int) (host string, ports []any) {
	t.Helper()
	host, _, err := net.SplitHostPort(world.OwnAddress())
	require.NoError(t, err)
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		require.NoError(t, err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return host, ports
}

// dataDir returns the data folder of server i of a cluster started with Dir = dir.
func dataDir(t testing.TB, dir string, i int) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "zktest-*", fmt.Sprint(i), "data"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// dial connects go-zookeeper, whose requests differ from those of package session.
func dial(t *testing.T, server string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{server}, 10*time.Second, zk.WithLogInfo(false))
	require.NoError(t, err)
	for e := range events {
		if e.State == zk.StateHasSession {
			return conn
		}
	}
	t.Fatal("no session")
	return nil
}

// TestGoldenOnApache lets a server write all types of transactions, and checks that
// its files are read. With -update, the files become the golden files of the
// server's version.
func TestGoldenOnApache(t *testing.T) {
	for _, kind := range goldenKinds {
		t.Run(kind.name, func(t *testing.T) {
			dir := t.TempDir()
			host, ports := freePorts(t, 2)
			cluster := apache.Require(t, &apache.Options{
				Mode: apache.Jars, Own: true, Dir: dir, Heap: 96, Properties: withProperties(kind.properties),
				Config: map[string]string{
					"preAllocSize": "8", "standaloneEnabled": "false", "reconfigEnabled": "true",
					"server.1": host + fmt.Sprintf(":%d:%d", ports...),
				},
			})
			writeEverything(t, cluster)
			require.NoError(t, cluster.Restart(t.Context(), 0)) // takes a snapshot
			data := dataDir(t, dir, 0)
			f, err := txnlog.OpenFolder("server", data)
			require.NoError(t, err)
			last := f.Snapshots[len(f.Snapshots)-1]
			require.Contains(t, filepath.Base(last.Path), kind.suffix)
			require.NoError(t, cluster.Kill(t.Context(), 0))
			text := describeFolder(t, data)
			require.Contains(t, text, "failed -110")
			if kind.paths {
				require.Regexp(t, `closeSession with paths.*; delete /ephemeral`, text)
			} else {
				require.NotContains(t, text, "with paths")
			}
			if *update {
				keepGolden(t, kind.name, serverVersion(t, cluster), f, last)
			}
		})
	}
}

// withProperties adds the properties that all golden files need.
func withProperties(more map[string]string) map[string]string {
	out := map[string]string{"zookeeper.skipACL": "yes"} // for the reconfiguration
	for k, v := range more {
		out[k] = v
	}
	return out
}

// writeEverything makes a transaction of each type.
func writeEverything(t *testing.T, cluster *apache.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	open := zk.WorldACL(zk.PermAll)
	conn := dial(t, cluster.Servers()[0])
	defer conn.Close()
	must := func(_ any, err error) {
		t.Helper()
		require.NoError(t, err)
	}
	must(conn.Create("/plain", []byte("first"), 0, open))
	must(conn.Set("/plain", []byte("second"), -1))
	must(conn.Set("/plain", nil, -1))
	must(conn.SetACL("/plain", append(zk.DigestACL(zk.PermRead, "ann", "secret"), open...), -1))
	must(conn.CreateContainer("/container", nil, zk.FlagContainer, open))
	must(conn.Create("/container/only", nil, 0, open))
	require.NoError(t, conn.Delete("/container/only", -1))
	must(conn.CreateTTL("/ttl", []byte("soon"), zk.FlagTTL, open, time.Hour))
	must(conn.Create("/naïve", []byte{0, 'B', 0}, zk.FlagSequence, open))
	must(conn.Multi(
		&zk.CreateRequest{Path: "/plain/a", Data: []byte("a"), Acl: open, Flags: zk.FlagEphemeral},
		&zk.CheckVersionRequest{Path: "/plain", Version: 2}, &zk.SetDataRequest{Path: "/plain", Data: []byte("third"), Version: -1}, &zk.DeleteRequest{Path: "/plain/a", Version: -1}))
	_, err := conn.Multi(
		&zk.SetDataRequest{Path: "/plain", Data: []byte("never"), Version: -1}, &zk.CreateRequest{Path: "/ttl", Acl: open}, &zk.DeleteRequest{Path: "/plain", Version: -1})
	require.Error(t, err)
	_, err = conn.Create("/none/below", nil, 0, open)
	require.ErrorIs(t, err, zk.ErrNoNode)
	host, ports := freePorts(t, 3)
	must(conn.IncrementalReconfig([]string{"server.2=" + host + fmt.Sprintf(":%d:%d:observer;"+host+":%d", ports...)}, nil, -1))

	client, err := session.Connect(ctx, cluster.Connect(), nil)
	require.NoError(t, err)
	s, err := client.Session(ctx)
	require.NoError(t, err)
	must(s.Create(ctx, "/ephemeral", []byte("me"), session.Ephemeral, nil))
	must(s.Create(ctx, "/ephemeral2", nil, session.Ephemeral, nil))
	require.NoError(t, client.Close(ctx))
	// The server deletes the empty container.
	require.Eventually(t, func() bool {
		exists, _, err := conn.Exists("/container")
		return err == nil && !exists
	}, 30*time.Second, 50*time.Millisecond)
}

// serverVersion asks for the version, as in 3.8.0.
func serverVersion(t *testing.T, cluster *apache.Cluster) string {
	t.Helper()
	require.NoError(t, cluster.Launch(t.Context(), 0))
	require.NoError(t, cluster.Await(t.Context(), 0))
	text, err := cluster.FourLetter(t.Context(), 0, "srvr")
	require.NoError(t, err)
	m := regexp.MustCompile(`version: (\d+\.\d+\.\d+)`).FindStringSubmatch(text)
	require.NotNil(t, m, text)
	return m[1]
}

// keepGolden copies the logs as of f, and one snapshot.
func keepGolden(t *testing.T, kind, version string, f *txnlog.Folder, snapshot txnlog.File) {
	t.Helper()
	dir := filepath.Join("testdata", "zookeeper-"+version, kind)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, file := range append(slices.Clone(f.Logs), snapshot) {
		src, err := os.Open(file.Path)
		require.NoError(t, err)
		dst, err := os.Create(filepath.Join(dir, filepath.Base(file.Path)))
		require.NoError(t, err)
		_, err = io.Copy(dst, src)
		require.NoError(t, err)
		require.NoError(t, dst.Close())
		require.NoError(t, src.Close())
	}
	require.NoError(t, os.WriteFile(dir+".golden", []byte(describeFolder(t, dir)), 0o644))
}
