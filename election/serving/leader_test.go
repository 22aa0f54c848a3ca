package serving_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

var errWork = errors.New("work failed") // read only

func TestRequestsAreAdmittedOnlyByTheLeader(t *testing.T) {
	inWorld(t, func(w *World) {
		idle := serving.New(election.New(w.Client(), dir, nil), nil)
		_, _, err := idle.Admit(w.Ctx)
		require.ErrorIs(w, err, serving.ErrNotLeading, "it does not run")
		a, b := w.start("a", serving.Options{}), w.start("b", serving.Options{})
		ctx, done := w.admit(a)
		lead, ok := serving.FromContext(ctx)
		require.True(w, ok)
		require.Equal(w, "a", lead.ID())
		require.Equal(w, lead, a.Held())
		w.refused(b)
		done()
		done() // once or more often
		require.ErrorIs(w, ctx.Err(), context.Canceled)
		w.end(a)
		w.refused(a)
		w.awaitAdmission(b)
		w.end(b)
		require.Empty(w, w.Children(dir))
	})
}

func TestRequestKeepsItsOwnContext(t *testing.T) {
	inWorld(t, func(w *World) {
		a := w.start("a", serving.Options{})
		type key struct{}
		own, cancel := context.WithCancelCause(context.WithValue(w.Ctx, key{}, "value"))
		ctx, done, err := a.Admit(own)
		require.NoError(w, err)
		require.Equal(w, "value", ctx.Value(key{}))
		require.NoError(w, ctx.Err())
		cancel(errWork)
		<-ctx.Done()
		require.Equal(w, errWork, context.Cause(ctx))
		done()
		_, _, err = a.Admit(own)
		require.ErrorIs(w, err, errWork, "it has ended before")
		require.NotErrorIs(w, err, serving.ErrNotLeading)
		_, ok := serving.FromContext(own)
		require.False(w, ok)
		w.end(a)
	})
}

// The next instance admits requests only after the last one of the former, and Stop.
func TestNextLeaderServesAfterTheFormerHasDrained(t *testing.T) {
	inWorld(t, func(w *World) {
		const takes, stops = 7 * time.Second, 2 * time.Second
		var stopped time.Time
		a := w.start("a", serving.Options{Stop: func(ctx context.Context, lead *election.Leadership) error {
			require.NoError(w, ctx.Err())
			require.NoError(w, lead.Context().Err(), "it still leads")
			world.Pause(stops)
			stopped = time.Now()
			return nil
		}})
		b := w.start("b", serving.Options{})
		ctx, done := w.admit(a)
		began := time.Now()
		a.stop()
		w.Settle()
		w.refused(a)
		require.NoError(w, ctx.Err(), "it may finish")
		time.AfterFunc(takes-time.Since(began), done)
		w.Pass(takes - time.Second)
		w.refused(b)
		w.awaitAdmission(b)
		require.Equal(w, takes+stops, stopped.Sub(began))
		require.False(w, stopped.After(time.Now()))
		require.NoError(w, <-a.out)
		w.end(b)
	})
}

func TestRequestThatTakesTooLongIsToldToEndAndIsAwaited(t *testing.T) {
	for name, limit := range map[string]time.Duration{"default": 0, "3 s": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *World) {
				a, b := w.start("a", serving.Options{DrainTimeout: limit}), w.start("b", serving.Options{})
				if limit == 0 {
					limit = serving.DefaultDrainTimeout
				}
				ctx, done := w.admit(a)
				_, other := w.admit(a)
				began := time.Now()
				a.stop()
				w.Settle()
				other() // in time
				<-ctx.Done()
				require.Equal(w, limit, time.Since(began))
				require.ErrorIs(w, context.Cause(ctx), serving.ErrDrainTimeout)
				w.Pass(5 * time.Minute) // it ignores its context
				require.Empty(w, a.out)
				w.refused(b)
				done()
				err := <-a.out
				require.ErrorIs(w, err, serving.ErrDrainTimeout)
				require.ErrorContains(w, err, "1 requests took longer than")
				w.awaitAdmission(b)
				w.end(b)
			})
		})
	}
}

