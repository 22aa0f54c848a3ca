package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// idle does nothing until it is to stop.
func idle(ctx context.Context, _ *Process) error {
	<-ctx.Done()
	return nil
}

// play makes one run on a single server.
func play(t *testing.T, schedule string, body func(w *World)) result {
	t.Helper()
	o := Options{Server: &zktest.Options{}, Calm: 20 * time.Second}
	s := MustParse(schedule)
	return o.perform(t, body, 1, &s)
}

// kinds are the events of a process, without those of its session.
func kinds(r result, process string) (out []EventKind) {
	for _, e := range r.history.Events {
		if e.Process == process && e.Kind != Applied && e.Kind != Told {
			out = append(out, e.Kind)
		}
	}
	return out
}

// connected runs what a process with a client does.
func connected(f func(ctx context.Context, p *Process, c *session.Client) error) func(ctx context.Context, p *Process) error {
	return func(ctx context.Context, p *Process) error {
		c, err := p.Client(ctx)
		if err != nil {
			return err
		}
		return f(ctx, p, c)
	}
}

func TestASeedDecidesTheRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // see the package comment
	body := func(w *World) {
		w.Start(Program{Name: "a", Copies: 3, Run: connected(func(ctx context.Context, p *Process, c *session.Client) error {
			for p.Pause(ctx, time.Duration(p.Rand().IntN(1000))*time.Millisecond) == nil {
				err := c.Retry(ctx, func(s *session.Session) error {
					_, err := s.Create(ctx, "/n-", nil, session.EphemeralSequential, nil)
					return err
				})
				p.Note("%v", err)
			}
			return nil
		})})
	}
	var o Options
	seen := map[string]bool{}
	for seed := range uint64(3) {
		first := o.perform(t, body, seed, nil)
		require.NotEmpty(t, first.schedule)
		require.Equal(t, first.history.String(), o.perform(t, body, seed, nil).history.String(), "seed %d", seed)
		seen[first.history.String()] = true
	}
	require.Len(t, seen, 3)
}

func TestAKilledProcessDoesNothingMore(t *testing.T) {
	lives := 0
	r := play(t, "2s +15s kill process=a-1", func(w *World) {
		w.Start(Program{Name: "a", Run: connected(func(ctx context.Context, p *Process, c *session.Client) error {
			defer p.Enter("x", int64(lives))()
			if lives++; lives > 1 {
				return idle(ctx, p)
			}
			s, err := c.Session(ctx)
			p.Fail(err)
			_, err = s.Create(ctx, "/mine", nil, session.Ephemeral, nil)
			p.Fail(err)
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), ErrKilled) {
				w.Fail(context.Cause(ctx))
			}
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			if _, _, err := s.Get(late, "/"); err == nil {
				w.Fail(errors.New("a dead process reads"))
			}
			if _, err := session.Connect(late, p.Addrs(), p.Options()); err == nil {
				w.Fail(errors.New("a dead process connects"))
			}
			p.Note("late")
			p.Fail(io.EOF)
			if err := p.Do("effect", "", 0, func() error { w.Fail(io.EOF); return nil }); !errors.Is(err, ErrKilled) {
				w.Fail(fmt.Errorf("Do says %w", err))
			}
			return io.EOF
		})})
		w.Require(Invariant{"seen", func(h *History) error {
			spans := h.Spans("x")
			if len(spans) != 2 || spans[0].To != 2*time.Second || spans[1].From < 17*time.Second {
				return fmt.Errorf("%v", spans)
			}
			return nil
		}})
	})
	require.Nil(t, r.problem, "%v", r.problem)
	require.Equal(t, []EventKind{Started, Entered, Killed, Started, Entered, Left, Ended}, kinds(r, "a-1"))
	require.True(t, slices.ContainsFunc(r.history.Events, func(e Event) bool {
		return e.Text == "closeSession" && e.At > 8*time.Second && e.At < 17*time.Second
	}), "the servers learn of the death by the timeout of the session:\n%v", r.history)
}

