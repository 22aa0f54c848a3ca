package workerctl

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A leader that has lost its followers answers a sync, and knows neither of a
// job's new size nor of a worker that has joined since: its answers must not
// count.
func TestDecisionsDoNotTrustALeaderWithoutFollowers(t *testing.T) {
	for name, decide := range map[string]func(ctx context.Context, j *Job, s *session.Session, k *Worker) error{
		"size": func(ctx context.Context, j *Job, _ *session.Session, _ *Worker) error {
			_, err := j.readSize(ctx)
			return err
		},
		"awaitFull": func(ctx context.Context, j *Job, _ *session.Session, _ *Worker) error { return j.awaitFull(ctx) },
		"Scale":     func(ctx context.Context, j *Job, _ *session.Session, _ *Worker) error { return j.Scale(ctx, 1) },
		"departure": func(ctx context.Context, j *Job, _ *session.Session, k *Worker) error {
			return j.txs.Apply(ctx, func(tx *stm.Tx) error {
				_, _, err := (&departure{w: k, m: k.currentMember(), read: true}).readOutcome(tx)
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			world.In(t, &zktest.Options{Servers: 3}, func(w *world.World) {
				require.NoError(w, w.Server.WaitLeader(w.Ctx))
				alone := w.Server.Leader()
				// A client with only this server cannot move to another server.
				mine := w.ClientAt(w.Server.ServerAddr(alone), session.Options{})
				other := w.ClientAt(w.Server.ServerAddr(1+alone%3), session.Options{})
				j, err := Submit(w.Ctx, mine, Spec{Name: "words", Workers: 1}, nil)
				require.NoError(w, err)
				s, err := mine.Session(w.Ctx)
				require.NoError(w, err)
				theirs, err := Attach(w.Ctx, other, "words", nil)
				require.NoError(w, err)
				_, err = theirs.Join(w.Ctx, Identity{Name: "a"})
				require.NoError(w, err)
				w.Settle()
				w.Server.IsolateServer(alone)
				for w.Server.Leader() == alone {
					w.Pass(10 * time.Millisecond)
				}
				require.NoError(w, theirs.Scale(w.Within(time.Minute), 2))
				k, err := theirs.Join(w.Within(time.Minute), Identity{Name: "b"})
				require.NoError(w, err)
				require.NoError(w, theirs.Scale(w.Within(time.Minute), 3))
				err = decide(w.Within(100*time.Millisecond), j, s, k)
				require.Error(w, err, "the job had one worker, and has three")
				require.NotErrorIs(w, err, session.ErrNodeDeleted, "the worker lives")
			})
		})
	}
}
