package dispatch_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// One operation is an empty task from its submission until its result is collected, with
// the given numbers of workers, each with a session of its own, and of tasks in flight.
func BenchmarkWorkers(b *testing.B) {
	for _, workers := range []int{1, 4, 16} {
		for _, flight := range []int{16, 256} {
			b.Run(fmt.Sprintf("workers=%d/in-flight=%d", workers, flight), func(b *testing.B) {
				addr := world.BenchServer(b)
				const at = "/bench"
				beside(b, dispatch.NewMaster(benchClient(b, addr), at, nil).Run)
				for range workers {
					beside(b, dispatch.NewWorker(benchClient(b, addr), at, echo, nil).Run)
				}
				q := dispatch.New(benchClient(b, addr), at, nil)
				runTasks(b, q, 2000, flight)
				b.ResetTimer()
				before := usageOf(b, addr)
				began := time.Now()
				took := runTasks(b, q, b.N, flight)
				passed := time.Since(began)
				b.ReportMetric(float64(b.N)/passed.Seconds(), "tasks/s")
				usageOf(b, addr).report(b, before)
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	}
}

// usage is what tasks cost: the processor time of this process and of its children, which
// the Apache server is, and the packets that the server has received and sent.
type usage struct {
	own, children  time.Duration
	received, sent int
}

func usageOf(b *testing.B, addr string) (u usage) {
	u.own = world.ProcessorTime()
	u.children = childrenTime()
	conn, err := net.Dial("tcp", addr)
	require.NoError(b, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write([]byte("srvr"))
	require.NoError(b, err)
	text, err := io.ReadAll(conn)
	require.NoError(b, err)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch n, _ := strconv.Atoi(value); name {
		case "Received":
			u.received = n
		case "Sent":
			u.sent = n
		}
	}
	return u
}

// childrenTime is the processor time of all living descendants of this process; 0 where
// there is no /proc.
func childrenTime() (out time.Duration) {
	const ticks = 10 * time.Millisecond // as on all usual systems
	parents, times := map[string]string{}, map[string]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		data, _ := os.ReadFile(name)
		_, after, _ := strings.Cut(string(data), ") ")
		if fields := strings.Fields(after); len(fields) > 12 {
			pid := strings.Split(name, "/")[2]
			user, _ := strconv.Atoi(fields[11])
			system, _ := strconv.Atoi(fields[12])
			parents[pid], times[pid] = fields[1], user+system
		}
	}
	self := strconv.Itoa(os.Getpid())
	for pid, n := range times {
		at := parents[pid]
		for at != self && at != "" {
			at = parents[at]
		}
		if at == self {
			out += time.Duration(n) * ticks
		}
	}
	return out
}

// report reports the cost of a task since before.
func (u usage) report(b *testing.B, before usage) {
	n := float64(b.N)
	b.ReportMetric(float64((u.own-before.own).Microseconds())/n, "own-µs/task")
	b.ReportMetric(float64((u.children-before.children).Microseconds())/n, "server-µs/task")
	b.ReportMetric(float64(u.received-before.received)/n, "requests/task")
	b.ReportMetric(float64(u.sent-before.sent)/n, "packets-sent/task")
}

// runTasks runs n tasks with flight of them at a time, and returns how long each took.
func runTasks(b *testing.B, q *dispatch.Queue, n, flight int) []time.Duration {
	left := make(chan int, n)
	for i := range n {
		left <- i
	}
	close(left)
	took := make([]time.Duration, n)
	var all sync.WaitGroup
	for range flight {
		// Waited for below; ends when nothing is left.
		all.Go(func() {
			for i := range left {
				began := time.Now()
				id, err := q.Submit(context.Background(), dispatch.Task{})
				if err == nil {
					_, err = q.Collect(context.Background(), id)
				}
				if err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(began)
			}
		})
	}
	all.Wait()
	require.False(b, b.Failed())
	return took
}
