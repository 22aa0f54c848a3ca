package rebalanser_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A process stopped for longer than its session's lifetime does not know of the
// stop when it runs again. Neither does its clock. The test therefore expires
// the session while the member is cut off and its handlers do not run, and then
// lets everything continue at once, before the member could notice by itself.
// Its resources have other owners by then: the process must neither change the
// owners' znodes nor be able to write in their place.
func TestAMemberThatWakesUpAfterItsEndAffectsNoOtherMember_P4(t *testing.T) {
	for name, what := range map[string]string{"it runs": "", "something is being given to it": "+", "it is giving something up": "-"} {
		for order, first := range map[string]bool{"its handler is first": true, "its link is first": false} {
			t.Run(name+", "+order, func(t *testing.T) {
				inBoth(t, func(w *World) { zombie(w, what, first) })
			})
		}
	}
}

// zombie freezes a member during a call of its handler of this kind, if any.
func zombie(w *World, inCall string, handlerFirst bool) {
	a := w.stock(4)
	frozen := w.node("c2", rebalanser.Options{}).run() // the coordinator
	w.Settle()
	other := w.node("c3", rebalanser.Options{}).run()
	w.Pass(5 * time.Second)
	w.shared(4, frozen, other)
	wake := make(chan struct{})
	frozen.before = func(_ context.Context, call string, _ []*rebalanser.Resource) error {
		if inCall != "" && call[:1] == inCall {
			<-wake
		}
		return nil
	}
	if inCall == "+" {
		_, err := a.AddResources(w.Ctx, "r04", "r05")
		require.NoError(w, err)
	}
	if inCall == "-" {
		_, err := a.RemoveResources(w.Ctx, w.of("c2")[0])
		require.NoError(w, err)
		_, err = a.AddResources(w.Ctx, names(4)...)
		require.NoError(w, err)
	}
	w.Pass(2 * time.Second)

	w.excuse("c2", 5*time.Second)
	w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
	had, before := w.of("c2"), map[string]int64{}
	for _, name := range had {
		before[name] = frozen.resource(name).Token()
	}
	require.NotEmpty(w, had)
	require.NoError(w, w.Server.ExpireSession(w.ID(frozen.client)))
	w.Pass(3 * time.Second)
	all, err := a.Resources(w.Ctx)
	require.NoError(w, err)
	require.Equal(w, all, w.of("c3"), "c3 has taken over")

	s := w.Session(other.client)
	for _, name := range had {
		r := frozen.resource(name)
		require.NoError(w, r.Context().Err(), "the member does not know of the loss")
		require.Greater(w, other.resource(name).Token(), before[name])
		_, err := s.Txn(w.Ctx, r.Guard())
		require.ErrorIs(w, err, session.ErrNoNode, "its late writes are refused")
	}
	if handlerFirst {
		close(wake)
		w.Pass(time.Millisecond)
	}
	w.Server.HealLink(zktest.Link{Client: "c2"})
	if !handlerFirst {
		close(wake)
	}
	w.Pass(time.Millisecond)
	require.Equal(w, all, w.of("c3"), "the zombie has taken nothing back")
	for _, name := range all {
		_, err := s.Txn(w.Ctx, other.resource(name).Guard())
		require.NoError(w, err, "its barrier was not touched")
	}
	w.Pass(30 * time.Second)
	w.shared(len(all), frozen, other)
	frozen.stop()
	other.stop()
}
