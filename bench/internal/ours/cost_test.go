//go:build !race

package ours

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// asServer in the environment makes the test binary a server, until its input ends: the
// costs of the client alone are measured in the test's process.
const asServer = "BENCH_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) == "" {
		os.Exit(m.Run())
	}
	srv, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(srv.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin) // the end of the test, whatever it is
	_ = srv.Close()
}

// startServer starts a server in a process of its own, and returns its address.
func startServer(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"=1")
	server, lines, err := subprocess.StartLines(cmd)
	require.NoError(t, err)
	t.Cleanup(func() {
		server.End()
		require.NoError(t, server.Wait())
	})
	return <-lines
}

// A lock cycle takes 66 allocations and an addition 31; heartbeats add a part of one. The
// race detector has allocations of its own.
func TestAllocationsOfAnOperation(t *testing.T) {
	p := Peer{Servers: startServer(t), Timeout: 10 * time.Second}
	for _, c := range []struct {
		kind  task.Kind
		limit float64
	}{{task.Lock, 70}, {task.Counter, 34}} {
		work := task.Task{Kind: c.kind, Path: "/" + string(c.kind), Clients: 1, Workers: 1, WarmMS: 100, TimeMS: 500}
		// The fewer operations there are, the more have the heartbeats a part in the figure.
		const enough = 200 // operations per second
		out, err := p.Measure(t.Context(), work, never)
		for ; err == nil && out.Value < enough; work.TimeMS *= 2 {
			require.Less(t, work.TimeMS, int64(60_000), "%v operations per second", out.Value)
			out, err = p.Measure(t.Context(), work, never)
		}
		require.NoError(t, err)
		require.LessOrEqual(t, out.Cost.Allocations, c.limit, c.kind)
		t.Logf("%s: %+v", c.kind, *out.Cost)
	}
}