func TestNegativeDrainTimeoutIsNoLimit(t *testing.T) {
	inWorld(t, func(w *World) {
		a := w.start("a", serving.Options{DrainTimeout: -1})
		ctx, done := w.admit(a)
		a.stop()
		w.Pass(5 * time.Minute)
		require.NoError(w, ctx.Err())
		done()
		require.NoError(w, <-a.out)
	})
}

// A loss ends the requests at once, before another instance serves; the former leader
// campaigns again when they have returned.
func TestLossEndsTheRequestsBeforeAnotherServes(t *testing.T) {
	for name, lose := range map[string]func(w *World, a *instance){
		"expired":    func(w *World, a *instance) { w.Expire(a.client) },
		"deleted":    func(w *World, a *instance) { require.NoError(w, w.Server.Delete(lead(a).Path())) },
		"black hole": func(w *World, _ *instance) { w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *World) {
				var starts int
				a := w.start("a", serving.Options{Start: func(context.Context, *election.Leadership) error { starts++; return nil }})
				b := w.start("b", serving.Options{})
				ctx, done := w.admit(a)
				var ended time.Time
				stop := context.AfterFunc(ctx, func() { ended = time.Now() })
				defer stop()
				lose(w, a)
				w.awaitAdmission(b)
				serves := time.Now()
				w.Settle()
				require.ErrorIs(w, context.Cause(ctx), session.ErrLost)
				if name == "black hole" { // the others tell the server first
					require.True(w, ended.Before(serves), "%v, %v", ended, serves)
				}
				w.refused(a)
				w.Server.Heal()
				w.Pass(5 * time.Minute)
				require.Len(w, w.Children(dir), 1, "it waits for its request before it campaigns again")
				done()
				w.Settle()
				require.Equal(w, 1, starts)
				w.end(b)
				w.awaitAdmission(a)
				require.Equal(w, 2, starts)
				w.end(a)
			})
		})
	}
}

func lead(i *instance) *election.Leadership { return i.Held().(*election.Leadership) }

// A loss while requests are awaited after the end of Run's context.
func TestLossDuringTheDrainEndsTheRequests(t *testing.T) {
	inWorld(t, func(w *World) {
		a := w.start("a", serving.Options{DrainTimeout: time.Hour})
		ctx, done := w.admit(a)
		a.stop()
		w.Pass(time.Second)
		require.NoError(w, w.Server.Stop(1))
		<-ctx.Done()
		require.ErrorIs(w, context.Cause(ctx), session.ErrTrustRanOut)
		done()
		require.ErrorIs(w, <-a.out, session.ErrLost)
		require.NoError(w, w.Server.Restart(1))
	})
}

func TestStartAndStopFrameTheRequests(t *testing.T) {
	inWorld(t, func(w *World) {
		var steps []string
		var a *instance
		note := func(step string) func(context.Context, *election.Leadership) error {
			return func(ctx context.Context, lead *election.Leadership) error {
				of, ok := serving.FromContext(ctx)
				require.True(w, ok)
				require.Equal(w, lead, of)
				steps = append(steps, step)
				return nil
			}
		}
		o := serving.Options{Start: note("start"), Stop: note("stop")}
		a = w.start("a", o)
		_, done := w.admit(a)
		steps = append(steps, "request")
		done()
		w.end(a)
		require.Equal(w, []string{"start", "request", "stop"}, steps)

		fails := serving.New(election.New(w.Client(), dir, nil), &serving.Options{
			Start: func(context.Context, *election.Leadership) error { return errWork },
			Stop:  func(context.Context, *election.Leadership) error { w.Error("nothing was started"); return nil },
		})
		require.Equal(w, errWork, fails.Run(w.Ctx))
		o = serving.Options{Stop: func(context.Context, *election.Leadership) error { return errWork }}
		a = w.start("a", o)
		a.stop()
		require.ErrorIs(w, <-a.out, errWork)
		require.Empty(w, w.Children(dir))
	})
}

