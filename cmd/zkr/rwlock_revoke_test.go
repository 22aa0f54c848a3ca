//go:build unix

package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/rwlockcmd"
)

func TestReadersAndTheWriterAreAskedForTheLock(t *testing.T) {
	b := newBed(t)
	none := b.run("rwlock", "revoke", "/l").ends(exit.CodeFailed)
	assert.Contains(t, none.err.String(), "the lock /l has no holder")

	yields := []string{"sh", "-c", "trap 'echo yields; exit 3' TERM; echo in; while :; do sleep 0.1; done"}
	var readers []*zkrProcess
	for _, id := range []string{"r1", "r2"} {
		readers = append(readers, b.start(running([]string{"rwlock", "read", "/l", "--revocable", "--id", id}, yields...)...))
		readers[len(readers)-1].says("in")
	}
	writer := b.start(running([]string{"rwlock", "write", "/l", "--revocable", "--id", "w"}, yields...)...)
	b.queued("/l", 3)
	asked := b.run("rwlock", "revoke", "/l").ends(0).out.String()
	assert.Regexp(t, `^asked r1 \(read, session 0x[0-9a-f]+\)\nasked r2 \(read, session 0x[0-9a-f]+\)\n$`, asked)
	for _, r := range readers {
		r.says("yields")
		r.ends(3)
		assert.Contains(t, r.err.String(), "zkr: another client asks for the read lock /l: the command gets TERM\n")
	}
	writer.says("in")
	var got struct {
		Path  string
		Asked []rwlockcmd.Asked
	}
	text := b.run("rwlock", "revoke", "/l", "-o", "json").ends(0).out.String()
	require.NoError(t, json.Unmarshal([]byte(text), &got), text)
	require.Len(t, got.Asked, 1)
	assert.Equal(t, "write", got.Asked[0].Mode)
	assert.Equal(t, "w", got.Asked[0].ID)
	assert.Contains(t, got.Asked[0].Path, "/l/")
	writer.says("yields")
	writer.ends(3)
}
