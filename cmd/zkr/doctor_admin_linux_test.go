package main

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// freePort is a port that is probably free.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's
	require.NoError(t, err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// The settings that no four-letter word shows, of a server with dangerous ones and of one
// without.
func TestDoctorAsksTheAdminServerOnApache(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	admin := map[string]string{"admin.enableServer": "true", "admin.serverPort": port}
	bad := newAiling(t, &apache.Options{Mode: apache.Jars, Config: admin, Properties: map[string]string{"zookeeper.skipACL": "yes"}})
	asks := []string{"--no-write", "--admin-port", port}
	bad.finds(asks, "server.admin", "server.force-sync", "acl.skipped")
	require.NoError(t, bad.cluster.Close())

	good := newAiling(t, &apache.Options{Mode: apache.Jars, Config: admin, Fsync: true})
	good.finds(asks, "server.admin")
	d := diagnose(t, good.cluster.Connect(), asks...)
	require.Empty(t, append(d.where("server.force-sync"), d.where("acl.skipped")...))
	d = diagnose(t, good.cluster.Connect(), "--no-write", "--admin-port", "0")
	require.Empty(t, d.where("server.admin"))
}
