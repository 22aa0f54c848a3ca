package session

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The caller gives up, and the session ends before the background has cleaned
// up: a persistent node then stays, so the caller must not have been told that
// no node exists.
func TestAGivenUpCreationOfALastingNodeIsUnknown(t *testing.T) {
	for _, mode := range []Mode{Persistent, Ephemeral} {
		inWorld(t, nil, nil, func(w *world) {
			w.createNode("/p", "")
			w.srv.FailNth(isOp("create2"), 1, zktest.Action{Do: zktest.DropReplyHole})
			_, err := w.s.CreateProtected(w.within(time.Second), "/p/"+ProtectedName("x"), nil, mode, nil)
			require.ErrorIs(w, err, context.DeadlineExceeded)
			require.NoError(w, w.srv.ExpireSession(w.s.ID()))
			w.sleep(time.Minute)
			left, e := w.srv.Children("/p")
			require.NoError(w, e)
			if len(left) > 0 {
				require.ErrorIs(w, err, ErrUnknownOutcome, "%v is there", left)
			} else {
				require.NotErrorIs(w, err, ErrUnknownOutcome)
			}
		})
	}
}
