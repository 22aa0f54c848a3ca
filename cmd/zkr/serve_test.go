//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

func TestServeAnswersUntilItIsEnded(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		z := start(t, command("x", "serve", "--listen", "127.0.0.1:0", "--tick", "250ms", "-o", "json"))
		z.says("\n")
		var got map[string]string
		require.NoError(t, json.Unmarshal([]byte(z.out.String()), &got))
		c, err := net.DialTimeout("tcp", got["servers"], limit)
		require.NoError(t, err)
		require.NoError(t, c.SetDeadline(time.Now().Add(limit)))
		_, err = io.WriteString(c, "ruok")
		require.NoError(t, err)
		answer, err := io.ReadAll(c)
		require.NoError(t, err)
		assert.Equal(t, "imok", string(answer))
		start(t, command(got["servers"], "lock", "/a", "--session-timeout", "5s", "--grace", "100ms", "--", "true")).ends(0)
		z.signal(sig)
		z.ends(0)
	}
}

func TestServeSaysWhatItIsAndWhereItIs(t *testing.T) {
	z := start(t, command("x", "serve", "--listen", "127.0.0.1:0"))
	z.says("export ZKR_SERVERS=127.0.0.1:")
	z.says("nothing is on disk")
	z.says("sessions of 4s to 40s")
	_, addr, _ := strings.Cut(strings.TrimSpace(z.out.String()), "export ZKR_SERVERS=")
	taken := start(t, command("x", "serve", "--listen", addr)).ends(exit.CodeFailed)
	assert.Contains(t, taken.err.String(), "address already in use")
}
