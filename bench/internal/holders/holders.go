// Package holders measures the price of trust: sessions that each hold a lock, and a
// client beside them that writes.
package holders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/bench/internal/clients"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"golang.org/x/sync/errgroup"
)

// Rules are the ways in which holders prove their sessions, by name: heartbeats of
// their own, heartbeats that the sessions of a server share, and none. Reads is none with
// as many reads as shared heartbeats cost: what of their price the reads are.
func Rules() []string { return []string{"own", "shared", "none", "reads"} }

// Setting is a measurement.
type Setting struct {
	Servers string // a connect string
	Root    string // the parent of all paths; it exists
	Holders int
	Rule    string        // one of Rules
	Every   time.Duration // between two reads of a session, by the rule reads
	Timeout time.Duration
	Tick    time.Duration
	Time    time.Duration // how long to measure, once all hold
}

// Figures are the results of a measurement.
type Figures struct {
	Holders int    `json:"holders"`
	Rule    string `json:"rule"`
	// Lost is how many holders lost their locks.
	Lost int64 `json:"lost"`
	// Heartbeats are the writes for trust, Reads those of shared heartbeats, per second.
	Heartbeats float64 `json:"heartbeats_per_second"`
	Reads      float64 `json:"reads_per_second"`
	// P50 and P99 are the times of the writes of another client, Writes how many it made.
	P50    float64 `json:"writer_p50_ms"`
	P99    float64 `json:"writer_p99_ms"`
	Writes int     `json:"writes"`
	// Joining is how long it took until all held, in seconds.
	Joining float64 `json:"joining_s"`
}

// counts is an observer that counts heartbeats and reads.
type counts struct{ heartbeats, reads *atomic.Int64 }

func (c counts) Observe(_ context.Context, e observe.Event) {
	if _, ok := e.(observe.HeartbeatEnded); ok {
		c.heartbeats.Add(1)
	}
}

func (c counts) ObserveRequest(_ context.Context, r observe.Request) {
	if r.Op == "get" {
		c.reads.Add(1)
	}
}

// Measure runs a measurement. Its clients are closed when it returns.
func Measure(ctx context.Context, s Setting) (f Figures, err error) {
	f = Figures{Holders: s.Holders, Rule: s.Rule}
	var heartbeats, reads, lost atomic.Int64
	opts := &session.Options{Timeout: s.Timeout, TickTime: s.Tick, Observer: counts{&heartbeats, &reads}}
	switch s.Rule {
	case "own":
	case "shared":
		opts.SharedHeartbeats = s.Root + "/heartbeats"
	case "none", "reads":
		opts.Trust = session.TrustAnswered
	default:
		return f, fmt.Errorf("no rule is called %q", s.Rule)
	}
	began := time.Now()
	all, err := clients.Connect(ctx, s.Holders, s.Servers, opts, func(ctx context.Context, i int, c *session.Client) error {
		held, err := lock.New(c, fmt.Sprintf("%s/lock-%d", s.Root, i), nil).Lock(ctx)
		if err == nil {
			context.AfterFunc(held.Context(), func() { lost.Add(1) })
		}
		return err
	})
	defer func() { err = errors.Join(err, clients.Close(ctx, all)) }()
	if err != nil {
		return f, fmt.Errorf("%d holders: %w", s.Holders, err)
	}
	f.Joining = time.Since(began).Seconds()
	if s.Rule == "reads" {
		var reading errgroup.Group
		reads, stop := context.WithCancel(ctx)
		defer func() {
			stop()
			if failed := reading.Wait(); !errors.Is(failed, context.Canceled) {
				err = errors.Join(err, failed)
			}
		}()
		for i, c := range all {
			// Waited for above; ends with stop.
			reading.Go(func() error { return read(reads, c, s, s.Every*time.Duration(i)/time.Duration(s.Holders)) })
		}
	}
	if err := task.Pause(ctx, 2*s.Timeout); err != nil { // until the rush is over
		return f, err
	}
	before, readsBefore := heartbeats.Load(), reads.Load()
	began = time.Now()
	took, err := write(ctx, s)
	if err != nil {
		return f, err
	}
	seconds := time.Since(began).Seconds()
	f.Heartbeats = float64(heartbeats.Load()-before) / seconds
	f.Reads = float64(reads.Load()-readsBefore) / seconds
	f.Lost = lost.Load()
	slices.Sort(took)
	f.Writes = len(took)
	f.P50, f.P99 = milliseconds(took[len(took)/2]), milliseconds(took[len(took)*99/100])
	return f, nil
}

// read reads a znode again and again, for the first time after some time, until ctx ends.
func read(ctx context.Context, c *session.Client, s Setting, after time.Duration) error {
	current, err := c.Session(ctx)
	for err == nil {
		if err = task.Pause(ctx, after); err == nil {
			_, _, err = current.Get(ctx, s.Root)
		}
		after = s.Every
	}
	return err
}

// write sets a znode again and again, with short pauses, and returns how long each
// write took.
func write(ctx context.Context, s Setting) (took []time.Duration, err error) {
	c, err := session.Connect(ctx, s.Servers, &session.Options{Timeout: s.Timeout})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	current, err := c.Session(ctx)
	if err != nil {
		return nil, err
	}
	path := s.Root + "/written"
	if err := current.EnsurePath(ctx, path, session.Persistent, nil); err != nil {
		return nil, err
	}
	for end := time.Now().Add(s.Time); time.Now().Before(end) || len(took) == 0; {
		sent := time.Now()
		if _, err := current.Set(ctx, path, []byte("x"), -1); err != nil {
			return nil, err
		}
		took = append(took, time.Since(sent))
		if err := task.Pause(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return took, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
