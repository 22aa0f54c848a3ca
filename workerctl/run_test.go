package workerctl_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Run returns nil when its context has ended and everything was given back, and otherwise
// an error that wraps the cause.
func TestRunReturnsNilWhenItsContextHasEndedAndNothingIsHeld(t *testing.T) {
	errStop := errors.New("stop")
	for name, makeRun := range map[string]func(w *World, c *session.Client) func(ctx context.Context) error{
		"Roster": func(w *World, c *session.Client) func(ctx context.Context) error { return w.attach(c).Roster().Run },
		"Janitor": func(_ *World, c *session.Client) func(ctx context.Context) error {
			return workerctl.NewJanitor(c, nil).Run
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.submit(w.Client(), 2)
				c := w.Client()
				run := makeRun(w, c)
				over, cancel := context.WithCancelCause(w.Ctx)
				cancel(errStop)
				err := run(over)
				require.ErrorIs(w, err, context.Canceled)
				require.ErrorIs(w, err, errStop)

				ctx, stop := context.WithCancelCause(w.Ctx)
				ended := w.beside(func(context.Context) (int64, error) { return 0, run(ctx) })
				w.Pass(time.Minute)
				w.pending(ended)
				stop(errStop)
				require.NoError(w, (<-ended).err)
				require.Empty(w, w.Children(root+"/.janitor"), "confirmed")

				// Without a connection, a janitor has nothing to confirm.
				ctx, stop = context.WithCancelCause(w.Ctx)
				ended = w.beside(func(context.Context) (int64, error) { return 0, run(ctx) })
				w.Pass(time.Second)
				w.Server.BlackHole(zktest.Link{}, zktest.Both)
				stop(errStop)
				err = (<-ended).err
				if name == "Janitor" {
					require.ErrorIs(w, err, session.ErrLost)
				} else {
					require.NoError(w, err)
				}
				w.Server.Heal()

				require.NoError(w, c.Close(w.Ctx))
				require.ErrorIs(w, run(w.Ctx), session.ErrClosed)
			})
		})
	}
}

// If one of the two views of a roster cannot continue, Run returns the view's
// error.
func TestRosterThatCannotGoOnSaysWhy(t *testing.T) {
	for _, folder := range []string{"/members", "/live"} {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			j := w.submit(c, 2)
			dir := path + "/" + w.Children(path)[0] + folder
			owner := w.Session(w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("a", "b")}}))
			_, err := owner.SetACL(w.Ctx, dir, session.CreatorACL(), -1)
			require.NoError(w, err)
			err = j.Roster().Run(w.Within(time.Minute))
			require.ErrorIs(w, err, session.ErrNoAuth)
			require.NotErrorIs(w, err, context.Canceled)
		})
	}
}
