//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/rwlockcmd"
)

func TestReadersShareAndWritersDoNot(t *testing.T) {
	b := newBed(t)
	gate := filepath.Join(t.TempDir(), "gate")
	script := "echo in; while [ ! -e " + gate + " ]; do sleep 0.1; done"
	reader := func(flags ...string) []string {
		return running(append([]string{"rwlock", "read", "/l"}, flags...), "sh", "-c", script)
	}
	one := b.start(reader("--id", "r1")...)
	one.says("in")
	two := b.start(reader("--id", "r2", "--try")...)
	two.says("in")
	busy := b.run(running([]string{"rwlock", "write", "/l", "--try"}, "true")...).ends(exit.CodeBusy)
	assert.Contains(t, busy.err.String(), "the write lock /l is taken")
	assert.Contains(t, busy.err.String(), `"zkr rwlock ls /l" shows the holders`)
	late := b.run(running([]string{"rwlock", "write", "/l", "--timeout", "5s"}, "true")...).ends(exit.CodeBusy)
	assert.Contains(t, late.err.String(), "did not get the write lock /l within 5s")
	b.queued("/l", 2)

	writer := b.start(running([]string{"rwlock", "write", "/l", "--id", "w"}, "echo", "wrote")...)
	b.queued("/l", 3)
	b.run(running([]string{"rwlock", "read", "/l", "--try"}, "true")...).ends(exit.CodeBusy)
	three := b.start(reader("--id", "r3")...)
	b.queued("/l", 4)
	table := b.run("rwlock", "ls", "/l").ends(0).out.String()
	golden(t, "rwlock-ls", columns(untokened(table)))

	var got struct {
		Path       string
		Contenders []rwlockcmd.Sharer
	}
	text := b.run("rwlock", "ls", "/l", "-o", "json").ends(0).out.String()
	require.NoError(t, json.Unmarshal([]byte(text), &got), text)
	require.Len(t, got.Contenders, 4)
	for _, c := range got.Contenders {
		node, err := b.srv.Get(c.Path)
		require.NoError(t, err)
		assert.Equal(t, node.Czxid, c.Token)
		assert.Equal(t, cli.SessionID(node.EphemeralOwner), c.Session)
	}
	writer.running()
	three.running()
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	for _, z := range []*zkrProcess{one, two, writer, three} {
		z.ends(0)
	}
	assert.Equal(t, "wrote\n", writer.out.String())
	assert.Empty(t, b.contenders("/l"))
}

func TestRwlockListOfAnUnusedLock(t *testing.T) {
	b := newBed(t)
	b.empty("no znode /l: no client uses the path now, or the path is misspelled", "rwlock", "ls", "/l")
	assert.Equal(t, `{"path":"/l","exists":false,"contenders":[]}`+"\n", b.run("rwlock", "ls", "/l", "-o", "json").ends(0).out.String())
}

func TestRwlockTellsItsCommandWhatItHolds(t *testing.T) {
	b := newBed(t)
	for _, mode := range []string{"read", "write"} {
		env := environmentOf(b, []string{"rwlock", mode, "/l"})
		assert.Equal(t, mode, env["ZKR_LOCK_MODE"])
		created(b, env, "ZKR_LOCK")
		assert.Len(t, env, 4)
	}
	env := environmentOf(b, []string{"rwlock", "read", "/k", "--layout", "kazoo"})
	assert.Contains(t, env["ZKR_LOCK_PATH"], "__rlock__")
}
