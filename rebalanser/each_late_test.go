package rebalanser_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A function that fails when its resource is lost has failed, also if its member is
// ended before it could come back.
func TestEachThatFailsOverALossIsHeardOfAtTheEnd(t *testing.T) {
	for _, panics := range []bool{false, true} {
		inBoth(t, func(w *World) {
			w.stock(1)
			n := &node{w: w, group: rebalanser.New(w.Client(), path, rebalanser.Each(func(ctx context.Context, _ *rebalanser.Resource) error {
				<-ctx.Done()
				world.Pause(time.Second)
				if panics {
					panic(errHandler)
				}
				return errHandler
			}), &rebalanser.Options{Mode: w.mode})}
			n.run()
			w.Settle()
			w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
			w.Pass(time.Minute)
			n.stopIt()
			require.ErrorIs(w, n.ended(), errHandler)
		})
	}
}
