package kubelock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election/kubelock"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	world.Misuse{
		Invalid:  kubelock.ErrInvalidArgument,
		Zero:     map[string]any{"Lock": new(lock)},
		NoClient: map[string]any{"New": kubelock.New[record](nil, "/e", "me", nil)},
	}.Check(t)
}

func TestInvalidArgumentsAreReportedByTheFirstCall(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		for want, l := range map[string]*lock{
			"path":                  kubelock.New[record](c, "e", "me", nil),
			"the path is the root":  kubelock.New[record](c, "/", "me", nil),
			"the identity is empty": kubelock.New[record](c, "/e", "", nil),
		} {
			_, _, err := l.Get(w.Ctx)
			require.ErrorIs(w, err, kubelock.ErrInvalidArgument)
			require.ErrorContains(w, err, want)
			require.ErrorContains(w, l.Update(w.Ctx, record{}), want)
			require.ErrorContains(w, l.Run(w.Ctx, nil), want)
		}
		l := kubelock.New[record](c, "/e", "me", nil)
		require.ErrorContains(w, l.Run(w.Ctx, nil), "fn is nil")
		require.NoError(w, l.Run(w.Ctx, func(ctx context.Context) error {
			require.ErrorContains(w, l.Update(ctx, record{HolderIdentity: "other"}), `the record's holder is "other", this is "me"`)
			require.ErrorContains(w, l.Run(ctx, func(context.Context) error { return nil }), "another Run of this lock is in progress")
			return nil
		}))
		numbers := kubelock.New[int](c, "/e", "me", nil)
		require.ErrorContains(w, numbers.Update(w.Ctx, 5), "has no holderIdentity")
		require.ErrorIs(w, kubelock.New[chan int](c, "/e", "me", nil).Update(w.Ctx, nil), kubelock.ErrInvalidArgument)
	})
}
