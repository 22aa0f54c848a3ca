package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// This file tests the views that other clients have of an election.

// CH30: the absence of a leader, for any reason, is not a raw "no node".
func TestAbsenceOfALeaderIsAnErrorOfItsOwn_CH30(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := elector(w.Client(), "me")
		for _, setup := range []func(){
			func() {},
			func() {
				require.NoError(w, w.Server.Create("/election", nil))
				require.NoError(w, w.Server.Create(dir, nil))
			},
			func() { require.NoError(w, w.Server.Create(dir+"/config", nil)) },
		} {
			setup()
			_, err := e.Leader(w.Ctx)
			require.ErrorIs(w, err, election.ErrNoLeader)
			require.NotErrorIs(w, err, session.ErrNoNode)
			require.Contains(w, err.Error(), "election: leader "+dir)
			list, err := e.Candidates(w.Ctx)
			require.NoError(w, err)
			require.Empty(w, list)
		}
	})
}

// CH30: the leader leaves between the listing and the reading of its node.
func TestLeaderThatLeavesDuringTheReadIsFollowedByTheNext_CH30(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		for _, n := range []int{1, 3} {
			q := w.line(n)
			e := elector(w.Client(), "")
			w.Once(func(r zktest.Request) bool { return r.Op == "getData" && r.Path == q.stands[0].Path() }, func() {
				require.NoError(w, w.Server.Delete(q.stands[0].Path()))
			})
			if n == 1 {
				require.Empty(w, w.leaderID(e))
				continue
			}
			require.Equal(w, "c2", w.leaderID(e))
			w.resign(w.leads(q.outs[1]))
			w.resign(w.leads(q.outs[2]))
		}
	})
}

func TestCandidatesAreListedInOrder(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b, c := w.Client(), w.Client(), w.Client()
		l := w.campaign(elector(a, "first"))
		second := w.stand(election.New(b, dir, &election.Options{ID: "unseen", Data: []byte(`{"port":1}`), Layout: election.Kazoo}))
		third := w.stand(election.New(c, dir, &election.Options{ID: "third", Layout: election.LeaderSelector}))
		list, err := elector(c, "").Candidates(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 3)
		names := []string{znode.Base(l.Path()), znode.Base(second.Path()), znode.Base(third.Path())}
		for i, got := range list {
			require.Equal(w, names[i], got.Name)
			require.Equal(w, i == 0, got.Leads)
			require.Equal(w, got.Term, int64(got.Seq))
			require.Equal(w, string(got.Data), got.ID)
			require.WithinDuration(w, time.Now(), got.Since, time.Second)
			require.Equal(w, []int64{w.ID(a), w.ID(b), w.ID(c)}[i], got.Session)
			require.Equal(w, append([]string{""}, names...)[i], got.Watches)
		}
		require.Equal(w, []string{"first", `{"port":1}`, "third"}, []string{list[0].ID, list[1].ID, list[2].ID})
		require.Equal(w, []int64{l.Token(), l.Term()}, []int64{list[0].Token, list[0].Term})
		leader, err := elector(c, "").Leader(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, list[0], leader)
		require.NoError(w, second.Withdraw(w.Ctx))
		require.NoError(w, third.Withdraw(w.Ctx))
		w.resign(l)
	})
}

// A candidate in the middle leaves while the list is read: it is left out, and
// the candidate behind it is shown to wait for the candidate before it.
func TestCandidateThatLeavesDuringTheListingIsLeftOut(t *testing.T) {
	for _, leaver := range []int{0, 1, 2} {
		inWorld(t, nil, func(w *World) {
			q := w.line(3)
			e := elector(w.Client(), "")
			w.Once(func(r zktest.Request) bool {
				return r.Op == "getData" && r.Path == q.stands[0].Path() && r.Client == "c4"
			}, func() {
				require.NoError(w, w.Server.Delete(q.stands[leaver].Path()))
			})
			list, err := e.Candidates(w.Ctx)
			require.NoError(w, err)
			require.Len(w, list, 2)
			require.True(w, list[0].Leads)
			require.Empty(w, list[0].Watches)
			require.False(w, list[1].Leads)
			require.Equal(w, list[0].Name, list[1].Watches)
		})
	}
}

// A server that lags behind has a leader that was deposed: it is asked behind a
// sync.
func TestReadsAreNotOlderThanTheirCall(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		w.Pass(time.Second)
		behind := 1 + w.Server.Leader()%3
		q := w.line(2)
		c := w.ClientAt(w.Server.ServerAddr(behind), session.Options{})
		e := elector(c, "")
		require.Equal(w, "c1", w.leaderID(e))
		require.NoError(w, w.Server.Lag(behind, true))
		require.NoError(w, w.Server.Delete(q.stands[0].Path()))
		w.Pass(time.Second)
		_, err := e.Leader(w.Within(2 * time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded, "rather no answer than an old one")
		_, err = e.Candidates(w.Within(2 * time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NoError(w, w.Server.Lag(behind, false))
		require.Equal(w, "c2", w.leaderID(e))
		list, err := e.Candidates(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 1)
	})
}

// Reads go on in the next session when theirs is lost on the way.
func TestReadsGoOnInTheNextSession(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.line(2)
		c := w.Client()
		e := elector(c, "")
		for _, op := range []string{"sync", "getChildren2", "getData"} {
			for _, do := range []zktest.Fault{zktest.ExpireBefore, zktest.ExpireAfter, zktest.CutBefore, zktest.DropReplyCut, zktest.DropRequest} {
				match := func(r zktest.Request) bool { return r.Op == op && r.Client == "c3" }
				w.Server.FailNth(match, 1, zktest.Action{Do: do})
				leader, err := e.Leader(w.Within(time.Minute))
				require.NoError(w, err, "%s %v", op, do)
				require.Equal(w, "c1", leader.ID)
				w.Server.FailNth(match, 1, zktest.Action{Do: do})
				list, err := e.Candidates(w.Within(time.Minute))
				require.NoError(w, err, "%s %v", op, do)
				require.Len(w, list, 2)
			}
		}
	})
}
