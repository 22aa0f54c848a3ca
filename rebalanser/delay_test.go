package rebalanser_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// A member waits before starting work on its resources: no other member owns
// them meanwhile.
func TestAssignmentDelayPassesBeforeTheHandlerIsCalled(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		n := w.node("c2", rebalanser.Options{AssignmentDelay: 10 * time.Second}).run()
		w.Pass(9 * time.Second)
		require.Empty(w, n.takeCalls())
		require.Empty(w, w.status(a).Unowned)
		w.Pass(2 * time.Second)
		require.Equal(w, []string{"+r00,r01"}, n.takeCalls())
		n.stop()
		require.Equal(w, []string{"-r00,r01"}, n.takeCalls())
	})
}

// The handler of a member that gives up or loses all its resources within the
// delay is not called.
func TestHandlerHearsNothingOfWhatGoesWithinTheAssignmentDelay(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		n := w.node("c2", rebalanser.Options{AssignmentDelay: time.Hour}).run()
		w.Pass(time.Minute)
		began := time.Now()
		n.stop()
		require.Less(w, time.Since(began), time.Second)
		require.Empty(w, n.takeCalls())

		n.run()
		w.Pass(time.Minute)
		w.Expire(n.client)
		w.Pass(time.Minute)
		require.Empty(w, n.takeCalls())
		_, err := a.RemoveResources(w.Ctx, names(2)...)
		require.NoError(w, err)
		w.Pass(time.Second)
		require.Empty(w, n.takeCalls())

		// The handler is called for resources that come back later. The coordinator hears of
		// one resource after the other, and may assign the first before it hears of the second.
		_, err = a.AddResources(w.Ctx, names(2)...)
		require.NoError(w, err)
		w.Pass(time.Hour + time.Second)
		calls := strings.Join(n.takeCalls(), "")
		require.Equal(w, "+r00,r01", strings.ReplaceAll(calls, "r00+r01", "r00,r01"))
		n.stop()
	})
}

// If a part is to be given up within the delay, the rest is started no earlier.
func TestAssignmentDelayIsKeptForWhatIsStillWanted(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		n := w.node("c2", rebalanser.Options{AssignmentDelay: time.Minute}).run()
		w.Pass(10 * time.Second)
		_, err := a.RemoveResources(w.Ctx, "r00")
		require.NoError(w, err)
		w.Pass(40 * time.Second)
		require.Empty(w, n.takeCalls())
		w.Pass(15 * time.Second)
		require.Equal(w, []string{"+r00,r01", "-r00"}, n.takeCalls())
		n.stop()
	})
}