func TestAFrozenProcessStandsStillAheadOfItsEffect(t *testing.T) {
	for schedule, begins := range map[string]time.Duration{
		"3.5s +20s freeze process=a-1":       3500 * time.Millisecond,
		"3.5s +20s freeze process=a-1 nth=2": 5 * time.Second,
	} {
		var late time.Duration
		r := play(t, schedule, func(w *World) {
			began := time.Now()
			w.Start(Program{Name: "a", Run: connected(func(ctx context.Context, p *Process, c *session.Client) error {
				s, err := c.Session(ctx)
				p.Fail(err)
				for second := time.Duration(1); second <= 8; second++ {
					_ = sleep(ctx, second*time.Second-time.Since(began))
					p.Fail(p.Do("effect", "", 0, func() error { late = max(late, time.Since(began)-second*time.Second); return nil }))
				}
				<-s.Context().Done() // the client knows by its clock
				p.Note("lost")
				return nil
			})})
		})
		require.Nil(t, r.problem, "%v", r.problem)
		at := map[EventKind]time.Duration{}
		for _, e := range r.history.Events {
			at[e.Kind] = e.At
		}
		require.InDelta(t, begins, at[Frozen], float64(time.Millisecond), schedule)
		require.Equal(t, 23500*time.Millisecond, at[Thawed], schedule)
		require.Greater(t, late, 15*time.Second, schedule)
		require.GreaterOrEqual(t, at[Noted], at[Thawed], schedule)
	}
	r := play(t, "1s +2s freeze process=a-1 nth=1", func(w *World) { w.Start(Program{Name: "a", Run: idle}) })
	require.Equal(t, []EventKind{Started, Ended}, kinds(r, "a-1"), "an effect that does not come")
}

func TestTheHistoryTellsWhatAProcessCannotKnow(t *testing.T) {
	for _, fault := range []string{"12s expire process=a-1", "12s empty"} {
		r := play(t, fault, func(w *World) {
			w.Start(Program{Name: "a", Run: connected(func(ctx context.Context, p *Process, c *session.Client) error {
				defer p.Enter("x", 1)()
				return idle(ctx, p)
			})})
		})
		require.Nil(t, r.problem)
		require.Equal(t, []EventKind{Started, Entered, Expired, Left, Ended}, kinds(r, "a-1"), fault)
		spans := r.history.Spans("x")
		require.Equal(t, 12*time.Second, spans[0].To)
		if fault == "12s empty" {
			continue // a client that holds nothing may look for longer than the run
		}
		require.Len(t, spans, 2, "%v", spans)
		require.Greater(t, spans[1].From, spans[0].To, "when the client has learned of it")
		require.Less(t, spans[1].From, 30*time.Second)
	}
}

func TestAProgramThatFailsIsStartedAgain(t *testing.T) {
	n := 0
	r := play(t, "1ms cut process=a-1", func(w *World) {
		w.Start(Program{Name: "a", Run: func(context.Context, *Process) error {
			if n++; n < 3 {
				return io.EOF
			}
			return nil
		}})
	})
	require.Nil(t, r.problem)
	require.Equal(t, []EventKind{Started, Ended, Started, Ended, Started, Ended}, kinds(r, "a-1"))
	require.Contains(t, r.history.String(), "a-1 ends: EOF")
}

// missing is an error whose text is a field: a nil pointer has none.
type missing struct{ text string }

func (m *missing) Error() string { return m.text }

