package workerctl_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestWorkerKnowsItsAddresses_T7(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		j := w.submit(c, 3)
		identity := workerctl.Identity{
			Addresses: []string{"10.0.0.1:7000", "10.0.0.1:7001"}, Node: "n1", Rack: "r1", DataCenter: "d1",
			KV: map[string]string{"gpu": "2"},
		}
		k := w.join(j, identity)
		identity.Name = "10.0.0.1:7000" // the default
		require.Equal(w, identity, k.Identity())
		all, err := j.Members(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, identity, all[0].Identity)

		_, err = j.Join(w.Ctx, workerctl.Identity{})
		require.ErrorIs(w, err, workerctl.ErrInvalidArgument, "at least one worker")
		require.ErrorContains(w, err, "Addresses")
	})
}

func TestWorkerThatComesBackGetsItsIDAgain_T20_W8(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		crew := func() []*workerctl.Worker { w.submit(w.Client(), 3); return w.crew(3) }()
		old := crew[1]
		require.NoError(w, w.Server.ExpireSession(old.Session().ID()))
		<-old.Context().Done()

		// Elsewhere, with another address.
		k := w.join(w.attach(w.Client()), workerctl.Identity{Name: "worker-1", Addresses: []string{"10.9.9.9:1"}})
		require.Equal(w, 1, k.ID())
		require.EqualValues(w, 2, k.Incarnation())
		require.Greater(w, k.Token(), old.Token())
		in := w.info(k.Job())
		require.Equal(w, 3, in.Joined)
		require.Equal(w, 3, in.Running)
		_, err := k.Job().Join(w.Ctx, named("a stranger"))
		require.ErrorIs(w, err, workerctl.ErrFull, "no id was used up by the return")
	})
}

// W8: two live processes under one identity: the elder is fenced off.
func TestElderTwinLosesItsHoldAndItsGuard_W8(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 2)
		elder := w.crew(1)[0]
		require.NoError(w, w.Server.Create("/guarded", nil))
		write := func(k *workerctl.Worker) error {
			s := w.Session(w.Client())
			_, err := s.Txn(w.Ctx, k.Guard(), session.SetOp("/guarded", []byte("x"), -1))
			return err
		}
		require.NoError(w, write(elder))
		younger := w.join(w.attach(w.Client()), nth(0))
		require.ErrorIs(w, write(elder), session.ErrNoNode)
		require.NoError(w, write(younger))
		<-elder.Context().Done()
		require.ErrorIs(w, context.Cause(elder.Context()), session.ErrNodeDeleted)
		require.ErrorIs(w, elder.Leave(w.Ctx), session.ErrLost)
		require.ErrorIs(w, elder.Update(w.Ctx, nil), session.ErrLost)
		_, err := elder.Barrier(w.Ctx, "b")
		require.ErrorIs(w, err, session.ErrLost)
		require.NoError(w, younger.Context().Err())
		require.Equal(w, 1, w.info(younger.Job()).Running)
		require.Equal(w, 0, w.info(younger.Job()).Left)
	})
}

func TestOneTooManyIsRefusedAndChangesNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 1)
		w.crew(1)
		before := w.Server.Dump()
		_, err := j.Join(w.Ctx, named("late"))
		require.ErrorIs(w, err, workerctl.ErrFull)
		w.Settle()
		require.Equal(w, before, w.Server.Dump())
	})
}

