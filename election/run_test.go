package election_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

var errWork = errors.New("work failed") // read only

// running starts e.Run beside the test.
func (w *World) running(ctx context.Context, e *election.Elector, fn func(context.Context, *election.Leadership) error) <-chan error {
	out := make(chan error, 1)
	// The bubble waits for it; it ends with ctx, or fn, at the latest.
	go func() { out <- e.Run(ctx, fn) }()
	w.Settle()
	return out
}

func TestRunReturnsWhatTheWorkReturnsAndResigns(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := elector(w.Client(), "me")
		type key struct{}
		ctx := context.WithValue(w.Ctx, key{}, "value")
		require.NoError(w, e.Run(ctx, func(ctx context.Context, l *election.Leadership) error {
			require.Equal(w, "value", ctx.Value(key{}))
			require.NoError(w, ctx.Err())
			require.NotZero(w, l.Token())
			require.Len(w, w.Children(dir), 1)
			return nil
		}))
		require.Empty(w, w.Children(dir))
		require.Equal(w, errWork, e.Run(w.Ctx, func(context.Context, *election.Leadership) error { return errWork }), "as it is")
		require.Empty(w, w.Children(dir))
	})
}

// The work may resign by itself, which is not a loss.
func TestWorkMayResign_CH35(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := elector(w.Client(), "me")
		for range 3 { // twice in a row, and the next campaign is not harmed
			n := 0
			require.Equal(w, errWork, e.Run(w.Ctx, func(ctx context.Context, l *election.Leadership) error {
				n++
				require.NoError(w, l.Resign(w.Ctx))
				require.ErrorIs(w, l.Resign(w.Ctx), election.ErrNotLeader)
				<-ctx.Done()
				require.ErrorIs(w, context.Cause(ctx), session.ErrReleased)
				return errWork
			}), "as it is")
			require.Equal(w, 1, n)
		}
		require.Empty(w, w.Children(dir))
	})
}

// CH33, CH34, P29: a loss ends the work's context; Run waits for the work, and
// campaigns again, in the next session, as often as need be.
func TestRunCampaignsAgainAfterALoss_CH33_CH34(t *testing.T) {
	for name, lose := range map[string]func(w *World, l *election.Leadership){
		"expired":     func(w *World, l *election.Leadership) { require.NoError(w, w.Server.ExpireSession(l.Session().ID())) },
		"deleted":     func(w *World, l *election.Leadership) { require.NoError(w, w.Server.Delete(l.Path())) },
		"black hole":  func(w *World, _ *election.Leadership) { w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both) },
		"server away": func(w *World, _ *election.Leadership) { require.NoError(w, w.Server.Stop(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				const losses = 5
				var runs, inside atomic.Int32
				token := int64(0)
				err := elector(w.Client(), "me").Run(w.Ctx, func(ctx context.Context, l *election.Leadership) error {
					require.EqualValues(w, 1, inside.Add(1), "two at once")
					defer inside.Add(-1)
					require.Greater(w, l.Token(), token)
					token = l.Token()
					if runs.Add(1) > losses {
						return errWork
					}
					lose(w, l)
					<-ctx.Done()
					require.ErrorIs(w, context.Cause(ctx), session.ErrLost)
					world.Pause(30 * time.Second) // slow to stop, which it alone can do
					w.Server.Heal()
					_ = w.Server.Restart(1)
					return ctx.Err()
				})
				require.ErrorIs(w, err, errWork)
				require.EqualValues(w, losses+1, runs.Load())
				w.Settle()
				require.Empty(w, w.Children(dir))
			})
		})
	}
}

// CH34: sessions are lost while Run waits for its turn.
func TestRunGoesOnOverSessionsThatAreLostWhileItWaits_CH34(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		c := w.Client()
		out := w.running(w.Ctx, elector(c, "me"), func(context.Context, *election.Leadership) error { return errWork })
		for range 5 {
			w.Expire(c)
			w.Pass(10 * time.Second)
			require.Len(w, w.Children(dir), 2)
		}
		w.resign(l)
		require.ErrorIs(w, <-out, errWork)
	})
}

