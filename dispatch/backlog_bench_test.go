package dispatch_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// BenchmarkBacklog has a new master take over n, 2n and 4n waiting tasks, and reports the time until the first task is done and until the master knows all
// tasks, the heap of this process (which has the master, a worker and a client) after that,
// and the requests and bytes of the takeover; then the throughput with the backlog. Without
// ZKBENCH_APACHE=1 the server is part of this process, and its heap counts too. n is
// ZKBENCH_BACKLOG; default: 25,000. 4n = 1,000,000 tasks need a server with 3 GB of heap,
// which ZKBENCH_HEAP sets in MB; default: 1,024.
func BenchmarkBacklog(b *testing.B) {
	n := world.BenchNumber(b, "ZKBENCH_BACKLOG", 25_000)
	var last [3]float64
	for i, tasks := range []int{n, 2 * n, 4 * n} {
		b.Run(fmt.Sprintf("tasks=%d", tasks), func(b *testing.B) {
			addr := world.BenchServerOf(b, 1024)
			const at = "/bench"
			q := dispatch.New(benchClient(b, addr), at, &dispatch.Options{MaxTasks: 10_000_000})
			fillBacklog(b, q, benchClient(b, addr), at, tasks)
			for b.Loop() {
				out := takeOver(b, addr, at, tasks)
				for k, name := range []string{"requests", "bytes", "s-until-known"} {
					b.ReportMetric(out[k], name)
					if i > 0 {
						b.ReportMetric(math.Log2(out[k]/last[k]), name+"-exponent")
					}
				}
				last = out
			}
		})
	}
}

// takeOver has a new master take over, and returns its requests and bytes, and the seconds until
// it knows all tasks.
func takeOver(b *testing.B, addr, at string, tasks int) [3]float64 {
	relay := newCountingRelay(b, addr)
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	before := mem.HeapAlloc
	client := benchClient(b, addr)
	q := dispatch.New(client, at, &dispatch.Options{MaxTasks: 10_000_000})
	done := make(chan struct{}, 1<<20)
	worker := dispatch.NewWorker(client, at, func(context.Context, *dispatch.Attempt) ([]byte, error) {
		done <- struct{}{}
		return nil, nil
	}, nil)
	stopWorker := beside(b, worker.Run)
	defer stopWorker()
	began := time.Now()
	stopMaster := beside(b, dispatch.NewMaster(benchClient(b, relay.addr), at, &dispatch.Options{MaxTasks: 10_000_000}).Run)
	defer stopMaster()
	<-done
	b.ReportMetric(time.Since(began).Seconds(), "s-until-first")
	for {
		st, err := q.Stats(b.Context())
		require.NoError(b, err)
		if !st.Published.IsZero() {
			break
		}
		<-time.After(100 * time.Millisecond)
	}
	out := [3]float64{float64(relay.requests.Load()), float64(relay.bytes.Load()), time.Since(began).Seconds()}
	runtime.GC()
	runtime.ReadMemStats(&mem)
	b.ReportMetric((float64(mem.HeapAlloc)-float64(before))/1e6, "MB-heap")
	b.ReportMetric((float64(mem.HeapAlloc)-float64(before))/float64(tasks), "B/task")
	for len(done) > 0 {
		<-done
	}
	began = time.Now()
	for range 3000 {
		<-done
	}
	b.ReportMetric(3000/time.Since(began).Seconds(), "tasks/s")
	return out
}

// fillBacklog makes n waiting tasks, copies of a task that q submits.
func fillBacklog(b *testing.B, q *dispatch.Queue, c *session.Client, at string, n int) {
	const first = "00000000-0000-4000-8000-000000000000"
	_, err := q.Submit(b.Context(), dispatch.Task{ID: first})
	require.NoError(b, err)
	s, err := c.Session(b.Context())
	require.NoError(b, err)
	bucket := func(id string) string {
		sum := sha256.Sum256([]byte(id))
		return hex.EncodeToString(sum[:1])
	}
	like, _, err := s.Get(b.Context(), at+"/tasks/"+bucket(first)+"/"+first)
	require.NoError(b, err)
	names, _, err := s.Children(b.Context(), at+"/data/"+bucket(first))
	require.NoError(b, err)
	_, run, _ := strings.Cut(names[0], "~")
	for i := range 256 {
		for _, dir := range []string{"/tasks/", "/data/", "/results/"} {
			require.NoError(b, s.EnsurePath(b.Context(), at+dir+fmt.Sprintf("%02x", i), session.Persistent, nil))
		}
	}
	var ops []session.Op
	for i := 1; i <= n; i++ {
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)
		data := strings.Replace(string(like), first, id, 1)
		ops = append(ops, session.CreateOp(at+"/tasks/"+bucket(id)+"/"+id, []byte(data), session.Persistent, nil),
			session.CreateOp(at+"/data/"+bucket(id)+"/"+id+"~"+run, nil, session.Persistent, nil))
		if len(ops) < 256 && i < n {
			continue
		}
		require.NoError(b, c.Retry(b.Context(), func(s *session.Session) error {
			if _, err := s.Txn(b.Context(), ops...); err != nil && !errors.Is(err, session.ErrNodeExists) {
				return err
			}
			return nil // or an earlier try has made them
		}))
		ops = nil
	}
}

// countingRelay counts the requests and the bytes, both ways, of its connections.
type countingRelay struct {
	addr            string
	requests, bytes atomic.Int64
}

func newCountingRelay(b *testing.B, to string) *countingRelay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(func() { _ = l.Close() })
	r := &countingRelay{addr: l.Addr().String()}
	// No goroutine waits for it; ends with the listener.
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				return
			}
			// No goroutine waits for it; ends with either connection.
			go r.copy(out, in, true)
			// No goroutine waits for it; ends with either connection.
			go r.copy(in, out, false)
		}
	}()
	return r
}

// copy copies frames, each of which is a request if they go up.
func (r *countingRelay) copy(to, from net.Conn, up bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	var head [4]byte
	for {
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return
		}
		n := int64(head[0])<<24 | int64(head[1])<<16 | int64(head[2])<<8 | int64(head[3])
		r.bytes.Add(n + 4)
		if up {
			r.requests.Add(1)
		}
		if _, err := to.Write(head[:]); err != nil {
			return
		}
		if _, err := io.CopyN(to, from, n); err != nil {
			return
		}
	}
}