func TestHostileIdentitiesAndNames(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		names := []string{
			"/", "..", ".", "a/b", "a%2Fb", "%", "~", "ünï", "日本", " ", "\x00", "a-1", strings.Repeat("x", 5000),
			strings.Repeat("x", 5001), "10.0.0.1:80", "\n", "a\u202eb",
		}
		for _, job := range names {
			j := w.submitSpec(c, workerctl.Spec{Name: job, Workers: len(names)})
			require.Equal(w, job, j.Name())
			if job != names[0] {
				continue
			}
			for i, name := range names {
				require.Equal(w, i, w.join(j, named(name)).ID(), "%q", name)
			}
			for i, name := range names {
				k := w.join(j, named(name))
				require.Equal(w, i, k.ID(), "%q", name)
				require.Equal(w, name, k.Identity().Name)
			}
		}
		all, err := workerctl.List(w.Ctx, c, nil)
		require.NoError(w, err)
		require.Len(w, all, len(names))
		for _, bad := range []string{"", "\xff"} {
			_, err := workerctl.Submit(w.Ctx, c, workerctl.Spec{Name: bad, Workers: 1}, nil)
			require.ErrorIs(w, err, workerctl.ErrInvalidArgument)
		}
		j := w.submit(c, 1)
		_, err = j.Join(w.Ctx, named("\xff"))
		require.ErrorIs(w, err, workerctl.ErrInvalidArgument)
	})
}

func TestUpdateIsSeenByOthersAndSurvivesTheWorker(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 2)
		k := w.crew(1)[0]
		require.NoError(w, k.Update(w.Ctx, map[string]string{"done": "3"}))
		require.Equal(w, "3", k.Identity().KV["done"])
		all, err := k.Job().Members(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, "3", all[0].Identity.KV["done"])
		w.leave(k)
		all, err = k.Job().Members(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, "3", all[0].Identity.KV["done"])
		require.EqualValues(w, "left", all[0].State)
	})
}

// T11, W3: a worker that has left still counts as joined, and every running
// worker counts as joined from the first moment.
func TestWorkerThatLeavesHasStillJoined_T2_T5_T11_W3(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 4)
		crew := w.crew(3)
		w.leave(crew[0])
		require.NoError(w, w.Server.ExpireSession(crew[1].Session().ID()))
		w.Settle()
		all, err := j.Members(w.Ctx)
		require.NoError(w, err)
		var states []workerctl.State
		for i, m := range all {
			require.Equal(w, i, m.ID)
			require.Equal(w, nth(i).Name, m.Identity.Name)
			states = append(states, m.State)
		}
		require.Equal(w, []workerctl.State{"left", "dead", "running"}, states)
		in := w.info(j)
		require.Equal(w, []int{3, 1, 1}, []int{in.Joined, in.Left, in.Running})
	})
}

func TestLastWorkerOutRemovesTheJob_T13(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		j := w.submit(c, 3)
		for i, k := range w.crew(3) {
			require.EqualValues(w, "running", w.info(j).State)
			w.leave(k)
			require.ErrorIs(w, context.Cause(k.Context()), session.ErrReleased, "%d", i)
			require.NoError(w, k.Leave(w.Ctx), "the result of the first call")
		}
		w.removed()
		_, err := workerctl.Attach(w.Ctx, c, "words", nil)
		require.ErrorIs(w, err, workerctl.ErrNoJob)
	})
}

// T14: the last worker dies: the job waits, and is removed when the worker has
// come back and left.
func TestJobWaitsForALastWorkerThatDied_T14(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 2)
		crew := w.crew(2)
		w.leave(crew[0])
		require.NoError(w, w.Server.ExpireSession(crew[1].Session().ID()))
		<-crew[1].Context().Done()
		require.ErrorIs(w, crew[1].Leave(w.Ctx), session.ErrLost)
		back := w.join(w.attach(w.Client()), nth(1))
		w.leave(back)
		w.removed()
	})
}

// T15: a worker has died, and the servers have not noticed yet: a worker that
// finishes meanwhile still gets the right answer.
func TestOneThatFinishesBeforeADeathIsNoticed_T15(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		crew := w.crew(2)
		w.Server.CutLink(linkOf(2)) // the process is gone, its session is not
		w.leave(crew[1])
		in := w.info(j)
		require.Equal(w, []int{1, 1}, []int{in.Left, in.Running})
		back := w.join(w.attach(w.Client()), nth(0))
		w.leave(back)
		w.removed()
	})
}