func TestIssuerGivesEachLeadershipAFencingToken(t *testing.T) {
	inWorld(t, func(w *World) {
		started := fence.Token{}
		c := w.Client()
		o := serving.Options{
			Issuer: fence.NewIssuer(c, "/fence/epoch", nil),
			Start: func(ctx context.Context, _ *election.Leadership) error {
				started, _ = fence.FromContext(ctx)
				return nil
			},
		}
		a := w.start("a", o)
		ctx, done := w.admit(a)
		token, ok := fence.FromContext(ctx)
		require.True(w, ok)
		require.Equal(w, lead(a).Token(), token.Number)
		require.Equal(w, token, started)
		done()
		w.end(a)

		require.NoError(w, w.Server.Delete("/fence/epoch"))
		require.NoError(w, w.Server.Create("/fence/epoch", []byte("garbage")))
		require.ErrorIs(w, serving.New(election.New(c, dir, nil), &o).Run(w.Ctx), fence.ErrCorruptEpoch)
		require.Empty(w, w.Children(dir))
	})
}

func TestOneRunAtATime(t *testing.T) {
	inWorld(t, func(w *World) {
		a := w.start("a", serving.Options{})
		err := a.Run(w.Ctx)
		require.ErrorIs(w, err, serving.ErrInvalidArgument)
		require.ErrorContains(w, err, "another Run of this leader is in progress")
		w.end(a)
		ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		require.NoError(w, a.Run(ctx), "one after another")
		require.ErrorIs(w, a.Run(ctx), context.DeadlineExceeded, "ended before the call")
	})
}

func TestObserveFollowsWhetherRequestsAreAdmitted(t *testing.T) {
	inWorld(t, func(w *World) {
		a := w.start("a", serving.Options{})
		ctx, cancel := context.WithCancel(w.Ctx)
		seen := make(chan []bool, 1)
		// Waited for below; ends with ctx.
		go func() {
			var all []bool
			for admits := range a.Observe(ctx) {
				all = append(all, admits)
			}
			seen <- all
		}()
		w.Settle()
		w.Expire(a.client)
		w.Pass(time.Second)
		w.end(a)
		w.Settle()
		cancel()
		require.Equal(w, []bool{true, false, true, false}, <-seen)
		for range a.Observe(w.Ctx) {
			break // by the loop
		}
	})
}

// After a pause of the process, no request is admitted before a goroutine has noticed the loss.
func TestNoRequestIsAdmittedAfterAPauseOfTheProcess(t *testing.T) {
	inWorld(t, func(w *World) {
		a := w.start("a", serving.Options{})
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		lost := lead(a).Context()
		_, done := w.admit(a)
		defer done()
		for lost.Err() == nil { // at the very moment at which the clock says so
			world.Pause(time.Millisecond)
		}
		require.Nil(w, a.Held())
		_, _, err := a.Admit(w.Ctx)
		require.ErrorIs(w, err, serving.ErrNotLeading)
		a.stop()
		done()
		require.Error(w, <-a.out)
		w.Server.Heal()
	})
}

func TestAddressIsThatOfAnotherLeader(t *testing.T) {
	inWorld(t, func(w *World) {
		o := serving.Options{Address: func(c election.Candidate) string { return "http://" + c.ID }}
		a, b := w.start("a", o), w.start("b", o)
		require.Empty(w, a.Address(), "it is the leader")
		require.Equal(w, "http://a", b.Address())
		_, done := w.admit(a)
		a.stop()
		w.Settle()
		require.Empty(w, a.Address(), "it is about to end")
		require.Equal(w, "http://a", b.Address())
		done()
		require.NoError(w, <-a.out)
		w.Settle()
		require.Empty(w, b.Address())
		w.end(b)
		require.Empty(w, b.Address())
	})
}
