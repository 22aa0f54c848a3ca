package session

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A session was given up because of unanswered heartbeats. The outcome of later
// requests of its user is not unknown. In a former version, EnsurePath repeated
// the creation indefinitely because of an unknown outcome, and Retry reported
// the heartbeat's error instead of the loss.
func TestHeartbeatOfUnknownOutcomeIsNotThatOfOtherRequests(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		hold := w.createHeld(w.s, "/e")
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "multi" && r.OnlyChecks {
				return zktest.Action{Do: zktest.CutBefore}
			}
			return zktest.Action{}
		})
		<-hold.Context().Done()
		<-w.s.Context().Done()
		lost := context.Cause(w.s.Context())
		require.ErrorIs(w, lost, ErrTrustRanOut)
		require.ErrorContains(w, lost, "last heartbeat: ")
		require.NotErrorIs(w, lost, ErrUnknownOutcome)
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		for name, err := range map[string]error{
			"EnsurePath": w.s.EnsurePath(ctx, "/new/folder", Persistent, nil),
			"Retry":      w.s.Retry(ctx, func() error { _, err := w.s.Txn(ctx, CheckOp("/", -1)); return err }),
			"Exists":     func() error { _, _, err := w.s.Exists(ctx, "/e"); return err }(),
		} {
			assert.ErrorIs(w, err, ErrLost, name)
			assert.NotErrorIs(w, err, ErrUnknownOutcome, name)
		}
	})
}
