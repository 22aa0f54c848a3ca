package workerctl_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// An applied change with a lost answer is not denied when another client
// changes the size afterwards, and the caller gives up in the queue of
// colliding calls.
func TestScaleThatGivesUpInTheQueueDoesNotDenyWhatItDid(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 2)
		c, other := w.Client(), w.Client()
		j, theirs := w.attach(c), w.attach(other)
		line, err := lock.New(other, root+"/.join/words", nil).Lock(w.Ctx)
		require.NoError(w, err)
		id := w.ID(c)
		run := ""
		for _, n := range w.Server.Dump() {
			if strings.HasSuffix(n.Path, "/state") {
				run = strings.TrimSuffix(n.Path, "/state")
			}
		}
		mine := func(r zktest.Request) bool { return r.Session == id && isChange(r) }
		w.Server.FailNth(mine, 1, zktest.Action{Do: zktest.DropReplyHole})
		out := w.besideUnsettled(func(context.Context) (int64, error) { return 0, j.Scale(w.Within(20*time.Second), 5) })
		w.Pass(time.Second)
		require.Equal(w, 5, w.info(theirs).Workers, "the change was applied")
		require.NoError(w, theirs.Scale(w.Ctx, 3))
		w.Once(mine, func() { // and once more, between its read and its write
			n, err := w.Server.Get(run + "/state")
			require.NoError(w, err)
			require.NoError(w, w.Server.Set(run+"/state", n.Data))
		})
		err = (<-out).err
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.NoError(w, line.Unlock(w.Ctx))
	})
}
