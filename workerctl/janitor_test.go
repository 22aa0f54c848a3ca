package workerctl_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// runJanitor runs a janitor until stop is called.
func (w *World) runJanitor(c *session.Client, o *workerctl.Options) (stop func()) {
	ctx, cancel := context.WithCancel(w.Ctx)
	done := make(chan error, 1)
	// Waited for by stop; ends with ctx.
	go func() { done <- workerctl.NewJanitor(c, o).Run(ctx) }()
	w.Settle()
	return func() {
		cancel()
		<-done
	}
}

// T14, T15, T17, W12: a job without a live worker for long is removed; a job
// with a worker alive now or in between is not.
func TestJanitorRemovesWhatIsAbandoned_T14_T15_W12(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o := &workerctl.Options{Abandoned: 5 * time.Minute}
		j := w.submit(w.Client(), 3)
		crew := w.crew(2)
		w.leave(crew[0])
		stop := w.runJanitor(w.Client(), o)
		defer stop()
		w.Pass(time.Hour)
		require.EqualValues(w, "running", w.info(j).State, "one worker is alive")

		require.NoError(w, w.Server.ExpireSession(crew[1].Session().ID()))
		w.Pass(4 * time.Minute)
		require.EqualValues(w, "running", w.info(j).State)
		back := w.join(w.attach(w.Client()), nth(1))
		require.NoError(w, w.Server.ExpireSession(back.Session().ID()))
		w.Pass(4 * time.Minute)
		require.EqualValues(w, "running", w.info(j).State, "the time began again")
		w.Pass(4 * time.Minute)
		w.removed()
		_, err := j.Join(w.Ctx, nth(1))
		require.ErrorIs(w, err, workerctl.ErrOver)
	})
}

// The time is in ZooKeeper: the next janitor continues the count.
func TestNextJanitorDoesNotRestartTheCount(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o := &workerctl.Options{Abandoned: 8 * time.Minute}
		w.submit(w.Client(), 3)
		first := w.Client()
		stopFirst := w.runJanitor(first, o)
		stopNext := w.runJanitor(w.Client(), o)
		w.Pass(5 * time.Minute)
		stopFirst()
		w.Pass(4 * time.Minute)
		w.removed()
		stopNext()
	})
}

// Only the elected janitor works.
func TestOneJanitorWorksAtATime(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o := &workerctl.Options{Abandoned: time.Hour}
		w.submit(w.Client(), 3)
		a, b := w.Client(), w.Client()
		stopA, stopB := w.runJanitor(a, o), w.runJanitor(b, o)
		w.Pass(time.Minute)
		w.ResetStats()
		w.Pass(10 * time.Minute)
		require.NotZero(w, w.Server.Stats().BySession[w.ID(a)]["getData"])
		require.Zero(w, w.Server.Stats().BySession[w.ID(b)]["getData"])
		stopA()
		stopB()
	})
}

// An interrupted removal: the job is finished, and most of its znodes still
// exist.
func TestAnyClientCompletesARemoval_T17(t *testing.T) {
	for name, complete := range map[string]func(w *World, j *workerctl.Job) error{
		"janitor": func(w *World, _ *workerctl.Job) error {
			removed, err := workerctl.NewJanitor(w.Client(), nil).Sweep(w.Ctx)
			require.Equal(w, []string{"words"}, removed)
			return err
		},
		"remove": func(w *World, j *workerctl.Job) error { return j.Remove(w.Ctx) },
		"kill":   func(w *World, j *workerctl.Job) error { return j.Kill(w.Ctx) },
		"submit": func(w *World, _ *workerctl.Job) error {
			return w.submit(w.Client(), 1).Kill(w.Ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				j := w.submit(w.Client(), 1)
				k := w.crew(1)[0]
				// Its connection hangs as soon as the removal begins.
				w.Once(isDelete, func() { w.BlackHole(k) })
				require.ErrorIs(w, k.Leave(w.Within(3*time.Second)), workerctl.ErrNotRemoved)
				require.EqualValues(w, "finished", w.info(j).State)
				require.NoError(w, complete(w, j))
				w.Server.Heal()
				w.Pass(time.Minute)
				w.removed()
			})
		})
	}
}

// T23: a job without any join is removed after two checks, with the time in
// between; T17: resubmission counts as a check, too.
func TestLeftoverGoesOnResubmission_T17_T23(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		w.submit(c, 2)
		spec := workerctl.Spec{Name: "words", Workers: 7}
		o := &workerctl.Options{Abandoned: time.Minute}
		_, err := workerctl.Submit(w.Ctx, c, spec, o)
		require.ErrorIs(w, err, workerctl.ErrRunning)
		w.Pass(30 * time.Second)
		_, err = workerctl.Submit(w.Ctx, c, spec, o)
		require.ErrorIs(w, err, workerctl.ErrRunning)
		w.Pass(31 * time.Second)
		j, err := workerctl.Submit(w.Ctx, c, spec, o)
		require.NoError(w, err)
		require.Equal(w, 7, w.info(j).Workers)
	})
}

func TestWrongArgumentsOfAJanitor(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		w.ResetStats()
		for _, n := range []*workerctl.Janitor{
			workerctl.NewJanitor(nil, nil), workerctl.NewJanitor(c, &workerctl.Options{Root: "x"}),
			workerctl.NewJanitor(c, &workerctl.Options{Abandoned: -1}),
		} {
			require.ErrorIs(w, n.Run(w.Ctx), workerctl.ErrInvalidArgument)
			_, err := n.Sweep(w.Ctx)
			require.ErrorIs(w, err, workerctl.ErrInvalidArgument)
		}
		require.Zero(w, w.Requests(c))
	})
}
