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

// Two clients delete a damaged job, and a job of this name is submitted in between: its znode has
// the version of the damaged one, and nothing of it is changed.
func TestNextJobOfADamagedOneStays(t *testing.T) {
	for name, children := range map[string][]string{"without children": nil, "with a child": {"/x"}} {
		for stall := range 2 {
			t.Run(fmt.Sprint(name, ", ", stall), func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					slow, c := workerctl.NewJanitor(w.Client(), nil), w.Client() // c1, c2
					j := w.submit(c, 1)
					require.NoError(w, j.Kill(w.Ctx))
					require.NoError(w, w.Server.Create(path, []byte("garbage")))
					for _, child := range children {
						require.NoError(w, w.Server.Create(path+child, nil))
					}
					reads := 0
					w.Server.OnRequest(func(r zktest.Request) zktest.Action {
						if r.Client == "c1" && r.Op == "getData" && r.Path == path {
							if reads++; reads == stall+1 {
								w.Server.Delay(zktest.Link{Client: "c1"}, zktest.ToServer, 2*time.Second)
							}
						}
						return zktest.Action{}
					})
					done := make(chan error, 1)
					// Waited for below; ends with the call.
					go func() { done <- slow.DeleteDamaged(w.Within(time.Minute), "words") }()
					w.Pass(100 * time.Millisecond)
					require.NoError(w, workerctl.NewJanitor(c, nil).DeleteDamaged(w.Ctx, "words"))
					next := w.submit(c, 1)
					before := w.Server.Dump()
					require.NoError(w, <-done)
					w.Server.Heal()
					require.Equal(w, before, w.Server.Dump())
					w.join(next, named("k"))
				})
			})
		}
	}
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
			w.Once(func(r zktest.Request) bool { return isChange(r) || r.Op == "delete" }, func() {
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
