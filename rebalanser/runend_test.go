package rebalanser_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Run returns nil when its context ends, if a server has confirmed that everything was
// given back; otherwise Run returns an error, with RestartDelay too.

// restarting are the options of a member that joins again, and of a member that
// does not.
func restarting() []rebalanser.Options {
	return []rebalanser.Options{{}, {RestartDelay: time.Second}}
}

func TestRunTellsOfALossWhileItLeaves(t *testing.T) {
	for _, o := range restarting() {
		inBoth(t, func(w *World) {
			w.stock(2)
			n := w.node("c2", o)
			n.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
				if what[0] == '-' {
					w.excuse("c2", time.Second)
					w.Expire(n.client)
				}
				return nil
			}
			n.run()
			w.Settle()
			n.stopIt()
			require.ErrorIs(w, n.awaitEnd(), session.ErrLost)
			w.Pass(time.Minute)
			require.Empty(w, w.Children(path+"/clients"), "the member has not joined again")
		})
	}
}

// Also without any resources: released resources, or the membership, may still
// exist at the servers.
func TestRunTellsOfALossAfterItsHandlerHasReturned(t *testing.T) {
	for _, o := range restarting() {
		inBoth(t, func(w *World) {
			w.stock(2)
			n := w.node("c2", o).run()
			w.Settle()
			n.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
				if what[0] == '-' {
					w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
				}
				return nil
			}
			n.stopIt()
			began := time.Now()
			require.ErrorIs(w, n.awaitEnd(), session.ErrLost)
			require.LessOrEqual(w, time.Since(began), session.DefaultTimeout)
			w.Server.Heal()
			w.Pass(time.Minute)
			require.Empty(w, w.Children(path+"/clients"))
		})
	}
}

func TestRunTellsOfAHandlerThatFailsWhileItLeaves(t *testing.T) {
	for _, o := range restarting() {
		inBoth(t, func(w *World) {
			w.stock(2)
			n := w.node("c2", o)
			n.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
				if what[0] == '-' {
					return errHandler
				}
				return nil
			}
			n.run()
			w.Settle()
			n.stopIt()
			require.ErrorIs(w, n.awaitEnd(), errHandler)
			require.NoError(w, leftBehind(w.Server))
		})
	}
}

// If the context ends while nothing is held, Run returns nil, no matter how the
// membership ended before.
func TestRunReturnsNilWhenItHoldsNothing(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(1)
		n := w.node("c2", rebalanser.Options{RestartDelay: time.Hour})
		n.before = func(context.Context, string, []*rebalanser.Resource) error { return errHandler }
		n.run()
		w.Pass(time.Minute)
		require.Equal(w, "restarting", n.group.State().Phase)
		n.stop()

		n = w.node("c3", rebalanser.Options{})
		require.NoError(w, w.Server.Stop(1))
		w.Pass(time.Second)
		n.run()
		w.Pass(time.Minute)
		require.Equal(w, "joining", n.group.State().Phase)
		n.stop()
		require.NoError(w, w.Server.Restart(1))
	})
}

// A member told to leave while joining the queue holds only the lock on its
// instance: the release of this lock must be confirmed, too.
func TestRunThatEndsWhileItJoinsTellsOfItsInstance(t *testing.T) {
	for _, instance := range []string{"", "one"} {
		inBoth(t, func(w *World) {
			w.stock(1)
			n := w.node("c2", rebalanser.Options{Instance: instance})
			ctx, cancel := context.WithCancel(w.Ctx)
			w.Once(func(r zktest.Request) bool {
				return strings.HasPrefix(r.Op, "create") && strings.HasPrefix(r.Path, path+"/clients/")
			}, func() {
				w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
				cancel()
			})
			began := time.Now()
			err := n.group.Run(ctx)
			require.LessOrEqual(w, time.Since(began), 2*time.Second)
			if instance == "" {
				require.NoError(w, err)
			} else {
				require.ErrorIs(w, err, session.ErrUnknownOutcome)
				require.ErrorContains(w, err, "no server has confirmed that the member has left")
			}
			w.Server.Heal()
			w.Pass(time.Minute)
			require.Empty(w, w.Children(path+"/clients"))
			require.Empty(w, w.Children(path+"/instances/one"))
		})
	}
}

func TestRunBeginsNothingAfterItsContextHasEnded(t *testing.T) {
	inBoth(t, func(w *World) {
		n := w.node("c1", rebalanser.Options{RestartDelay: time.Second})
		why := errors.New("never mind")
		ctx, cancel := context.WithCancelCause(w.Ctx)
		cancel(why)
		w.ResetStats()
		err := n.group.Run(ctx)
		require.ErrorIs(w, err, context.Canceled)
		require.ErrorIs(w, err, why)
		require.Zero(w, w.Requests(n.client))
		require.Equal(w, "stopped", n.group.State().Phase)
	})
}
