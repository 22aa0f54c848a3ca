package session

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A search with a too long answer fails each time, and costs a connection with
// all its watches.
func TestASearchWithTooLongAnAnswerIsNotRepeated(t *testing.T) {
	inWorld(t, nil, &Options{MaxReply: 2000}, func(w *world) {
		w.createNode("/p", "")
		for i := range 100 {
			w.createNode(fmt.Sprintf("/p/a-long-name-that-a-client-chose-%d", i), "")
		}
		w.srv.FailNth(func(r zktest.Request) bool { return r.Op == "create2" }, 1, zktest.Action{Do: zktest.DropReplyCut})
		_, err := w.s.CreateProtected(w.ctx, "/p/"+ProtectedName("x"), nil, Ephemeral, nil)
		require.ErrorIs(w, err, ErrUnknownOutcome)
		require.ErrorIs(w, err, ErrReplyTooLarge)
		w.sleep(time.Second / 2)
		before := w.srv.Stats().Requests["getChildren2"]
		w.sleep(time.Hour)
		require.Equal(w, before, w.srv.Stats().Requests["getChildren2"])
	})
}
