package workerctl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// W4: a change of the job between the reads and the write of an operation makes
// the operation read again. Here the job is killed in between.
func TestNothingIsWrittenOverAnotherChangeOfTheJob_W4(t *testing.T) {
	for name, op := range map[string]func(w *World, j *workerctl.Job, k *workerctl.Worker) error{
		"join": func(w *World, j *workerctl.Job, _ *workerctl.Worker) error {
			_, err := j.Join(w.Ctx, named("new"))
			return err
		},
		"come back": func(w *World, j *workerctl.Job, _ *workerctl.Worker) error {
			_, err := j.Join(w.Ctx, nth(0))
			return err
		},
		"leave": func(w *World, _ *workerctl.Job, k *workerctl.Worker) error { return k.Leave(w.Ctx) },
		"grow":  func(w *World, j *workerctl.Job, _ *workerctl.Worker) error { return j.Scale(w.Ctx, 9) },
		"sweep": func(w *World, j *workerctl.Job, k *workerctl.Worker) error {
			require.NoError(w, w.Server.ExpireSession(k.Session().ID()))
			w.Settle()
			_, err := workerctl.NewJanitor(w.Client(), nil).Sweep(w.Ctx)
			require.NoError(w, err)
			_, err = j.Join(w.Ctx, nth(0))
			return err
		},
	} {
		for _, reuse := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					w.submitSpec(w.Client(), workerctl.Spec{Name: "words", Workers: 5, ReuseIDs: reuse})
					crew := w.crew(2)
					w.leave(crew[1]) // with reuse an id is free
					w.Settle()
					state := crew[0].Path()[:strings.LastIndex(crew[0].Path(), "/live/")] + "/state"
					hit := false
					w.Once(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }, func() {
						hit = true
						require.NoError(w, w.Server.Set(state, []byte(`{"state":"killed","workers":5,"next":2,"left":1,"joins":2}`)))
					})
					require.ErrorIs(w, op(w, w.attach(w.Client()), crew[0]), workerctl.ErrOver)
					require.True(w, hit)
					if name == "sweep" {
						return // Sweep has removed the killed job, or not
					}
					n, err := w.Server.Get(state)
					require.NoError(w, err)
					require.Contains(w, string(n.Data), `"killed"`)
				})
			})
		}
	}
}
