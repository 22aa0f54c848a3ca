package barrier_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A path is deleted and created again, and the events are late. If the session
// has an earlier watch on the path, a watch may report an event from before its
// read: such an event does not concern the party's path.
func TestLateEventOfADeletedPathCostsNoPartyTheRound(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(3, 3, nil)
		first := w.await(w.Ctx, all[0]) // has the session's watch on the path
		w.Server.Delay(zktest.Link{Client: "c1"}, zktest.ToClient, time.Second)
		require.NoError(w, w.Server.DeleteAll(dir))
		second := w.await(w.Ctx, all[1]) // makes the path again
		late := w.await(w.Ctx, all[0])
		w.round(w.await(w.Ctx, all[2]), 1)
		w.round(second, 1)
		w.round(late, 1)
		pending(w, first) // came again, alone
	})
}

// Nor do late events leave a seat without a party.
func TestLateNewsOfADeletedPathLeaveNoSeat(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.doubles(3, 3, nil)
		w.enter(w.Within(10*time.Second), all[0])
		w.Server.Delay(zktest.Link{Client: "c1"}, zktest.ToClient, time.Second)
		require.NoError(w, w.Server.DeleteAll(dir))
		second := w.enter(w.Ctx, all[1])
		late := w.enter(w.Ctx, all[0])
		third := w.enter(w.Ctx, all[2])
		for _, seat := range w.seats(1, second, late, third) {
			w.leave(w.Ctx, seat)
		}
		w.Pass(10 * time.Second)
		w.clean()
	})
}
