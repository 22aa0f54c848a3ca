// Package idle measures the cost of sessions that do nothing, in one process.
package idle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkrecipes/zkrecipes/bench/internal/clients"
	"github.com/zkrecipes/zkrecipes/bench/internal/gozookeeper"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/session"
	"golang.org/x/sync/errgroup"
)

// The libraries, by name.
const (
	Ours        = "ours"
	GoZooKeeper = "go-zookeeper"
)

// Libraries are their names.
func Libraries() []string { return []string{Ours, GoZooKeeper} }

// Setting is a measurement.
type Setting struct {
	Servers  string // a connect string without a chroot
	Sessions int
	Library  string // one of Libraries
	Timeout  time.Duration
	Time     time.Duration // how long to measure, once all are connected
}

// Figures are the results of a measurement.
type Figures struct {
	Sessions int    `json:"sessions"`
	Library  string `json:"library"`
	// Memory is the memory in use by a session, in bytes: heap and stacks.
	Memory     float64 `json:"bytes_per_session"`
	Goroutines float64 `json:"goroutines_per_session"`
	// WakeUps is how often threads of the process have waited and gone on, and Processor
	// the share of one processor that the process has used; 0 where the system does not
	// tell.
	WakeUps   float64 `json:"wake_ups_per_second"`
	Processor float64 `json:"processors"`
	// Joining is how long it took until all were connected, in seconds.
	Joining float64 `json:"joining_s"`
}

// Measure runs a measurement. Its sessions are closed when it returns.
func Measure(ctx context.Context, s Setting) (f Figures, err error) {
	f = Figures{Sessions: s.Sessions, Library: s.Library}
	connect := map[string]func(context.Context, Setting) (io.Closer, error){Ours: connectOurs, GoZooKeeper: connectBare}[s.Library]
	if connect == nil {
		return f, fmt.Errorf("no library is called %q", s.Library)
	}
	memory, goroutines, began := inUse(), runtime.NumGoroutine(), time.Now()
	sessions, err := connect(ctx, s)
	defer func() { err = errors.Join(err, sessions.Close()) }()
	if err != nil {
		return f, fmt.Errorf("%d sessions: %w", s.Sessions, err)
	}
	f.Joining = time.Since(began).Seconds()
	if err := task.Pause(ctx, s.Timeout); err != nil { // until the rush is over
		return f, err
	}
	each := 1 / float64(s.Sessions)
	f.Memory = each * float64(inUse()-memory)
	f.Goroutines = each * float64(runtime.NumGoroutine()-goroutines)
	wakeUps, processor, began := task.WakeUps(), task.ProcessorTime(), time.Now()
	if err := task.Pause(ctx, s.Time); err != nil {
		return f, err
	}
	seconds := time.Since(began).Seconds()
	f.WakeUps = float64(task.WakeUps()-wakeUps) / seconds
	f.Processor = (task.ProcessorTime() - processor).Seconds() / seconds
	runtime.KeepAlive(sessions)
	return f, nil
}

// inUse is the memory of the heap and of stacks that is in use, after a collection.
func inUse() int64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// closer closes sessions.
type closer func() error

func (c closer) Close() error { return c() }

func connectOurs(ctx context.Context, s Setting) (io.Closer, error) {
	all, err := clients.Connect(ctx, s.Sessions, s.Servers, &session.Options{Timeout: s.Timeout}, nil)
	return closer(func() error { return clients.Close(ctx, all) }), err
}

func connectBare(ctx context.Context, s Setting) (io.Closer, error) {
	var mu sync.Mutex // guards all
	var all []*zk.Conn
	connecting, within := errgroup.WithContext(ctx)
	connecting.SetLimit(clients.AtOnce)
	for range s.Sessions {
		// Waited for below; ends with within.
		connecting.Go(func() error {
			conn, err := gozookeeper.Peer{Servers: s.Servers, Timeout: s.Timeout}.Connect(within)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, conn)
			}
			return err
		})
	}
	err := connecting.Wait()
	return closer(func() error {
		var closing errgroup.Group
		closing.SetLimit(clients.AtOnce)
		for conn := range slices.Values(all) {
			// Waited for below; ends with the reply, or a second later.
			closing.Go(func() error { conn.Close(); return nil })
		}
		return closing.Wait()
	}), err
}
