package workerctl_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A job partly deleted by hand is removed completely by each of the calls, and
// its name is free afterwards.
func TestRestOfAJobThatWasDeletedByHandIsRemoved(t *testing.T) {
	for name, remove := range map[string]func(ctx context.Context, c *session.Client, j *workerctl.Job) error{
		"kill":   func(ctx context.Context, _ *session.Client, j *workerctl.Job) error { return j.Kill(ctx) },
		"remove": func(ctx context.Context, _ *session.Client, j *workerctl.Job) error { return j.Remove(ctx) },
		"submit": func(context.Context, *session.Client, *workerctl.Job) error { return nil },
		"sweep": func(ctx context.Context, c *session.Client, _ *workerctl.Job) error {
			_, err := workerctl.NewJanitor(c, nil).Sweep(ctx)
			return err
		},
	} {
		for _, part := range []string{"", "/state"} {
			t.Run(name+part, func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					c := w.Client()
					j := w.submit(c, 2)
					run := w.Children(path)[0]
					require.NoError(w, w.Server.DeleteAll(path+"/"+run+part))
					require.NoError(w, remove(w.Ctx, c, j))
					if name != "submit" {
						w.removed()
					}
					require.NoError(w, w.submit(c, 1).Kill(w.Ctx))
					w.removed()
				})
			})
		}
	}
}

// A node created below a part of the job, between the deletion of the part's
// children and the deletion of the part, is deleted as well.
func TestNodeThatIsMadeDuringTheRemovalIsRemoved(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		part := path + "/" + w.Children(path)[0] + "/phases/p"
		require.NoError(w, w.Server.Create(part, nil))
		require.NoError(w, w.Server.Create(part+"/a", nil))
		deletions := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "delete" && r.Path == part {
				if deletions++; deletions == 2 {
					if err := w.Server.Create(part+"/b", nil); err != nil {
						w.Error(err)
					}
				}
			}
			return zktest.Action{}
		})
		require.NoError(w, j.Kill(w.Within(time.Minute)))
		require.GreaterOrEqual(w, deletions, 3)
		w.removed()
	})
}
