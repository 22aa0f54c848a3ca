//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

func TestLatchCommandsCountDown(t *testing.T) {
	b := newBed(t)
	for _, c := range []struct {
		line, out string
		code      int
	}{
		{"get /l", "0\n", 0},
		{"await /l", "", 0},
		{"down /l", "0\n", 0},
		{"set /l 2", "2\n", 0},
		{"set /l 3", "", exit.CodeBusy},
		{"down /l", "1\n", 0},
		{"get /l -o json", `{"path":"/l","count":1}` + "\n", 0},
		{"down /l -o json", `{"path":"/l","count":0}` + "\n", 0},
		{"await /l", "", 0},
		{"set /l 1", "1\n", 0},
	} {
		z := b.run(append([]string{"latch"}, strings.Fields(c.line)...)...).ends(c.code)
		assert.Equal(t, c.out, z.out.String(), c.line)
	}
	z := b.run("latch", "set", "/l", "5")
	assert.Equal(t, "zkr: the count of the latch /l is not 0\nzkr: \"zkr latch get /l\" shows the count\n", z.err.String())
	node, err := b.srv.Get("/l")
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 0, 0, 2, 0, 0, 0, 1}, node.Data)

	late := b.start("latch", "await", "/l", "--timeout", "5s")
	waiter := b.start("latch", "await", "/l")
	late.ends(exit.CodeBusy)
	assert.Contains(t, late.err.String(), "timed out after 5s waiting for the latch /l")
	assert.Contains(t, late.err.String(), "waiting at /l: the count is 1")
	b.run("latch", "down", "/l").ends(0)
	waiter.ends(0)
}