// T16, W7: the last two leave at the same instant.
func TestLastTwoLeaveAtOnce_T16_W7(t *testing.T) {
	for range 20 {
		inWorld(t, nil, func(w *World) {
			removals := countRemovals(w)
			w.submit(w.Client(), 4)
			var outs []<-chan result
			for _, k := range w.crew(4) {
				outs = append(outs, w.besideUnsettled(func(ctx context.Context) (int64, error) { return 0, k.Leave(ctx) }))
			}
			for _, out := range outs {
				require.NoError(w, (<-out).err)
			}
			w.removed()
			require.Equal(w, 1, *removals)
		})
	}
}

// W7: a late joiner finds the job over, and its node is not deleted with the
// job.
func TestLateJoinerIsToldThatTheJobIsOver_W7(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 1)
		k := w.crew(1)[0]
		// The worker joins when the job is finished but not removed yet, and is
		// faster than the removal.
		removing := make(chan struct{})
		w.Once(isDelete, func() {
			w.Server.Delay(linkOf(2), zktest.Both, time.Second)
			close(removing)
		})
		leaving := w.besideUnsettled(func(ctx context.Context) (int64, error) { return 0, k.Leave(ctx) })
		<-removing
		_, err := w.Server.Get(path)
		require.NoError(w, err)
		_, err = j.Join(w.Within(time.Minute), nth(0))
		require.ErrorIs(w, err, workerctl.ErrOver)
		require.NoError(w, (<-leaving).err)
		w.removed()
	})
}

func TestOneThatHasLeftMayComeBackWhileTheJobRuns(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		crew := w.crew(2)
		w.leave(crew[0])
		back := w.join(j, nth(0))
		require.Equal(w, 0, back.ID())
		require.Equal(w, 0, w.info(j).Left)
		w.leave(crew[1])
		require.EqualValues(w, "running", w.info(j).State)
		w.leave(back)
		w.removed()
	})
}

func TestLowestFreeIDIsUsedAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submitSpec(w.Client(), workerctl.Spec{Name: "words", Workers: 4, ReuseIDs: true})
		crew := w.crew(3)
		w.leave(crew[1])
		w.leave(crew[0])
		a, b, c := w.join(j, named("a")), w.join(j, named("b")), w.join(j, named("c"))
		require.Equal(w, []int{0, 1, 3}, []int{a.ID(), b.ID(), c.ID()})
		require.EqualValues(w, 2, a.Incarnation(), "tokens of an id grow, for every identity")
		_, err := j.Join(w.Ctx, named("d"))
		require.ErrorIs(w, err, workerctl.ErrFull)
		// A worker that comes back under its identity has not left.
		require.NoError(w, w.Server.ExpireSession(b.Session().ID()))
		again := w.join(w.attach(w.Client()), named("b"))
		require.Equal(w, 1, again.ID())
		for _, k := range []*workerctl.Worker{crew[2], w.join(w.attach(w.Client()), named("a")), again, w.join(w.attach(w.Client()), named("c"))} {
			w.leave(k)
		}
		w.removed()
	})
}

func TestLeaveWhoseTimeIsUpLeavesNoGhost(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		k := w.crew(1)[0]
		done, cancel := context.WithCancel(w.Ctx)
		cancel()
		require.ErrorIs(w, k.Leave(done), context.Canceled)
		require.NoError(w, k.Context().Err(), "nothing was done")
		w.BlackHole(k)
		err := k.Leave(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.Server.Heal()
		w.Pass(time.Minute)
		require.Zero(w, w.info(j).Running)
		back := w.join(j, nth(0))
		require.Equal(w, 0, back.ID())
	})
}

func TestMemberAsText(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		w.leave(w.crew(1)[0])
		all, err := j.Members(w.Ctx)
		require.NoError(w, err)
		require.Len(w, all, 1)
		require.Equal(w, "worker 0 (worker-0, incarnation 1): left", all[0].String())
	})
}
