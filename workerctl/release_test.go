package workerctl_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// A released worker has not finished: the job is not over before the worker has
// come back and left, with the same id and a greater token.
func TestReleasedWorkerHasNeitherLeftNorFailed(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		crew := w.crew(2)
		w.Settle()
		w.ResetStats()
		require.NoError(w, crew[0].Release(w.Ctx))
		require.Equal(w, 1, w.Server.Stats().Requests["delete"])
		require.ErrorIs(w, context.Cause(crew[0].Context()), session.ErrReleased)
		require.NoError(w, crew[0].Release(w.Ctx))
		for _, err := range []error{crew[0].Leave(w.Ctx), crew[0].Fail(w.Ctx, "too late")} {
			require.ErrorIs(w, err, session.ErrReleased)
		}
		w.leave(crew[1])
		require.NoError(w, crew[1].Release(w.Ctx), "the result of Leave")
		members, err := j.Members(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, workerctl.State("dead"), members[0].State)
		require.Equal(w, workerctl.State("running"), w.info(j).State)

		back := w.join(w.attach(w.Client()), nth(0))
		require.Zero(w, back.ID())
		require.EqualValues(w, 2, back.Incarnation())
		require.Greater(w, back.Token(), crew[0].Token())
		w.leave(back)
		w.removed()
	})
}

func TestReleaseOfALostWorkerSaysSo(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 2)
		crew := w.crew(2)
		require.NoError(w, w.Server.ExpireSession(crew[0].Session().ID()))
		require.NoError(w, w.Server.Delete(crew[1].Path())) // not told yet
		for _, k := range crew {
			require.ErrorIs(w, k.Release(w.Ctx), session.ErrLost)
			require.ErrorIs(w, k.Release(w.Ctx), session.ErrLost)
			require.ErrorIs(w, k.Leave(w.Ctx), session.ErrLost)
		}
	})
}

// Under all faults of the release, the next process of this identity gets the
// same id.
func TestReleaseUnderEveryFault(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "Release", Next: next(gapless(2)), Setup: submitFirst(2, false),
		Op: func(ctx context.Context, p *world.Party) error {
			k, err := attachAndJoin(ctx, p)
			if err != nil {
				return err
			}
			world.Pause(time.Second)
			if err := k.Release(ctx); err != nil {
				return err
			}
			if k.Context().Err() == nil {
				return errors.New("its context has not ended")
			}
			members, err := p.State.(*workerctl.Job).Members(context.Background())
			if err == nil && (len(members) != 1 || members[0].State != "dead") {
				return fmt.Errorf("after the release: %+v", members)
			}
			return err
		},
	}.Run(t)
}
