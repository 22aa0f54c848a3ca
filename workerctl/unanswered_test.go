package workerctl_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Lost answers, while other clients continue.

func isChange(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }

// A job that was submitted, finished and removed before its submitter could
// find out is not submitted once more.
func TestJobIsSubmittedOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, events := w.ClientObserved(world.IsUnknown)
		other := w.Client()
		former := w.submit(other, 1)
		require.NoError(w, former.Kill(w.Ctx)) // the root exists
		w.Server.FailNth(isChange, 1, zktest.Action{Do: zktest.DropReplyHole})
		out := w.besideUnsettled(func(ctx context.Context) (int64, error) {
			_, err := workerctl.Submit(ctx, c, workerctl.Spec{Name: "words", Workers: 1}, nil)
			return 0, err
		})
		w.Pass(time.Second)
		w.pending(out)
		w.leave(w.join(w.attach(other), nth(0)))
		w.removed()
		err := (<-out).err
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		w.ToldUnknown(events, "job", former.Path(), "submit", err)
		w.removed()
	})
}

// The leave request of a lost session may be carried out until the servers end
// the session: also between two of the reads that find out its outcome.
func TestLeaveThatComesWhileItIsLookedForIsSeen(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 4)
		w.join(j, nth(0))
		c := w.Client()
		k := w.join(w.attach(c), nth(1))
		w.join(w.attach(c), nth(2)) // its hold keeps the session under trial
		run := runOf(k)
		w.Server.FailNth(isChange, 1, zktest.Action{Do: zktest.DropRequest})
		// The session gets no more messages through; the next session can.
		w.Once(isChange, func() { w.BlackHole(k) })
		reads, old := 0, k.Session().ID()
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Session != old && (r.Path == run+"/members/1" || r.Path == k.Path()) {
				if reads++; reads == 2 {
					w.leaveBehind(run, k.Path())
				}
			}
			return zktest.Action{}
		})
		require.NoError(w, k.Leave(w.Within(time.Minute)))
		require.GreaterOrEqual(w, reads, 2)
		require.Equal(w, 1, w.info(j).Left)
	})
}

// The outcome of a change before the loss of the worker is unknown. Update must
// not report the change as not made.
func TestUpdateThatIsLostWithTheWorkerIsNotDenied(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		c, events := w.ClientObserved(world.IsUnknown)
		k := w.join(w.attach(c), nth(0))
		w.Server.FailNth(isChange, 1, zktest.Action{Do: zktest.DropReplyHole})
		out := w.besideUnsettled(func(ctx context.Context) (int64, error) {
			return 0, k.Update(ctx, map[string]string{"a": "b"})
		})
		w.Pass(time.Second)
		w.join(j, nth(0))
		err := (<-out).err
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		w.ToldUnknown(events, "job", j.Path(), "update", err)
	})
}

// A change after an abandoned change is reported as a change of its own.
func TestUpdateAfterOneThatWasGivenUpIsTold(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 2)
		k := w.crew(1)[0]
		_, told, end := w.watch(w.attach(w.Client()))
		require.Equal(w, []string{"present 0/1"}, told())
		w.Server.FailNth(isChange, 1, zktest.Action{Do: zktest.DelayReply, For: 2 * time.Second})
		require.ErrorIs(w, k.Update(w.Within(time.Second), map[string]string{"a": "1"}), context.DeadlineExceeded)
		require.Equal(w, []string{"updated 0/1"}, told())
		require.NoError(w, k.Update(w.Ctx, map[string]string{"a": "2"}))
		require.Equal(w, []string{"updated 0/1"}, told())
		require.ErrorIs(w, end(), context.Canceled)
	})
}

// The second of two clients that make a job smaller finds the job small already, also if
// the first change happens between the second client's reads.
func TestScalingToTheSameAtOnceIsNoFailure(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j, other := w.submit(w.Client(), 4), w.attach(w.Client())
		crew := w.crew(4)
		w.leave(crew[2])
		w.leave(crew[3])
		w.Settle()
		hit := false
		w.Once(func(r zktest.Request) bool { return strings.HasSuffix(r.Path, "/members/2") }, func() {
			hit = true
			run := runOf(crew[0])
			for _, gone := range []string{"/members/2", "/members/3", "/ids/" + nth(2).Name, "/ids/" + nth(3).Name} {
				require.NoError(w, w.Server.Delete(run+gone))
			}
			require.NoError(w, w.Server.Set(run+"/size", []byte("2")))
			require.NoError(w, w.Server.Set(run+"/state", []byte(`{"state":"running","workers":2,"next":2,"left":0,"joins":5}`)))
		})
		require.NoError(w, j.Scale(w.Ctx, 2))
		require.True(w, hit)
		require.Equal(w, 2, w.info(other).Workers)
	})
}

// While the servers keep the session of a lost worker, its leave request may
// still be carried out. The outcome is known only after the end of the session.
func TestLeaveOfALostWorkerWaitsForTheEndOfItsSession(t *testing.T) {
	for name, late := range map[string]bool{"it never comes": false, "it comes late": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				j := w.submit(w.Client(), 3)
				w.join(j, nth(0))
				c := w.Client()
				k := w.join(w.attach(c), nth(1))
				w.join(w.attach(c), nth(2)) // its hold keeps the session under trial
				run := runOf(k)
				w.Server.FailNth(isChange, 1, zktest.Action{Do: zktest.DropRequest})
				w.Once(isChange, func() { w.BlackHole(k) })
				lost := func(r zktest.Request) bool { return r.Session != k.Session().ID() && r.Path == k.Path() }
				looked := make(chan struct{})
				w.Once(lost, func() { close(looked) })
				out := w.besideUnsettled(func(ctx context.Context) (int64, error) { return 0, k.Leave(ctx) })
				<-looked
				require.Error(w, k.Session().Err())
				w.Pass(time.Second)
				w.pending(out)
				if late {
					w.leaveBehind(run, k.Path())
				}
				err := (<-out).err
				_, there := w.Server.Get(k.Path())
				require.Error(w, there, "Leave waits for the end of the session")
				if late {
					require.NoError(w, err)
					require.Equal(w, 1, w.info(j).Left)
					return
				}
				require.ErrorIs(w, err, session.ErrLost)
				require.NotErrorIs(w, err, session.ErrUnknownOutcome)
				require.Zero(w, w.info(j).Left)
			})
		})
	}
}

// leaveBehind does the same as the leave request of worker 1.
func (w *World) leaveBehind(run, live string) {
	for _, node := range []string{"/state", "/members/1"} {
		n, err := w.Server.Get(run + node)
		require.NoError(w, err)
		text := strings.Replace(string(n.Data), `"left":0`, `"left":1`, 1)
		require.NoError(w, w.Server.Set(run+node, []byte(strings.Replace(text, `"left":false`, `"left":true`, 1))))
	}
	require.NoError(w, w.Server.Delete(live))
}
