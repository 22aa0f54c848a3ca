package workerctl_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Tests of znodes that other programs create among the jobs.

// runOf is the path of k's run.
func runOf(k *workerctl.Worker) string { return k.Path()[:strings.LastIndex(k.Path(), "/live/")] }

// A foreign node below the job cannot be told from the run of the next job of
// the same name, so the node must stay. The removal then fails without endless
// retries.
func TestStrangersNodeKeepsAJobFromBeingRemoved(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 1)
		k := w.crew(1)[0]
		require.NoError(w, w.Server.Create(path+"/notes", nil))
		require.NoError(w, w.Server.Create(runOf(k)+"/state/child", nil))
		w.ResetStats()
		err := k.Leave(w.Ctx)
		require.ErrorIs(w, err, workerctl.ErrNotRemoved)
		require.ErrorIs(w, err, session.ErrNotEmpty)
		require.ErrorContains(w, err, path)
		require.Less(w, w.Server.Stats().Total, 100)
		_, err = w.Server.Get(path + "/notes")
		require.NoError(w, err, "left alone")
		require.EqualValues(w, "finished", w.info(k.Job()).State)
		require.NoError(w, w.Server.Delete(path+"/notes"))
		require.NoError(w, k.Job().Remove(w.Ctx))
		w.removed()
	})
}

// A job without read permission for the client does not hide the other jobs.
func TestJobThatMayNotBeReadAffectsNoOtherJob(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		owner := w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("a", "b")}})
		require.NoError(w, w.submit(c, 1).Kill(w.Ctx)) // the root is open to all clients
		_, err := workerctl.Submit(w.Ctx, owner, workerctl.Spec{Name: "a", Workers: 1}, &workerctl.Options{ACL: session.CreatorACL()})
		require.NoError(w, err)
		w.submit(c, 1)
		list, err := workerctl.List(w.Ctx, c, nil)
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.ErrorContains(w, err, root+"/a")
		require.Len(w, list, 1)
		require.Equal(w, "words", list[0].Name)

		n := workerctl.NewJanitor(c, &workerctl.Options{Abandoned: time.Second})
		_, err = n.Sweep(w.Ctx)
		require.ErrorIs(w, err, session.ErrNoAuth)
		w.Pass(2 * time.Second)
		removed, err := n.Sweep(w.Ctx)
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.Equal(w, []string{"words"}, removed)
	})
}

// A copied tree has records that name other nodes.
func TestRecordsThatStandElsewhereAreRefused(t *testing.T) {
	t.Run("job", func(t *testing.T) {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			w.submit(c, 1)
			n, err := w.Server.Get(path)
			require.NoError(w, err)
			require.NoError(w, w.Server.Create(root+"/copy", n.Data))
			_, err = workerctl.Attach(w.Ctx, c, "copy", nil)
			require.ErrorIs(w, err, workerctl.ErrRecord)
			list, err := workerctl.List(w.Ctx, c, nil)
			require.NoError(w, err)
			require.Len(w, list, 1)
		})
	})
	t.Run("member", func(t *testing.T) {
		inWorld(t, nil, func(w *World) {
			j := w.submit(w.Client(), 3)
			crew := w.crew(2)
			n, err := w.Server.Get(runOf(crew[0]) + "/members/1")
			require.NoError(w, err)
			require.NoError(w, w.Server.Set(runOf(crew[0])+"/members/0", n.Data))
			_, err = j.Join(w.Ctx, nth(0))
			require.ErrorIs(w, err, workerctl.ErrRecord)
			_, err = j.Members(w.Ctx)
			require.ErrorIs(w, err, workerctl.ErrRecord)
			r, told, end := w.watch(j)
			require.Equal(w, []string{"present 1/1"}, told())
			require.Len(w, r.Joined(), 1)
			require.ErrorIs(w, end(), context.Canceled)
		})
	})
}

