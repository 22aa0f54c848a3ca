//go:build unix

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// In an outage, the commands that read show what the last server knows, and say so; those that
// write wait.
func TestServerWithoutAQuorumIsReadFrom(t *testing.T) {
	b := newBedWith(t, &zktest.Options{Servers: 3, MaxSessionTimeout: longest, ReadOnly: true})
	require.NoError(t, b.srv.WaitLeader(b.ctx))
	require.NoError(t, b.srv.Create("/jobs", []byte("text")))
	eventually(t, func() bool { _, err := b.srv.GetAt(1, "/jobs"); return err == nil }, "server 1 knows it")
	for _, server := range []int{2, 3} {
		require.NoError(t, b.srv.Stop(server))
	}
	assert.Contains(t, b.run("tree", "--connect-timeout", "3s").ends(69).err.String(), "no server could be reached")
	assert.Contains(t, b.run("tree", "--read-only").ends(0).out.String(), "jobs")
	status := b.run("status", "--read-only").ends(1).out.String()
	assert.Contains(t, status, "ZooKeeper has no quorum; this is what "+b.srv.ServerAddr(1)+" knows")
	assert.Contains(t, status, "znodes: 2")
	assert.Contains(t, status, "server.read-only")
	assert.Contains(t, b.run("status", "--read-only", "-o", "json").ends(1).out.String(), `"read_only":"`+b.srv.ServerAddr(1)+`"`)
	assert.Contains(t, b.run("lock", "ls", "/e", "--read-only", "--connect-timeout", "3s").ends(69).err.String(), "waiting for a session", "its answer would have to be the newest")

	z := b.start(running([]string{"lock", "/l", "--read-only"}, "sh", "-c", "echo in")...)
	z.running()
	require.NoError(t, b.srv.Restart(2))
	z.says("in")
	z.ends(0)
}
