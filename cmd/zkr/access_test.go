//go:build unix

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// owned is a command of a user whose znodes others may only read.
func (b *bed) owned(args ...string) *exec.Cmd {
	return with(b.command(args...), "ZKR_AUTH=ann:pw", "ZKR_ACL=auth::cdrwa,world:anyone:r")
}

// paths are the znodes below /app, with their data.
func paths(nodes []zktest.Node) (out []string) {
	for _, n := range nodes {
		if strings.HasPrefix(n.Path, "/app") {
			out = append(out, n.Path+" "+string(n.Data))
		}
	}
	return out
}

// TestReadersNeedThePermissionToRead, and no other: a client that may only read sees
// everything, and changes nothing.
func TestReadersNeedThePermissionToRead(t *testing.T) {
	b := newBed(t)
	for _, line := range []string{
		"barrier gate set /app/gate", "counter set /app/counter 5", "latch set /app/latch 2", "value set /app/value x",
		"job submit words --workers 2 --root /app/jobs", "task schedule set /app/tasks nightly --every 1h",
		"rebalance add /app/group a b",
	} {
		inside(t, b.owned(strings.Fields(line)...)).ends(0)
	}
	submit := b.owned("task", "submit", "/app/tasks", "--id", "first")
	submit.Stdin = strings.NewReader("payload")
	start(t, submit).ends(0)
	for _, line := range [][]string{
		{"lock", "/app/lock"}, {"rwlock", "write", "/app/rwlock"}, {"elect", "/app/leader"}, {"members", "join", "/app/members", "m"},
		{"service", "register", "web", "--id", "w", "--base", "/app/services"},
	} {
		start(t, b.owned(running(line, "sh", "-c", "echo in; exec sleep 1000")...)).says("in")
	}
	start(t, b.owned(running([]string{"rebalance", "join", "/app/group", "--id", "one"}, "sh", "-c", "echo in; exec sleep 1000")...)).says("in")
	before := paths(b.srv.Dump())

	for _, line := range []string{
		"lock ls /app/lock", "lock ls", "rwlock ls /app/rwlock", "elect ls /app/leader", "members ls /app/members",
		"service ls --base /app/services", "service ls web --base /app/services", "barrier gate show /app/gate",
		"counter get /app/counter", "latch get /app/latch", "value get /app/value", "job ls --root /app/jobs",
		"job workers words --root /app/jobs", "task ls /app/tasks", "task show /app/tasks first", "task stats /app/tasks",
		"task schedule ls /app/tasks", "rebalance ls /app/group", "rebalance status /app/group", "tree /app",
	} {
		z := inside(t, b.command(strings.Fields(line)...))
		assert.Zero(t, z.code, "zkr %s: %s%s", line, z.out, z.err)
		assert.NotContains(t, z.err.String(), "access control", line)
	}
	z := inside(t, b.command("status", "/app")).ends(exit.CodeFailed)
	assert.Equal(t, "zkr: 2 problems\n", z.err.String(), "the queue has neither a master nor a worker, and that is all")
	for _, line := range []string{
		"lock /app/lock --timeout 5s -- true", "lock /app/other -- true", "rwlock read /app/rwlock -- true", "elect /app/leader -- true",
		"members join /app/members x -- true", "service register web --id x --base /app/services -- true",
		"barrier enter /app/barrier -n 1 -- true", "barrier gate set /app/other", "barrier gate remove /app/gate",
		"counter add /app/counter", "counter set /app/counter 1", "latch down /app/latch", "value set /app/value y",
		"job submit more --workers 2 --root /app/jobs", "job kill words --root /app/jobs", "job join words --root /app/jobs -- true",
		"task submit /app/tasks", "task cancel /app/tasks first", "task pause /app/tasks --reason x", "task schedule rm /app/tasks nightly",
		"rebalance add /app/group c", "rebalance remove /app/group a", "rebalance pause /app/group", "keep /app/kept -- true", "rm -r /app/value",
		"lock break /app/lock --reason r --yes", "elect depose /app/leader --reason r --yes",
	} {
		cmd := b.command(strings.Fields(line)...)
		cmd.Env = append(cmd.Env, asZkr+"="+patient)
		z := start(t, cmd).wait()
		assert.Equal(t, exit.CodeDenied, z.code, "zkr %s: %s%s", line, z.out, z.err)
	}
	after := paths(b.srv.Dump())
	slices.Sort(before)
	slices.Sort(after)
	assert.Equal(t, before, after)
}

// TestWrongAccessListsAreRefused before anything is connected.
func TestWrongAccessListsAreRefused(t *testing.T) {
	t.Parallel()
	for list, says := range map[string]string{
		"creator":       "SCHEME:ID:PERMISSIONS",
		"world:x:r":     "in the scheme world it is anyone",
		"auth::cdrwa":   "there are none",
		"auth:ann:rwxs": "letters of cdrwa",
	} {
		z := inside(t, command("127.0.0.1:1", "counter", "get", "/a", "--acl", list)).ends(exit.CodeUsage)
		assert.Contains(t, z.err.String(), says, list)
		assert.Contains(t, z.err.String(), "--acl", list)
	}
	z := inside(t, with(command("127.0.0.1:1", "counter", "get", "/a"), "ZKR_ACL=x")).ends(exit.CodeUsage)
	assert.Contains(t, z.err.String(), "ZKR_ACL")
	z = inside(t, with(command("127.0.0.1:1", "counter", "get", "/a", "--acl", "auth::cdrwa", "--connect-timeout", "50ms"), "ZKR_AUTH=a:b"))
	z.ends(exit.CodeUnavailable)
}
