package workerctl_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A leader that has lost its followers answers every sync, without knowing the
// newest commits of the majority. Its negative answers must not reach a caller.
func TestReadsDoNotReturnStateOfALeaderWithoutFollowers(t *testing.T) {
	errWrong := errors.New("it is told what is not so any more")
	for name, call := range map[string]func(w *World, c *session.Client, old *workerctl.Job) error{
		"Attach": func(w *World, c *session.Client, _ *workerctl.Job) error {
			_, err := workerctl.Attach(w.Within(time.Minute), c, "words", nil)
			return err
		},
		"List": func(w *World, c *session.Client, _ *workerctl.Job) error {
			list, err := workerctl.List(w.Within(time.Minute), c, nil)
			if err == nil && list[len(list)-1].Name != "words" {
				return errWrong
			}
			return err
		},
		"Members": func(w *World, _ *session.Client, old *workerctl.Job) error {
			list, err := old.Members(w.Within(time.Minute))
			if err == nil && len(list) < 2 {
				return errWrong
			}
			return err
		},
		"Info": func(w *World, _ *session.Client, old *workerctl.Job) error {
			in, err := old.Info(w.Within(time.Minute))
			if err == nil && in.Running < 2 {
				return errWrong
			}
			return err
		},
		"Ended": func(w *World, c *session.Client, _ *workerctl.Job) error {
			list, err := workerctl.NewJanitor(c, nil).Ended(w.Within(time.Minute), "")
			if err == nil && len(list) < 1 {
				return errWrong
			}
			return err
		},
		"Join": func(w *World, _ *session.Client, old *workerctl.Job) error {
			_, err := old.Join(w.Within(time.Minute), nth(2)) // the job has grown
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				require.NoError(w, w.Server.WaitLeader(w.Ctx))
				alone := w.Server.Leader()
				mine := w.ClientAt(w.Server.ServerAddr(alone), session.Options{})
				other := w.ClientAt(w.Server.ServerAddr(1+alone%3), session.Options{})
				submit := func(c *session.Client, name string) *workerctl.Job {
					j, err := workerctl.Submit(w.Within(time.Minute), c, workerctl.Spec{Name: name, Workers: 1}, nil)
					require.NoError(w, err)
					return j
				}
				old := submit(mine, "old")
				attached, err := workerctl.Attach(w.Ctx, other, "old", nil)
				require.NoError(w, err)
				w.join(attached, nth(0))
				gone := submit(other, "gone")
				w.Settle()
				w.Server.IsolateServer(alone)
				for w.Server.Leader() == alone {
					w.Pass(10 * time.Millisecond)
				}
				submit(other, "words")
				require.NoError(w, gone.Kill(w.Within(time.Minute)))
				require.NoError(w, attached.Scale(w.Within(time.Minute), 3))
				w.join(attached, nth(1))
				require.NotEqual(w, alone, w.Server.Leader())
				err = call(w, mine, old)
				for _, wrong := range []error{errWrong, workerctl.ErrNoJob, workerctl.ErrOver, workerctl.ErrFull} {
					require.NotErrorIs(w, err, wrong)
				}
			})
		})
	}
}
