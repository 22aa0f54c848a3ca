package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWorkerOutlivesItsFile: an upgrade replaces the file, and a later task
// must not fail.
func TestWorkerOutlivesItsFile(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	file := filepath.Join(t.TempDir(), "zkr")
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	writeProgram(t, file, data)
	cmd := b.command(running([]string{"task", "worker", "/q"}, "cat")...)
	cmd.Path = file
	z := start(t, cmd)
	assert.Equal(t, "one", b.give(0, "one", "/q", "--wait").out.String())
	require.NoError(t, os.Remove(file))
	assert.Equal(t, "two", b.give(0, "two", "/q", "--wait").out.String())
	z.signal(syscall.SIGTERM)
	z.ends(0)
}
