package election_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Run returns nil when its context has ended and the resignation is confirmed, unless
// the work's error says more than that.
func TestRunEndsWithItsContext(t *testing.T) {
	stopped := errors.New("shutting down")
	for name, c := range map[string]struct {
		result error
		more   bool
	}{
		"nothing":                      {nil, false},
		"the context's error":          {context.Canceled, false},
		"its cause":                    {stopped, false},
		"what wraps the context's":     {fmt.Errorf("query: %w", context.Canceled), false},
		"another":                      {errWork, true},
		"another beside the context's": {errors.Join(context.Canceled, errWork), true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				ctx, stop := context.WithCancelCause(w.Ctx)
				waited := false
				out := w.running(ctx, elector(w.Client(), "me"), func(ctx context.Context, _ *election.Leadership) error {
					<-ctx.Done()
					require.ErrorIs(w, context.Cause(ctx), stopped)
					world.Pause(time.Second)
					waited = true
					return c.result
				})
				began := time.Now()
				stop(stopped)
				err := <-out
				require.True(w, waited)
				require.Less(w, time.Since(began), 2*time.Second)
				if c.more {
					require.Equal(w, c.result, err, "as it is")
				} else {
					require.NoError(w, err)
				}
				require.Empty(w, w.Children(dir), "it waits for the server's confirmation")
			})
		})
	}
}

// A lost leadership was not given back: Run reports the loss, whether it came before
// Run's context ended or after, and does not campaign again.
func TestRunThatIsStoppedSaysThatTheLeadershipWasLost(t *testing.T) {
	for _, before := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			ctx, stop := context.WithCancel(w.Ctx)
			n := 0
			out := w.running(ctx, elector(w.Client(), "me"), func(ctx context.Context, l *election.Leadership) error {
				n++
				if !before {
					<-ctx.Done()
				}
				require.NoError(w, w.Server.Delete(l.Path()))
				world.Pause(10 * time.Second)
				return context.Cause(ctx)
			})
			stop()
			err := <-out
			require.ErrorIs(w, err, session.ErrLost)
			require.NotContains(w, err.Error(), "\n", "said once")
			require.Equal(w, 1, n)
		})
	}
}

// The work has returned, but no server confirms the resignation: Run returns an
// error.
func TestRunSaysThatNoServerHasConfirmedTheResignation(t *testing.T) {
	for name, result := range map[string]error{"done": nil, "failed": errWork} {
		for _, away := range []string{"server", "znode"} {
			t.Run(name+", without the "+away, func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					n := 0
					err := elector(w.Client(), "me").Run(w.Ctx, func(_ context.Context, l *election.Leadership) error {
						n++
						if away == "server" {
							require.NoError(w, w.Server.Stop(1))
						} else {
							w.Server.Delay(zktest.Link{}, zktest.ToClient, time.Second) // Run ends before the event arrives
							require.NoError(w, w.Server.Delete(l.Path()))
						}
						return result
					})
					require.ErrorIs(w, err, session.ErrLost)
					require.Equal(w, result != nil, errors.Is(err, errWork))
					require.Equal(w, 1, n)
					_ = w.Server.Restart(1)
				})
			})
		}
	}
}

// The work resigns, and does not wait for the server: Run does.
func TestRunConfirmsTheResignationThatItsWorkHasNotWaitedFor(t *testing.T) {
	for _, away := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			err := elector(c, "me").Run(w.Ctx, func(_ context.Context, l *election.Leadership) error {
				w.Server.Delay(zktest.Link{}, zktest.Both, time.Second)
				if away {
					w.Server.BlackHole(zktest.Link{}, zktest.Both)
				}
				require.ErrorIs(w, l.Resign(w.Within(time.Millisecond)), context.DeadlineExceeded)
				return nil
			})
			if !away {
				require.NoError(w, err)
				require.Empty(w, w.Children(dir))
				return
			}
			require.ErrorIs(w, err, session.ErrTrustRanOut)
			require.ErrorContains(w, err, "resign "+dir)
			w.Server.Heal()
		})
	}
}

func TestRunWhoseContextHadEndedSaysSo(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		stopped := errors.New("shutting down")
		ctx, stop := context.WithCancelCause(w.Ctx)
		stop(stopped)
		err := elector(w.Client(), "me").Run(ctx, neverLeads(w))
		require.ErrorIs(w, err, context.Canceled)
		require.ErrorIs(w, err, stopped)
	})
}

// Stopped while it waits for its turn, and while the server is away: it ends at
// once, and the node goes.
func TestRunThatWaitsEndsWithItsContext(t *testing.T) {
	for _, away := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			l := w.campaign(elector(w.Client(), "leader"))
			ctx, stop := context.WithCancel(w.Ctx)
			out := w.running(ctx, elector(w.Client(), "me"), func(context.Context, *election.Leadership) error {
				w.Error("it does not lead")
				return nil
			})
			if away {
				w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
			}
			began := time.Now()
			stop()
			require.NoError(w, <-out)
			require.Zero(w, time.Since(began))
			w.Server.Heal()
			w.Pass(30 * time.Second)
			require.Len(w, w.Children(dir), 1)
			w.resign(l)
		})
	}
}

// The context ends while the server is unavailable and the work is in progress: Run
// ends when no server has answered for a session timeout, and reports the resignation
// as unconfirmed.
func TestRunEndsWithItsContextWhateverTheNetworkDoes(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := elector(w.Client(), "me")
		began := time.Now()
		err := e.Run(w.Within(3*time.Second), func(ctx context.Context, _ *election.Leadership) error {
			require.NoError(w, w.Server.Stop(1))
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(w, err, session.ErrLost)
		require.Greater(w, time.Since(began), 3*time.Second)
		require.LessOrEqual(w, time.Since(began), session.DefaultTimeout+time.Second)
		require.NoError(w, w.Server.Restart(1))
		w.resign(w.campaign(e))
		w.Settle()
		require.Empty(w, w.Children(dir))
	})
}
