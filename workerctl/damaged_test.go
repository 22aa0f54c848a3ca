package workerctl_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// A job whose record was overwritten can be deleted, and its name used again.
func TestJobWithoutAReadableRecordIsDeleted(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		j := w.submit(c, 3)
		crew := w.crew(2)
		require.NoError(w, w.Server.Create(path+"/notes", nil))
		require.NoError(w, w.Server.Create(path+"/notes/deep", nil))
		require.NoError(w, w.Server.Set(path, []byte("garbage")))
		_, err := workerctl.Attach(w.Ctx, c, "words", nil)
		require.ErrorIs(w, err, workerctl.ErrRecord)
		require.ErrorContains(w, err, "zkr job rm --force")
		n := workerctl.NewJanitor(c, nil)
		require.NoError(w, n.DeleteDamaged(w.Ctx, "words"))
		w.removed()
		w.Settle()
		for _, k := range crew {
			require.ErrorIs(w, context.Cause(k.Context()), session.ErrNodeDeleted)
		}
		_, err = j.Join(w.Ctx, nth(2))
		require.ErrorIs(w, err, workerctl.ErrOver)
		require.ErrorIs(w, n.DeleteDamaged(w.Ctx, "words"), workerctl.ErrNoJob)
		require.ErrorIs(w, n.DeleteDamaged(w.Ctx, ""), workerctl.ErrInvalidArgument)
		w.submit(c, 1)
	})
}

func TestJobWithAReadableOrNewerRecordIsNotDeletedAsDamaged(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		w.submit(c, 3)
		n := workerctl.NewJanitor(c, nil)
		require.ErrorContains(w, n.DeleteDamaged(w.Ctx, "words"), "the record of the job can be read")
		before := len(w.Server.Dump())
		require.NoError(w, w.Server.Set(path, []byte(`{"format":2}`)))
		require.ErrorIs(w, n.DeleteDamaged(w.Ctx, "words"), workerctl.ErrRecord)
		require.Len(w, w.Server.Dump(), before)
	})
}

// The record is repaired, or the job is deleted by hand and submitted again, while the
// damaged job is being deleted: nothing is deleted from then on.
func TestNothingOfTheNextJobIsDeletedAsDamaged(t *testing.T) {
	for _, again := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			w.submit(c, 3)
			good, err := w.Server.Get(path)
			require.NoError(w, err)
			require.NoError(w, w.Server.Delete(path+"/"+w.Children(path)[0]+"/size"))
			if !again {
				require.NoError(w, w.Server.Set(path, []byte("garbage")))
			} else {
				require.NoError(w, w.Server.DeleteAll(path))
				require.NoError(w, w.Server.Create(path, []byte("garbage"))) // version 0
			}
			w.Once(func(r zktest.Request) bool { return r.Op == "multi" && len(r.Paths) > 1 || r.Op == "delete" }, func() {
				if !again {
					_ = w.Server.Set(path, good.Data)
					return
				}
				_ = w.Server.DeleteAll(path)
				_ = w.Server.Create(path, good.Data)
				_ = w.Server.Create(path+"/run", nil)
			})
			err = workerctl.NewJanitor(c, nil).DeleteDamaged(w.Within(time.Minute), "words")
			if again {
				require.NoError(w, err, "the damaged job is gone")
				require.Equal(w, []string{"run"}, w.Children(path))
			} else {
				require.ErrorContains(w, err, "the record of the job can be read")
				require.Len(w, w.Children(path+"/"+w.Children(path)[0]), 7)
			}
		})
	}
}

func TestDamagedJobIsDeletedUnderEveryFault(t *testing.T) {
	t.Parallel()
	tr := world.Trial{
		Name: "DeleteDamaged",
		Setup: func(e *matrix.Env, p *world.Party) error {
			if err := submitFirst(3, false)(e, p); err != nil {
				return err
			}
			return e.Server.Set(path, []byte("garbage"))
		},
		Op: func(ctx context.Context, p *world.Party) error {
			return workerctl.NewJanitor(p.Tested, quick).DeleteDamaged(ctx, "words")
		},
		Next: next(func(ctx context.Context, p *world.Party) error {
			err := workerctl.NewJanitor(p.Other, quick).DeleteDamaged(ctx, "words")
			if err != nil && !errors.Is(err, workerctl.ErrNoJob) {
				return err
			}
			j, err := workerctl.Submit(ctx, p.Other, workerctl.Spec{Name: "words", Workers: 3}, quick)
			p.State = j
			return errors.Join(err, gapless(3)(ctx, p))
		}),
	}
	report(t, tr.Case())
}
