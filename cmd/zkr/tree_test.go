//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/znodecmd"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// plant makes znodes; the data of each is behind its path.
func (b *bed) plant(nodes ...string) {
	b.Helper()
	for _, node := range nodes {
		path, data, _ := strings.Cut(node, " ")
		require.NoError(b, b.srv.Create(path, []byte(data)))
	}
}

func TestTreeShowsKindOwnerSizeVersionAndData(t *testing.T) {
	b := newBed(t)
	b.plant("/app", "/app/config a=1", "/app/config/db host", "/app/config/db/deep x", "/app/empty",
		"/app/long "+strings.Repeat("long ", 200), "/app/raw \x1b[31m\x00\xff")
	require.NoError(t, b.srv.Set("/app/config", []byte("a=2")))
	s, err := b.client().Session(b.ctx)
	require.NoError(t, err)
	_, err = s.Create(b.ctx, "/app/mine", []byte("größe"), session.Ephemeral, nil)
	require.NoError(t, err)

	out := b.run("tree", "/app").ends(0).out.String()
	golden(t, "tree", out)
	assert.Contains(t, out, fmt.Sprintf("ephemeral of %#x  größe", s.ID()))
	golden(t, "tree-depth", b.run("tree", "/app", "--depth", "1").ends(0).out.String())
	whole := b.run("tree", "/app", "--data").ends(0).out.String()
	assert.Contains(t, whole, strings.Repeat("long ", 199))
	golden(t, "tree-leaf", b.run("tree", "/app/config/db/deep").ends(0).out.String())
}

// M21.
func TestTreeIsNestedJSON(t *testing.T) {
	b := newBed(t)
	b.plant("/app", "/app/a one", "/app/a/b \xff", "/app/c")
	read := func(args ...string) znodecmd.Node {
		var out znodecmd.Node
		text := b.run(append([]string{"tree", "/app", "-o", "json"}, args...)...).ends(0).out.String()
		require.Equal(t, 1, strings.Count(text, "\n"))
		require.NoError(t, json.Unmarshal([]byte(text), &out), text)
		return out
	}
	got := read()
	assert.Equal(t, "/app", got.Path)
	assert.EqualValues(t, 2, got.ChildCount)
	require.Len(t, got.Children, 2)
	a := got.Children[0]
	node, err := b.srv.Get("/app/a")
	require.NoError(t, err)
	assert.Equal(t, "/app/a", a.Path)
	assert.Equal(t, node.Czxid, a.Czxid)
	assert.True(t, a.Modified.Equal(time.UnixMilli(node.Mtime)))
	assert.EqualValues(t, 3, a.Size)
	assert.Nil(t, a.Text, "without --data")
	assert.Equal(t, "/app/a/b", a.Children[0].Path)
	got = read("--data")
	assert.Equal(t, "one", *got.Children[0].Text)
	assert.Equal(t, []byte{0xff}, got.Children[0].Children[0].Base64)
	got = read("--depth", "1")
	assert.Empty(t, got.Children[0].Children)
	assert.EqualValues(t, 1, got.Children[0].ChildCount)
}

func TestTreeOfTheRootAndOfNothing(t *testing.T) {
	b := newBed(t)
	out := b.run("tree", "/").ends(0).out.String()
	assert.True(t, strings.HasPrefix(out, "/  v0, 0 B\n└── zookeeper"), out)
	assert.Equal(t, out, b.run("tree").ends(0).out.String())
	z := b.run("tree", "/nothing").ends(exit.CodeFailed)
	assert.Contains(t, z.err.String(), "there is no znode /nothing: zk: node does not exist\nzkr: \"zkr tree / --depth 1\" shows the existing znodes\n")
	z = b.run("tree", "/", "--chroot", "/nothing").ends(exit.CodeFailed)
	assert.Contains(t, z.err.String(), "paths are below the chroot: "+b.srv.Addr()+"/nothing\n")
}

// TestTreeMarksWhatItMayNotRead, and shows the rest.
func TestTreeMarksWhatItMayNotRead(t *testing.T) {
	b := newBed(t)
	b.plant("/app", "/app/z")
	owner, err := session.Connect(b.ctx, b.srv.Addr(), &session.Options{
		Timeout: longest, ACL: session.CreatorACL(), Credentials: []session.Credential{session.Digest("ann", "a")},
	})
	require.NoError(t, err)
	defer func() { _ = owner.Close(b.ctx) }()
	s, err := owner.Session(b.ctx)
	require.NoError(t, err)
	_, err = s.Create(b.ctx, "/app/secret", []byte("x"), session.Persistent, nil)
	require.NoError(t, err)
	golden(t, "tree-secret", b.run("tree", "/app").ends(0).out.String())
	b.run("tree", "/app/secret").ends(exit.CodeDenied)
	assert.Contains(t, b.run("tree", "/app", "--user", "ann:a").ends(0).out.String(), "secret  v0, 1 B  x")
}

