package rebalanser_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Between a client's read of a barrier and its transaction, the barrier is
// swept and created again by a live client, with the same version as in the
// read.
func TestRecreatedBarrierIsNotTakenForTheFormerOne_X4(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		w.stock(1)
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Settle()
		w.shared(1, c2)
		// Two others: the next owner, and a mere client node.
		c3 := w.node("c3", rebalanser.Options{}).run()
		w.Settle()
		other := path + "/clients/_c_0e0b3a1c-5a55-4c2e-9f3a-0e6f6f3f7a11-latch-0000000009"
		require.NoError(w, w.Server.Create(other, nil))
		barrier := path + "/barriers/r00"
		before, err := w.Server.Get(barrier)
		require.NoError(w, err)
		swapped := false
		w.Once(func(r zktest.Request) bool {
			swapped = swapped || r.Client == "c3" && r.Op == "multi" && slices.Contains(r.Paths, barrier)
			return r.Client == "c3" && r.Op == "multi" && slices.Contains(r.Paths, barrier)
		}, func() {
			record := []byte(`{"client":"` + other[len(path+"/clients/"):] + `"}`)
			for _, err := range []error{
				w.Server.Delete(barrier), w.Server.Set(path+"/barriers", nil),
				w.Server.Create(barrier, nil), w.Server.Set(barrier, record),
			} {
				if err != nil {
					w.Error(err)
				}
			}
			after, err := w.Server.Get(barrier)
			if err != nil || after.Version != before.Version {
				w.Errorf("version %d, not %d: %v", after.Version, before.Version, err)
			}
		})
		w.markDead("c2")
		w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
		w.Pass(time.Minute)
		require.True(w, swapped)
		require.Empty(w, w.of("c3"))
		quiet(w, c3)
		// Until the foreign node has gone.
		require.NoError(w, w.Server.Delete(other))
		w.Pass(time.Minute)
		require.Equal(w, []string{"r00"}, w.of("c3"))
	})
}

// A member whose release was not answered does not release the barrier again if the
// barrier has been swept and created again for another member meanwhile.
func TestUnansweredReleaseTouchesNoBarrierOfAnotherMember_X2_X3(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		w.stock(2)
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Settle()
		w.shared(2, c2)
		other := path + "/clients/_c_0e0b3a1c-5a55-4c2e-9f3a-0e6f6f3f7a11-latch-0000000009"
		require.NoError(w, w.Server.Create(other, nil))
		record := []byte(`{"client":"` + other[len(path+"/clients/"):] + `"}`)
		var barrier string
		released := func(r zktest.Request) bool {
			return r.Client == "c2" && r.Op == "multi" && len(r.Paths) > 1 && slices.ContainsFunc(r.Paths, func(p string) bool {
				return p == path+"/barriers/r00" || p == path+"/barriers/r01"
			})
		}
		w.Server.FailNth(func(r zktest.Request) bool {
			if !released(r) || barrier != "" {
				return false
			}
			barrier = r.Paths[len(r.Paths)-1]
			return true
		}, 1, zktest.Action{Do: zktest.DropReplyCut})
		w.Once(func(r zktest.Request) bool { return barrier != "" && r.Client == "c2" && r.Op == "connect" }, func() {
			for _, err := range []error{
				w.Server.Delete(barrier), w.Server.Set(path+"/barriers", nil),
				w.Server.Create(barrier, nil), w.Server.Set(barrier, record),
			} {
				if err != nil {
					w.Error(err)
				}
			}
		})
		w.node("c3", rebalanser.Options{}).run()
		w.Pass(time.Minute)
		require.NotEmpty(w, barrier)
		node, err := w.Server.Get(barrier)
		require.NoError(w, err)
		require.JSONEq(w, string(record), string(node.Data))
		world.Pause(time.Second)
	})
}
