package rebalanser_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// A resource that its owner does not give back does not hide changes: members
// join and leave during the wait, and the last assignment counts. Kazoo's
// partitioner stays in ALLOCATING, or misses the change (P23).
func TestMembersChangeWhileAResourceIsAwaited_P23(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(6)
		goOn, stuck := make(chan struct{}), false
		c1 := w.node("c1", rebalanser.Options{})
		c1.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
			if what[0] == '-' && !stuck {
				stuck = true
				<-goOn
			}
			return nil
		}
		c1.run()
		w.Settle()
		require.Len(w, w.of("c1"), 6)
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(5 * time.Second)
		require.True(w, stuck, "the owner is asked to give back")
		c3 := w.node("c3", rebalanser.Options{}).run()
		w.Pass(5 * time.Second)
		c2.stop()
		w.Pass(5 * time.Second)
		c4 := w.node("c4", rebalanser.Options{}).run()
		w.Pass(5 * time.Second)
		require.Empty(w, w.of("c2"), "c2 has left")
		if w.mode == rebalanser.GlobalBarrier {
			require.Empty(w, w.of("c3"), "no member starts before all members have stopped")
		}
		close(goOn)
		w.Pass(5 * time.Second)
		w.shared(6, c1, c3, c4)
	})
}
