package workerctl_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The reader sees that the last worker's live znode has gone before the
// worker's record arrives, and asks for the worker's state: the answer is
// ErrOver.
func TestChangesTellHowAWorkerHasLeftWhoseEndIsThatOfTheJob(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 1)
		crew := w.crew(1)
		reader := w.Client()
		_, told, end := w.watch(w.attach(reader))
		require.Equal(w, []string{"present 0/1"}, told())
		const oneWay = 10 * time.Millisecond
		w.Server.Delay(zktest.Link{Session: w.ID(reader)}, zktest.Both, oneWay)
		// The removal begins when the reader asks, and ends before the question arrives.
		leaves := func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }
		w.Server.FailNth(leaves, 1, zktest.Action{Do: zktest.DelayReply, For: 3 * oneWay / 2})
		w.leave(crew[0])
		w.removed()
		time.Sleep(time.Minute) // virtual: the reader has all replies
		require.ErrorIs(w, end(), workerctl.ErrOver)
		require.Equal(w, []string{"left 0/1"}, told())
	})
}

// The view of a slow reader has forgotten the workers before the reader sees that the job
// is over.
func TestChangesTellASlowReaderHowForgottenWorkersHaveLeft(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 2)
		crew := w.crew(2)
		r := w.attach(w.Client()).Roster()
		ran := make(chan error, 1)
		// Waited for below; ends with the world.
		go func() { ran <- r.Run(w.Ctx) }()
		require.NoError(w, r.WaitSynced(w.Within(time.Minute)))
		var told []string
		var last error
		for c, err := range r.Changes(w.Ctx) {
			if last = err; err != nil {
				break
			}
			told = append(told, fmt.Sprintf("%s %d/%d", c.What, c.Member.ID, c.Member.Incarnation))
			if len(told) == 2 {
				w.leave(crew[0])
				w.leave(crew[1])
				w.removed()
				w.Settle()
				require.Empty(w, r.Joined())
			}
		}
		require.ErrorIs(w, last, workerctl.ErrOver)
		require.Equal(w, []string{"present 0/1", "present 1/1", "left 0/1", "left 1/1"}, told)
	})
}
