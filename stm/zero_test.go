package stm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/stm"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	world.Misuse{
		Invalid:  stm.ErrInvalidArgument,
		Zero:     map[string]any{"Transactor": new(stm.Transactor), "Tx": new(stm.Tx)},
		NoClient: map[string]any{"New": stm.New(nil, markers, nil), "NewIdempotent": stm.NewIdempotent(nil, markers, nil)},
	}.Check(t)
}

func TestInvalidArgumentsAreNamed(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		fine := func(*stm.Tx) error { return nil }
		for dir, says := range map[string]string{"": "folder", "a": "folder", "/": "root", "/a/": "folder"} {
			err := stm.New(client, dir, nil).Apply(w.Ctx, fine)
			require.ErrorIs(w, err, stm.ErrInvalidArgument, dir)
			require.ErrorContains(w, err, says, dir)
		}
		err := stm.New(client, markers, &stm.Options{MaxConflicts: -1}).Apply(w.Ctx, fine)
		require.ErrorIs(w, err, stm.ErrInvalidArgument)
		require.ErrorContains(w, err, "MaxConflicts must be at least 1, or 0 for the default, got -1")
		err = stm.New(client, markers, nil).Apply(w.Ctx, nil)
		require.ErrorIs(w, err, stm.ErrInvalidArgument)
		require.ErrorContains(w, err, "function is nil")
	})
}