func TestFailuresOfARun(t *testing.T) {
	for name, c := range map[string]struct {
		body func(w *World)
		want string
	}{
		"a panic": {func(w *World) {
			w.Start(Program{Name: "a", Run: func(context.Context, *Process) error { panic("oops") }})
		}, "a-1: panic: oops"},
		"an error that panics": {func(w *World) {
			w.Start(Program{Name: "a", Run: func(context.Context, *Process) error { return (*missing)(nil) }})
		}, "a-1: panic: runtime error: invalid memory address or nil pointer dereference"},
		"a hang": {func(w *World) {
			w.Start(Program{Name: "a", Run: func(ctx context.Context, _ *Process) error {
				sleep(context.WithoutCancel(ctx), time.Hour)
				return nil
			}})
		}, "a-1: a program hangs: it has not returned 10m0s after"},
		"Fail of a process": {func(w *World) {
			w.Start(Program{Name: "a", Run: func(_ context.Context, p *Process) error { p.Fail(io.EOF); return nil }})
		}, "a-1: EOF"},
		"Fail of a world": {func(w *World) { w.Fail(io.EOF) }, "EOF"},
		"a check at the end": {func(w *World) {
			client := w.Client()
			w.Finally("state", func(ctx context.Context) error {
				s, err := client.Session(ctx)
				if err == nil {
					_, _, err = s.Get(ctx, "/missing")
				}
				return err
			})
		}, session.ErrNoNode.Error()},
		"an invariant": {func(w *World) {
			w.Require(Invariant{"ok", func(*History) error { return nil }}, Invariant{"own", func(*History) error { return io.EOF }})
		}, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			r := play(t, "", c.body)
			require.NotNil(t, r.problem)
			require.ErrorContains(t, r.problem.err, c.want)
		})
	}
	r := play(t, "1s kill process=b-1", func(w *World) { w.Start(Program{Name: "a", Run: idle}) })
	require.ErrorContains(t, r.problem.err, "the process does not exist")
	r = play(t, "1s stop-server server=2", func(*World) {})
	require.ErrorContains(t, r.problem.err, "there are not enough servers")
}

// Several processes count, under faults, and each result is explained.
func TestACounterIsLinearizable(t *testing.T) {
	Run(t, &Options{Seeds: 3, Server: &zktest.Options{}}, func(w *World) {
		w.Start(Program{Name: "a", Copies: 2, Run: connected(func(ctx context.Context, p *Process, c *session.Client) error {
			hits := counter.New(c, "/hits", nil)
			for p.Pause(ctx, time.Second) == nil {
				_, _ = p.Call("hits", Add(1), func() (int64, error) { return hits.Add(ctx, 1) })
				_, _ = p.Call("hits", Read(), func() (int64, error) { return hits.Get(ctx) })
			}
			return nil
		})})
		w.Require(Linearizable("hits"))
	})
}

func TestTheReportTellsHowToRepeatTheRun(t *testing.T) {
	f := Explore(t, &Options{Schedule: MustParse("1s cut process=a-1"), Shrink: -1, Seeds: 1, Server: &zktest.Options{}}, func(w *World) {
		w.Start(Program{Name: "a", Copies: 2, Run: func(ctx context.Context, p *Process) error {
			defer p.Enter("x", 0)()
			for row := range 9 {
				_ = p.Pause(ctx, time.Second)
				_ = p.Do("row", fmt.Sprint(row), 0, nil)
			}
			return nil
		}})
		w.Require(OneAtATime("x"))
	})
	require.ErrorIs(t, f, f.Err)
	require.Equal(t, 1, f.Tried)
	for _, want := range []string{
		"seed 0: one at a time: x: inside x at once: a-1 (token 0) a-2 (token 0)",
		"    1s cut process=a-1\n",
		"    a-1    |", "    a-2    |", "    faults |",
		"a-1 enters x\n",
		"GOMAXPROCS=1 ZKTEST_SEED=0 go test -count=1 -run '^TestTheReportTellsHowToRepeatTheRun$' .",
		"sim.Options{Schedule: sim.MustParse(`",
	} {
		require.Contains(t, f.Report(), want)
	}
	one := &History{Events: slices.DeleteFunc(f.History.Events, func(e Event) bool { return e.Process == "a-2" })}
	require.Contains(t, one.timeLine(time.Hour), "7 times more")
	require.Equal(t, "^TestA$/^b$", testPattern("TestA/b"))
}
