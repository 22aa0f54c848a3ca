package workerctl_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// An elder twin without a connection cannot be told at once that its place was
// taken. Its guard fails from that moment on, it counts at no barrier any more,
// and it learns of the loss at the latest when its trust runs out.
func TestElderTwinThatIsCutOffIsToldWhenTrustEnds_W8(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		elder := w.crew(1)[0]
		w.Settle()
		w.BlackHole(elder)
		next := w.join(j, nth(0))
		require.Equal(w, elder.ID(), next.ID())
		require.Greater(w, next.Token(), elder.Token())
		_, err := w.Session(w.Client()).Txn(w.Ctx, elder.Guard())
		require.ErrorIs(w, err, session.ErrNoNode)
		require.NoError(w, elder.Context().Err(), "the elder cannot know yet")
		select {
		case <-elder.Context().Done():
		case <-time.After(elder.Session().Timeout()):
			w.Fatal("it was not told")
		}
		w.Server.Heal()
		require.ErrorIs(w, elder.Leave(w.Within(time.Minute)), session.ErrLost)
		require.ErrorIs(w, elder.Update(w.Within(time.Minute), nil), session.ErrLost)
		require.NoError(w, next.Context().Err())
		in := w.info(j)
		require.Equal(w, []int{0, 1}, []int{in.Left, in.Running})
	})
}

// Two concurrent joins of the same identity both get the id; in the end one
// process has the id, and the other is told.
func TestTwoThatComeBackAtOnce_W8(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 2)
		w.crew(1)
		type outcome struct {
			k   *workerctl.Worker
			err error
		}
		out := make(chan outcome)
		for range 2 {
			j := w.attach(w.Client())
			// Waited for below; ends with the join.
			go func() {
				k, err := j.Join(w.Ctx, nth(0))
				out <- outcome{k, err}
			}()
		}
		var live []*workerctl.Worker
		for range 2 {
			if o := <-out; o.err != nil {
				require.ErrorIs(w, o.err, session.ErrLost, "superseded before its own join returned")
			} else {
				live = append(live, o.k)
			}
		}
		w.Pass(10 * time.Second)
		holders := 0
		for _, k := range live {
			if k.Context().Err() == nil {
				holders++
				require.EqualValues(w, 3, k.Incarnation())
			}
		}
		require.Equal(w, 1, holders)
	})
}
