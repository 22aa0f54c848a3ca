package workerctl_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// Of a job that somebody has begun to delete by hand, all ways to remove it remove
// what is left, and its name is free.
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