// An id that a foreign program has put among the free ids is not assigned,
// whether the id is in use or was never assigned.
func TestFreeIDIsOneThatWasLeft(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submitSpec(w.Client(), workerctl.Spec{Name: "words", Workers: 5, ReuseIDs: true})
		crew := w.crew(3)
		w.leave(crew[2])
		for _, stray := range []string{"1", "4", "x"} {
			require.NoError(w, w.Server.Create(runOf(crew[0])+"/free/"+stray, nil))
		}
		require.Equal(w, 2, w.join(j, named("new")).ID())
		require.Equal(w, 3, w.join(j, named("newer")).ID())
		require.NoError(w, crew[1].Context().Err())
		require.Equal(w, 4, w.info(j).Running)
	})
}

// A request that costs the connection must not be repeated at the speed of the
// network.
func TestRequestThatCostsTheConnectionIsRepeatedSlowly(t *testing.T) {
	inWorld(t, &zktest.Options{MaxFrame: 4000}, func(w *World) {
		j := w.submit(w.Client(), 1)
		ctx, cancel := context.WithTimeout(w.Ctx, 30*time.Second)
		defer cancel()
		tries := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "sync" {
				if tries++; tries > 100 {
					cancel()
				}
			}
			return zktest.Action{}
		})
		_, err := j.Join(ctx, workerctl.Identity{Name: "x", KV: map[string]string{"k": strings.Repeat("x", 5000)}})
		require.True(w, errors.Is(err, context.DeadlineExceeded), "%v", err)
		require.LessOrEqual(w, tries, 50)
	})
}

// A member deleted by an administrator is missing in the list; all others are
// listed.
func TestMemberThatIsMissingHidesNoOtherMember(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 3)
		crew := w.crew(3)
		require.NoError(w, w.Server.Delete(runOf(crew[0])+"/members/1"))
		list, err := j.Members(w.Ctx)
		require.ErrorIs(w, err, workerctl.ErrRecord)
		require.ErrorContains(w, err, "/members/1 was deleted while the job is running")
		require.Len(w, list, 2)
		require.Equal(w, 2, list[1].ID)
	})
}

// A worker whose id was removed from the job and assigned again while the list was read
// is listed as running.
func TestMemberThatIsExchangedWhileItIsReadRuns(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		crew := w.crew(2)
		run := runOf(crew[0])
		w.Settle()
		const claim = "11111111-1111-4111-8111-111111111111"
		w.Once(func(r zktest.Request) bool { return r.Op == "exists" && r.Path == crew[1].Path() }, func() {
			require.NoError(w, w.Server.Delete(run+"/members/1"))
			require.NoError(w, w.Server.Delete(crew[1].Path()))
			require.NoError(w, w.Server.Create(run+"/members/1", []byte(`{"id":1,"name":"new","incarnation":1,"claim":"`+claim+`"}`)))
			require.NoError(w, w.Server.Create(run+"/live/1-1-1111111111114111", nil))
		})
		list, err := j.Members(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, "new", list[1].Identity.Name)
		require.EqualValues(w, "running", list[1].State)
	})
}

// The queue of colliding joins only limits concurrent attempts. A client
// without permission for the queue, because another owner has created its
// parent, joins without queuing.
func TestWorkerThatMayNotQueueUpJoinsNevertheless(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		j := w.submit(c, 2)
		owner := w.Session(w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("a", "b")}}))
		_, err := owner.Create(w.Ctx, root+"/.join", nil, session.Persistent, &session.CreateOptions{ACL: session.CreatorACL()})
		require.NoError(w, err)
		run := path + "/" + w.Children(path)[0]
		w.Once(isChange, func() {
			n, err := w.Server.Get(run + "/state")
			require.NoError(w, err)
			require.NoError(w, w.Server.Set(run+"/state", n.Data)) // a collision
		})
		require.Zero(w, w.join(j, nth(0)).ID())
	})
}

// The job ends, and is removed, between the read of the status and the read of
// the free ids.
func TestJoinThatSearchesFreeIDsFindsThatTheJobIsOver_W7(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submitSpec(w.Client(), workerctl.Spec{Name: "words", Workers: 2, ReuseIDs: true})
		w.leave(w.join(j, nth(0)))
		w.Once(func(r zktest.Request) bool { return strings.HasSuffix(r.Path, "/free") }, func() {
			if err := w.Server.DeleteAll(j.Path()); err != nil {
				w.Error(err)
			}
		})
		_, err := j.Join(w.Within(time.Minute), nth(1))
		require.ErrorIs(w, err, workerctl.ErrOver)
	})
}
