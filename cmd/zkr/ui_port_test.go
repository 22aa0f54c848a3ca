//go:build unix

package main

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// TestOccupiedPortOfThePageIsExplained: the message has advice.
func TestOccupiedPortOfThePageIsExplained(t *testing.T) {
	b := newBed(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, l.Close()) }()
	p := b.run("ui", "--listen", l.Addr().String()).ends(exit.CodeFailed)
	assert.Contains(t, p.err.String(), "cannot listen on "+l.Addr().String())
	assert.Contains(t, p.err.String(), "--listen 127.0.0.1:0 takes any free port")
}
