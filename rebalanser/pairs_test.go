package rebalanser_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// administering is the result of an administrator's call, and the number of
// writes of the changed znode.
type administering struct {
	mine, others *rebalanser.Admin
	said         error
	times        atomic.Int32
}

// Under every two faults an administrator's result is true, and each change is
// applied once, even if another client makes the same change next.
func TestAdministrationUnderEveryTwoFaults(t *testing.T) {
	add := func(ctx context.Context, a *rebalanser.Admin) error {
		added, err := a.AddResources(ctx, "new", "r00")
		if err == nil && !slices.Equal(added, []string{"new"}) {
			err = fmt.Errorf("added %v", added)
		}
		return err
	}
	remove := func(ctx context.Context, a *rebalanser.Admin) error {
		removed, err := a.RemoveResources(ctx, "r00", "none")
		if err == nil && !slices.Equal(removed, []string{"r00"}) {
			err = fmt.Errorf("removed %v", removed)
		}
		return err
	}
	for name, x := range map[string]struct {
		node     string
		do, undo func(context.Context, *rebalanser.Admin) error
	}{
		"add": {"/resources/new", add, func(ctx context.Context, a *rebalanser.Admin) error {
			_, err := a.RemoveResources(ctx, "new")
			return err
		}},
		"remove": {"/resources/r00", remove, func(ctx context.Context, a *rebalanser.Admin) error { _, err := a.AddResources(ctx, "r00"); return err }},
		"pause": {"/config", func(ctx context.Context, a *rebalanser.Admin) error { return a.Pause(ctx) },
			func(ctx context.Context, a *rebalanser.Admin) error { return a.Resume(ctx) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Trial{
				Name: name,
				Setup: func(e *matrix.Env, p *world.Party) error {
					ours := &play{oracle: newOracle(), party: p}
					if err := ours.stock(context.Background()); err != nil {
						return err
					}
					ad := &administering{mine: ours.admin(p.Tested), others: ours.admin(p.Other)}
					p.State = ad
					e.Server.OnApply(func(txn zktest.Txn) {
						if txn.Code == 0 && slices.Contains(txn.Paths, path+x.node) {
							ad.times.Add(1)
						}
					})
					return nil
				},
				Op: func(ctx context.Context, p *world.Party) error {
					ad := p.State.(*administering)
					ad.said = x.do(ctx, ad.mine)
					return ad.said
				},
				Next: func(ctx context.Context, p *world.Party) error {
					ad := p.State.(*administering)
					if err := world.CheckOutcome(ad.said, int(ad.times.Load())); err != nil {
						return err
					}
					for _, a := range []*rebalanser.Admin{ad.mine, ad.others} {
						if err := errors.Join(x.undo(ctx, a), x.do(ctx, a)); err != nil {
							return err
						}
					}
					return nil
				},
			}.RunPairs(t, 4)
		})
	}
}

// An applied pause with a lost answer, ended meanwhile by another client, does
// not begin again.
func TestAPauseIsMadeOnceAndAResumeAfterItCounts(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(1)
		reads := 0
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "setData" }, 1, zktest.Action{Do: zktest.DropReplyCut})
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "getData" && r.Path == path+"/config" {
				if reads++; reads == 2 {
					require.NoError(w, w.Server.Set(r.Path, []byte("{}")))
				}
			}
			return zktest.Action{}
		})
		require.NoError(w, a.Pause(w.Ctx))
		require.Equal(w, 2, reads)
		require.False(w, w.status(a).Paused)
	})
}