// TestBigTreeIsReadInAFewRoundTrips: a request for each znode and another for
// each znode with children, many at a time. With 50 ms to each answer,
// sequential requests would take nine minutes.
func TestBigTreeIsReadInAFewRoundTrips(t *testing.T) {
	b := newBed(t)
	b.plant("/big")
	for i := range 100 {
		b.plant(fmt.Sprintf("/big/%03d", i))
		for j := range 100 {
			b.plant(fmt.Sprintf("/big/%03d/%03d %d", i, j, j))
		}
	}
	b.srv.Delay(zktest.Link{}, zktest.ToClient, 50*time.Millisecond)
	b.srv.ResetStats()
	begun := time.Now()
	z := b.run("tree", "/big").ends(0)
	took := z.at.Sub(begun)
	assert.Contains(t, z.out.String(), "\n10101 znodes, 0 ephemeral\n")
	requests := b.srv.Stats().Requests
	assert.Equal(t, 10101, requests["getData"])
	assert.Equal(t, 101, requests["getChildren2"])
	assert.Less(t, took, limit)
	t.Logf("10,101 znodes in %v", took.Round(time.Millisecond))
	assert.Empty(t, z.err.String(), "stderr is not a terminal")
}

// TestTreeGoesOnOverBrokenConnections: znodes whose requests were in flight are read
// again.
func TestTreeGoesOnOverBrokenConnections(t *testing.T) {
	b := newBed(t)
	b.plant("/big")
	for i := range 400 {
		b.plant(fmt.Sprintf("/big/%04d", i))
	}
	for _, fault := range []zktest.Fault{zktest.CutBefore, zktest.DropReplyCut, zktest.ExpireBefore} {
		b.srv.ResetStats()
		remove := b.srv.FailNth(func(r zktest.Request) bool { return r.Op == "getData" }, 150, zktest.Action{Do: fault})
		z := b.run("tree", "/big").ends(0)
		assert.Contains(t, z.out.String(), "\n401 znodes, 0 ephemeral\n", fault)
		remove()
	}
}

func TestTreeLeavesOutWhatGoesMeanwhile(t *testing.T) {
	b := newBed(t)
	b.plant("/app", "/app/a", "/app/b", "/app/c", "/app/c/d")
	once := true
	b.srv.OnRequest(func(r zktest.Request) zktest.Action {
		if r.Op == "getData" && r.Path == "/app/a" && once {
			once = false
			assert.NoError(t, b.srv.Delete("/app/b"))
		}
		if r.Op == "getChildren2" && r.Path == "/app/c" {
			assert.NoError(t, b.srv.Delete("/app/c/d"))
			assert.NoError(t, b.srv.Delete("/app/c"))
		}
		return zktest.Action{}
	})
	golden(t, "tree-gone", b.run("tree", "/app").ends(0).out.String())
}

func TestTreeGivesASilentServerUp(t *testing.T) {
	b := newBed(t)
	b.plant("/a")
	b.srv.OnRequest(func(r zktest.Request) zktest.Action {
		if r.Op == "getData" {
			return zktest.Action{Do: zktest.DropRequest}
		}
		return zktest.Action{}
	})
	z := b.run("tree", "/a", "--connect-timeout", "5s").ends(exit.CodeUnavailable)
	assert.Contains(t, z.err.String(), "no server answered in time")
}

// TestHeadIsEnough: a reader that goes away is not an error.
func TestHeadIsEnough(t *testing.T) {
	b := newBed(t)
	b.plant("/big")
	for i := range 3000 {
		b.plant(fmt.Sprintf("/big/%04d some data", i))
	}
	zkr := b.command("tree", "/big")
	cmd := b.command()
	cmd.Path, cmd.Args = "/bin/bash", append([]string{"bash", "-c", `"$0" "$@" | head -n 1; echo "code ${PIPESTATUS[0]}"`}, zkr.Args...)
	z := start(t, cmd).ends(0)
	assert.Equal(t, "/big  v0, 0 B\ncode 141\n", z.out.String())
	assert.Empty(t, z.err.String())
}
