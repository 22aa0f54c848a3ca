//go:build unix

package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// pausedAddr tells the test binary to be the paused process.
const pausedAddr = "SESSION_TEST_PAUSED_HOLDER"

// pausedTimeout is the timeout of its session.
const pausedTimeout = 2 * time.Second

// TestPausedHolder is the child of the test below: the child holds, and looks
// at the hold right after the pause.
func TestPausedHolder(t *testing.T) {
	addr := os.Getenv(pausedAddr)
	if addr == "" {
		return // a normal run: only the test below counts
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := Connect(ctx, addr, &Options{Timeout: pausedTimeout, TickTime: 100 * time.Millisecond})
	require.NoError(t, err)
	h, err := holdEphemeral(ctx, c)
	for errors.Is(err, ErrLost) { // so short a session ends when the machine stalls
		h, err = holdEphemeral(ctx, c)
	}
	require.NoError(t, err)
	last := time.Now() // before the output that allows the pause to begin
	fmt.Println("\nholding")
	for {
		now := time.Now()
		if now.Sub(last) > pausedTimeout+time.Second {
			first := h.Context().Err() != nil // before any timer or packet
			fmt.Printf("first look: ended=%v cause=%v\n", first, h.Err())
			os.Exit(0)
		}
		last = now
		require.NoError(t, ctx.Err())
	}
}

// holdEphemeral holds a znode of its own.
func holdEphemeral(ctx context.Context, c *Client) (*Hold, error) {
	s, err := c.Session(ctx)
	if err != nil {
		return nil, err
	}
	path := "/h-" + NewID()
	if _, err := s.Create(ctx, path, nil, Ephemeral, nil); err != nil {
		return nil, err
	}
	return s.Hold(ctx, path, nil)
}

// After a pause of the process itself the first look at the clock tells the
// truth, before any timer or packet. A single run may see a packet first; not
// all of several runs do.
func TestTheFirstLookAfterAPauseTellsTheTruth(t *testing.T) {
	said := ""
	for trial := 0; trial < 5 && !strings.Contains(said, ErrTrustRanOut.Error()); trial++ {
		said = lookAfterAPause(t)
		require.Contains(t, said, "ended=true")
	}
	require.Contains(t, said, ErrTrustRanOut.Error())
}

// lookAfterAPause returns the holder's first observation after a pause in which
// the servers have expired its session.
func lookAfterAPause(t *testing.T) (said string) {
	srv, err := zktest.Start(&zktest.Options{TickTime: 100 * time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestPausedHolder$", "-test.timeout=3m")
	cmd.Env = append(os.Environ(), pausedAddr+"="+srv.Addr())
	cmd.Stderr = os.Stderr
	holder, lines, err := subprocess.StartLines(cmd)
	require.NoError(t, err)
	for line := range lines {
		if line == "holding" {
			break
		}
		t.Log("child:", line)
	}
	require.NoError(t, holder.Freeze())
	stopped := time.Now()
	require.Eventually(t, func() bool {
		return time.Since(stopped) > pausedTimeout+3*time.Second/2 && srv.Stats().Sessions == 0
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, holder.Thaw())
	for line := range lines {
		t.Log("child:", line)
		if strings.HasPrefix(line, "first look") {
			said = line
		}
	}
	require.NoError(t, holder.Wait())
	return said
}
