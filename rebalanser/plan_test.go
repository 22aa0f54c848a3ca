package rebalanser_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Resources of a request without answer and effect count once, and so do the
// resources of later requests.
func TestResourcesThatWereAddedAreNamedOnce(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(1)
		var many []string
		for i := range 600 {
			many = append(many, fmt.Sprintf("x%03d", i))
		}
		n := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "multi" && slices.ContainsFunc(r.Paths, func(p string) bool { return strings.Contains(p, "/resources/") }) {
				if n++; n == 1 || n == 3 {
					return zktest.Action{Do: zktest.CutBefore}
				}
			}
			return zktest.Action{}
		})
		added, err := a.AddResources(w.Ctx, many...)
		require.NoError(w, err)
		require.Len(w, added, len(many))
	})
}

// choosy shares two resources out, and no more.
type choosy struct{ assignor.Assignor }

func (choosy) Name() string { return "choosy" }

func (c choosy) Assign(ms []assignor.Member, rs []assignor.Resource) [][]string {
	if len(rs) > 2 {
		return nil
	}
	return c.Assignor.Assign(ms, rs)
}

// The error goes with its reason, also when there is nothing to be written then.
func TestErrOfAStateGoesWithItsReason(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		c1 := w.node("c1", rebalanser.Options{Assignor: choosy{assignor.Sticky()}}).run()
		w.Pass(time.Second)
		require.NoError(w, c1.group.State().Err)
		_, err := a.AddResources(w.Ctx, "x")
		require.NoError(w, err)
		w.Pass(time.Second)
		require.ErrorIs(w, c1.group.State().Err, assignor.ErrInvalid)
		_, err = a.RemoveResources(w.Ctx, "x")
		require.NoError(w, err)
		w.Pass(time.Second)
		require.NoError(w, c1.group.State().Err)
	})
}
