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

// A failure of a function at the moment of the session's loss counts.
func TestEachThatFailsAsTheSessionIsLostEndsTheMembership(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(1)
		c := w.Client() // c2
		lost, until := w.Session(c).Context(), w.Session(c).TrustedUntil
		first := true
		n := &node{w: w, group: rebalanser.New(c, path, rebalanser.Each(func(ctx context.Context, _ *rebalanser.Resource) error {
			if first {
				first = false
				for lost.Err() == nil {
					world.Pause(max(1, time.Until(until())))
				}
				return errHandler
			}
			<-ctx.Done()
			return ctx.Err()
		}), &rebalanser.Options{Mode: w.mode})}
		n.run()
		w.Settle()
		w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
		w.Pass(time.Minute)
		w.Server.Heal()
		w.Pass(time.Minute)
		n.stopIt()
		require.ErrorIs(w, n.awaitEnd(), errHandler)
	})
}