// The leader's work has ended before another can lead: Run resigns after the work
// has returned, however long that takes.
func TestWorkEndsBeforeAnotherLeads(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		ctx, stop := context.WithCancel(w.Ctx)
		ended := time.Time{}
		out := w.running(ctx, elector(w.Client(), "first"), func(ctx context.Context, _ *election.Leadership) error {
			<-ctx.Done()
			world.Pause(40 * time.Second)
			ended = time.Now()
			return nil
		})
		next := w.startWin(w.Ctx, elector(w.Client(), "second").Campaign)
		stop()
		w.Pass(30 * time.Second)
		w.pending(next)
		require.NoError(w, <-out)
		g := <-next
		require.NoError(w, g.err)
		require.False(w, ended.IsZero())
		require.False(w, g.at.Before(ended))
		w.resign(g.lead)
	})
}

// P29: after a loss, work that does not heed its context is the one thing that
// cannot be helped: its guard is refused. Run does not lead twice in one process.
func TestWorkThatIgnoresItsContextIsWaitedFor_P29(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create("/plan", nil))
		c := w.Client()
		n := 0
		out := w.running(w.Ctx, elector(c, "first"), func(_ context.Context, l *election.Leadership) error {
			if n++; n > 1 {
				return nil
			}
			w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
			world.Pause(time.Minute)
			w.Server.Heal()
			s := w.Session(c)
			_, err := s.Txn(w.Ctx, l.Guard(), session.SetOp("/plan", []byte("late"), -1))
			require.ErrorIs(w, err, session.ErrNoNode)
			return nil
		})
		next := w.leads(w.startWin(w.Ctx, elector(w.Client(), "second").Campaign))
		w.Pass(5 * time.Minute)
		require.Len(w, w.Children(dir), 2, "the first waits again, in one place")
		w.resign(next)
		require.NoError(w, <-out)
		require.Equal(w, 2, n)
	})
}

// CH32: the leadership is lost between the grant and the start of the work: the
// work's context has ended when it looks.
func TestWorkThatStartsLateSeesTheLoss_CH32(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		n := 0
		require.ErrorIs(w, elector(w.Client(), "me").Run(w.Ctx, func(ctx context.Context, l *election.Leadership) error {
			if n++; n > 1 {
				return errWork
			}
			require.NoError(w, w.Server.Delete(l.Path()))
			world.Pause(time.Second) // the goroutine was not running, and could not be told
			require.Error(w, ctx.Err())
			require.Error(w, l.Context().Err())
			return ctx.Err()
		}), errWork)
		require.Equal(w, 2, n)
	})
}

// CH36: the work panics, or its goroutine is ended.
func TestRunResignsWhenTheWorkPanics_CH36(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := elector(w.Client(), "me")
		require.PanicsWithValue(w, "boom", func() {
			_ = e.Run(w.Ctx, func(context.Context, *election.Leadership) error { panic("boom") })
		})
		require.Empty(w, w.Children(dir))
		over := make(chan struct{})
		// Waited for below; ends itself.
		go func() {
			defer close(over)
			_ = e.Run(w.Ctx, func(context.Context, *election.Leadership) error { runtime.Goexit(); return nil })
		}()
		<-over
		require.Empty(w, w.Children(dir))
		w.resign(w.campaign(e))
	})
}

// The client is closed while the work runs: there is no next session to go on in.
func TestRunEndsWithItsClient(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		waited := false
		out := w.running(w.Ctx, elector(c, "me"), func(ctx context.Context, _ *election.Leadership) error {
			<-ctx.Done()
			world.Pause(time.Minute)
			waited = true
			return nil
		})
		require.NoError(w, c.Close(w.Ctx))
		require.ErrorIs(w, <-out, session.ErrClosed)
		require.True(w, waited)
		require.Empty(w, w.Children(dir))
	})
}

// A resignation that fails is reported beside the work's error.
func TestRunReportsAResignationThatFails(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		owner := w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("me", "secret")}})
		s := w.Session(owner)
		require.NoError(w, s.EnsurePath(w.Ctx, dir, session.Persistent, nil))
		err := elector(owner, "me").Run(w.Ctx, func(ctx context.Context, _ *election.Leadership) error {
			// An administrator removes the right to delete children.
			_, err := s.SetACL(ctx, dir, []session.ACL{{Perms: 1 | 4 | 16, Scheme: "world", ID: "anyone"}}, -1)
			require.NoError(w, err)
			return errWork
		})
		require.ErrorIs(w, err, errWork)
		require.ErrorIs(w, err, session.ErrNoAuth)
	})
}
