package rebalanser_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A resource named twice in a lost request counts once.
func TestResourceThatIsNamedTwiceCountsOnce(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(1)
		n := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "multi" && slices.ContainsFunc(r.Paths, func(p string) bool { return strings.Contains(p, "/resources/") }) {
				if n++; n == 1 {
					return zktest.Action{Do: zktest.CutBefore}
				}
			}
			return zktest.Action{}
		})
		added, err := a.AddResources(w.Ctx, "x", "x")
		require.NoError(w, err)
		require.Equal(w, []string{"x"}, added)
	})
}
