package rebalanser_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	each := rebalanser.Each(func(context.Context, *rebalanser.Resource) error { return nil })
	world.Misuse{
		Invalid: rebalanser.ErrInvalidArgument,
		Zero: map[string]any{
			"Admin": new(rebalanser.Admin), "Group": new(rebalanser.Group), "Resource": new(rebalanser.Resource), "Mode": new(rebalanser.Mode),
		},
		NoClient: map[string]any{"New": rebalanser.New(nil, "/g", each, nil), "Open": rebalanser.Open(nil, "/g", nil)},
	}.Check(t)
}

// A handler without functions is refused before any request.
func TestHandlersThatAreNilAreRefused(t *testing.T) {
	inBoth(t, func(w *World) {
		c := w.Client()
		for want, h := range map[string]rebalanser.Handler{"the handler is nil": nil, "the function of Each is nil": rebalanser.Each(nil)} {
			w.ResetStats()
			g := rebalanser.New(c, path, h, &rebalanser.Options{Mode: w.mode})
			err := g.Run(w.Ctx)
			require.ErrorIs(w, err, rebalanser.ErrInvalidArgument)
			require.ErrorContains(w, err, want)
			require.Zero(w, w.Requests(c))
			for st, err := range g.States(w.Ctx) {
				require.ErrorIs(w, err, rebalanser.ErrInvalidArgument)
				require.Equal(w, "stopped", st.Phase)
			}
			require.Equal(w, "stopped", g.State().Phase)
		}
		require.Equal(w, "stopped", new(rebalanser.Group).State().Phase)
	})
}
