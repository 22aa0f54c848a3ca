package session

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session/internal/wire"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The cause of a context may be an error about another request, as in a group of
// goroutines. It says nothing about a request that was sent under that context.
func TestCauseOfAContextIsNoVerdictOnARequest(t *testing.T) {
	own := errors.New("own")
	for _, verdict := range append(verdictsOfRequests(), fmt.Errorf("%w: %w", context.Canceled, ErrNoNode)) {
		inWorld(t, nil, nil, func(w *world) {
			w.srv.OnRequest(func(r zktest.Request) zktest.Action {
				if r.Op == "create2" || r.Op == "getData" {
					return zktest.Action{Do: zktest.DelayReply, For: time.Hour}
				}
				return zktest.Action{}
			})
			ctx, cancel := context.WithCancelCause(w.ctx)
			stop := time.AfterFunc(time.Second, func() {
				cancel(fmt.Errorf("%w: %w", own, &UnknownOutcomeError{Op: "create", Path: "/other", Reason: &OpError{Err: verdict}}))
			})
			defer stop.Stop()
			_, err := w.s.Create(ctx, "/written", nil, Persistent, nil)
			_, _, readErr := w.s.Get(ctx, "/written")
			for _, err := range []error{err, readErr} {
				require.ErrorIs(w, err, own)
				require.ErrorIs(w, err, context.Canceled)
				require.False(w, NotSent(err), "%v", err)
				require.False(w, Unanswered(err), "%v", err)
				require.NotErrorIs(w, err, ErrNoNode)
				require.NotErrorIs(w, err, ErrNoAuth)
			}
			require.ErrorIs(w, err, ErrUnknownOutcome)
			require.NotErrorIs(w, readErr, ErrUnknownOutcome)
			var unknown *UnknownOutcomeError
			require.ErrorAs(w, err, &unknown)
			require.Equal(w, "/written", unknown.Path)
			require.False(w, errors.As(readErr, &unknown))
		})
	}
}

// Trust ran out while no heartbeat could be sent, or was answered. That says nothing about
// the requests of the session, or of another session under the hold's context.
func TestLossByAHeartbeatIsNoVerdictOnARequest(t *testing.T) {
	for name, action := range map[string]zktest.Action{"cut": {Do: zktest.CutBefore}, "no answer": {Do: zktest.DropReplyCut}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, nil, func(w *world) {
				hold := w.createHeld(w.s, "/e")
				w.srv.OnRequest(func(r zktest.Request) zktest.Action {
					if r.Op == "multi" && r.OnlyChecks {
						return action
					}
					return zktest.Action{}
				})
				<-hold.Context().Done()
				lost := context.Cause(hold.Context())
				require.ErrorIs(w, lost, ErrTrustRanOut)
				for _, verdict := range []error{wire.ErrNotSent, wire.ErrUnanswered, ErrUnknownOutcome} {
					require.NotErrorIs(w, lost, verdict)
				}
			})
		})
	}
}
