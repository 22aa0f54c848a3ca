package rebalanser_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A leader that has lost its followers answers every sync, without knowing the
// newest commits of the majority: no caller may be told an old state of a
// group.
func TestALeaderWithoutFollowersCannotReportAGroup(t *testing.T) {
	errOld := errors.New("it is told what is not so any more")
	on := func(c *session.Client, at string, mode rebalanser.Mode) *rebalanser.Admin {
		return rebalanser.Open(c, at, &rebalanser.Options{Mode: mode})
	}
	// The group path has changed; the group "/new" was made; the group "/other"
	// was replaced by a group of another mode.
	for name, call := range map[string]func(ctx context.Context, c *session.Client) error{
		"Status": func(ctx context.Context, c *session.Client) error {
			st, err := on(c, path, 0).Status(ctx)
			if err == nil && (st.Resources != 2 || !st.Paused) {
				return errOld
			}
			return err
		},
		"Status of a new group":    func(ctx context.Context, c *session.Client) error { return second(on(c, "/new", 0).Status(ctx)) },
		"Resources of a new group": func(ctx context.Context, c *session.Client) error { return second(on(c, "/new", 0).Resources(ctx)) },
		"Pause of a new group":     func(ctx context.Context, c *session.Client) error { return on(c, "/new", 0).Pause(ctx) },
		"Resources": func(ctx context.Context, c *session.Client) error {
			names, err := on(c, path, 0).Resources(ctx)
			if err == nil && len(names) != 2 {
				return errOld
			}
			return err
		},
		"AddResources": func(ctx context.Context, c *session.Client) error {
			added, err := on(c, path, 0).AddResources(ctx, "gone")
			if err == nil && len(added) != 1 {
				return errOld
			}
			return err
		},
		"RemoveResources": func(ctx context.Context, c *session.Client) error {
			removed, err := on(c, path, 0).RemoveResources(ctx, "b")
			if err == nil && len(removed) != 1 {
				return errOld
			}
			return err
		},
		"Create": func(ctx context.Context, c *session.Client) error {
			return on(c, "/other", rebalanser.GlobalBarrier).Create(ctx)
		},
		"Run": func(ctx context.Context, c *session.Client) error {
			g := rebalanser.New(c, "/other", &recorder{memberID: "c", o: newOracle(), rs: map[string]*rebalanser.Resource{}}, &rebalanser.Options{Mode: rebalanser.GlobalBarrier})
			return g.Run(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, rebalanser.ResourceBarrier, &zktest.Options{Servers: 3}, func(w *World) {
				require.NoError(w, w.Server.WaitLeader(w.Ctx))
				alone := w.Server.Leader()
				mine := w.ClientAt(w.Server.ServerAddr(alone), session.Options{})
				other := w.ClientAt(w.Server.ServerAddr(1+alone%3), session.Options{})
				a := on(other, path, 0)
				require.NoError(w, a.Create(w.Ctx))
				require.NoError(w, second(a.AddResources(w.Ctx, "a", "gone")))
				require.NoError(w, on(other, "/other", rebalanser.ResourceBarrier).Create(w.Ctx))
				require.NoError(w, second(on(mine, path, 0).Status(w.Ctx)))
				w.Settle()
				w.Server.IsolateServer(alone)
				for w.Server.Leader() == alone {
					w.Pass(10 * time.Millisecond)
				}
				within := w.Within(time.Minute)
				require.NoError(w, second(a.AddResources(within, "b")))
				require.NoError(w, second(a.RemoveResources(within, "gone")))
				require.NoError(w, a.Pause(within))
				require.NoError(w, on(other, "/new", 0).Create(within))
				s := w.Session(other)
				_, err := s.Set(within, "/other", []byte(`{"format":1,"mode":"global"}`), -1)
				require.NoError(w, err)
				require.NotEqual(w, alone, w.Server.Leader())
				err = call(w.Within(time.Minute), mine)
				for _, wrong := range []error{errOld, rebalanser.ErrNoGroup, rebalanser.ErrMode} {
					require.NotErrorIs(w, err, wrong)
				}
			})
		})
	}
}
