package election_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// This file tests other programs that touch the znodes, and mistakes of callers.

// PD1: children that are no candidates make no difference.
func TestForeignChildrenAreIgnored_PD1(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create("/election", nil))
		require.NoError(w, w.Server.Create(dir, nil))
		strangers := []string{
			"config", "latch", "latch-", "latch-123", "x", "_c_", "0000000000", "-0000000001", "n_0000000000", "c_0000000000",
			"_c_1-lease-0000000000", "latch-00000000x0", "a__lock__", "patch-0000000000", "latch-+000000001", "latch-9999999999",
		}
		for _, name := range strangers {
			require.NoError(w, w.Server.Create(dir+"/"+name, nil))
		}
		v := w.observe(w.Ctx, elector(w.Client(), ""))
		q := w.line(2)
		list, err := elector(q.clients[0], "").Candidates(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 2)
		w.resign(w.leads(q.outs[0]))
		w.Settle()
		w.resign(w.leads(q.outs[1]))
		w.Settle()
		require.Equal(w, []string{"-", "c1", "c2", "-"}, v.ids())
		require.Len(w, w.Children(dir), len(strangers))
	})
}

// P19: the order is that of the numbers, whatever the layout and the prefix.
func TestLayoutsAreHonoredInOneQueue_P19(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var outs []<-chan won
		layouts := []election.Layout{election.LeaderLatch, election.LeaderSelector, election.Kazoo}
		for i := range 24 {
			e := election.New(w.Client(), dir, &election.Options{ID: fmt.Sprint(i), Layout: layouts[i%3]})
			outs = append(outs, w.begin(w.Ctx, e.Campaign))
		}
		for i, out := range outs {
			l := w.leads(out)
			require.Equal(w, fmt.Sprint(i), l.ID())
			require.Equal(w, fmt.Sprint(i), w.leaderID(elector(w.Client(), "")))
			for _, later := range outs[i+1:] {
				w.pending(later)
			}
			w.resign(l)
		}
	})
}

// A stranger's candidate is waited for like any other, and never deleted.
func TestStrangersCandidatesAreHonored(t *testing.T) {
	for _, name := range []string{"_c_x-latch-", "_c_0f-lock-", "0f__lock__"} {
		inWorld(t, nil, func(w *World) {
			require.NoError(w, w.Server.Create("/election", nil))
			require.NoError(w, w.Server.Create(dir, nil))
			path, err := w.Server.CreateSequential(dir+"/"+name, []byte("stranger"))
			require.NoError(w, err)
			out := w.begin(w.Ctx, elector(w.Client(), "me").Campaign)
			w.Pass(time.Minute)
			w.pending(out)
			require.Equal(w, "stranger", w.leaderID(elector(w.Client(), "")))
			require.NoError(w, w.Server.Delete(path))
			w.resign(w.leads(out))
		})
	}
}

// P18, PD8: numbers at the end of the counter have no order: nobody leads by them.
func TestExhaustedSequenceIsRefused_P18(t *testing.T) {
	for _, next := range []int32{2147483647, -2147483648, -2147483640, -1000000000, -999999999, -1} {
		t.Run(fmt.Sprint(next), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				e := elector(w.Client(), "me")
				w.resign(w.campaign(e))
				for _, method := range []string{"Campaign", "Stand", "Run"} {
					require.NoError(w, w.Server.SetSequence(dir, next))
					err := calls(w, e)[method](w.Within(time.Minute))
					require.ErrorIs(w, err, session.ErrSequenceExhausted, method)
					w.Settle()
				}
				require.Empty(w, w.Children(dir), "and nothing stays")
				// The way out that the error names.
				require.NoError(w, w.Server.Delete(dir))
				w.resign(w.campaign(e))
			})
		})
	}
}

// P18: a candidate of another library with such a number may believe to lead: not
// even the one with the lowest good number may.
func TestNobodyLeadsBesideAnExhaustedCandidate_P18(t *testing.T) {
	for _, name := range []string{"_c_x-latch--2147483648", "_c_x-lock--000000005", "_c_x-latch-2147483647", "x__lock__-999999999"} {
		inWorld(t, nil, func(w *World) {
			require.NoError(w, w.Server.Create("/election", nil))
			require.NoError(w, w.Server.Create(dir, nil))
			require.NoError(w, w.Server.Create(dir+"/"+name, nil))
			_, err := elector(w.Client(), "me").Campaign(w.Within(time.Minute))
			require.ErrorIs(w, err, session.ErrSequenceExhausted, name)
			w.Settle()
			require.Equal(w, []string{name}, w.Children(dir))
		})
	}
}

func TestLastGoodTermsStillLead_P18(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := elector(w.Client(), "me")
		w.resign(w.campaign(e))
		require.NoError(w, w.Server.SetSequence(dir, 2147483645))
		for term := int64(2147483645); term < 2147483647; term++ {
			l := w.campaign(e)
			require.Equal(w, term, l.Term())
			w.resign(l)
		}
		_, err := e.Campaign(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrSequenceExhausted)
	})
}

// CH26, P20, CH2: the predecessor goes between the listing and the watch.
func TestPredecessorThatGoesBeforeTheWatchIsSet_CH26(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.line(2)
		w.Once(func(r zktest.Request) bool { return r.Client == "c3" && r.Op == "getData" }, func() {
			require.NoError(w, w.Server.Delete(q.stands[1].Path()))
		})
		q.join()
		require.Equal(w, q.name(0), q.stands[2].Watching(), "not the one that has gone")
		w.pending(q.outs[2])
		w.resign(w.leads(q.outs[0]))
		w.resign(w.leads(q.outs[2]))
	})
}

// CH2, CH12: its own node is deleted while, or before, it waits: it queues up
// again, and has one node.
func TestCampaignWhoseNodeIsDeletedQueuesUpAgain_CH2(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Millisecond, 5 * time.Second} {
		inWorld(t, nil, func(w *World) {
			l := w.campaign(elector(w.Client(), "leader"))
			out := w.begin(w.Ctx, elector(w.Client(), "me").Campaign)
			w.Pass(after)
			list, err := elector(w.Client(), "").Candidates(w.Ctx)
			require.NoError(w, err)
			require.NoError(w, w.Server.Delete(dir+"/"+list[1].Name))
			w.Pass(5 * time.Second)
			again, err := elector(w.Client(), "").Candidates(w.Ctx)
			require.NoError(w, err)
			require.Len(w, again, 2)
			require.Greater(w, again[1].Seq, list[1].Seq)
			w.pending(out)
			w.resign(l)
			w.resign(w.leads(out))
			w.Settle()
			require.Zero(w, w.Server.Stats().Watches)
		})
	}
}

func TestEphemeralParentIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		_, err := w.Session(c).Create(w.Ctx, "/e", nil, session.Ephemeral, nil)
		require.NoError(w, err)
		for _, path := range []string{"/e", "/e/election"} {
			e := election.New(c, path, nil)
			_, err = e.Campaign(w.Within(time.Minute))
			require.ErrorIs(w, err, session.ErrNoChildrenForEphemerals)
			require.ErrorIs(w, e.Run(w.Within(time.Minute), neverLeads(w)), session.ErrNoChildrenForEphemerals)
		}
	})
}

func TestMissingRightsAreAnErrorAtOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		me := []session.Credential{session.Digest("me", "secret")}
		owner := w.ClientWith(session.Options{Credentials: me})
		l := w.campaign(election.New(owner, dir, &election.Options{ACL: session.CreatorACL()}))
		e := elector(w.Client(), "stranger")
		_, err := e.Campaign(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.Contains(w, err.Error(), "election: campaign "+dir)
		require.ErrorIs(w, e.Run(w.Within(time.Minute), neverLeads(w)), session.ErrNoAuth)
		_, err = e.Leader(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		_, err = e.Candidates(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.ErrorIs(w, <-w.observe(w.Within(time.Minute), e).errs, session.ErrNoAuth)
		w.resign(l)
	})
}

// P7, CH15: who may create but not list must not stay in the queue.
func TestCandidateThatMayNotListLeaves_P7(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		s := w.Session(w.Client())
		require.NoError(w, s.EnsurePath(w.Ctx, dir, session.Persistent, &session.CreateOptions{ACL: session.WorldACL(zk.PermCreate | zk.PermDelete)}))
		_, err := elector(w.Client(), "me").Campaign(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		w.Settle()
		require.Empty(w, w.Children(dir))
	})
}

// The path is deleted with all candidates: the next one makes it again.
func TestPathDeletedWhileAllWait(t *testing.T) {
	inWorld(t, &zktest.Options{}, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		outs := []<-chan won{w.begin(w.Ctx, elector(w.Client(), "a").Campaign), w.begin(w.Ctx, elector(w.Client(), "b").Campaign)}
		w.Pass(time.Minute)
		require.NoError(w, w.Server.DeleteAll(dir))
		<-l.Context().Done()
		for range 2 {
			var g won
			select {
			case g = <-outs[0]:
			case g = <-outs[1]:
			}
			require.NoError(w, g.err)
			require.NoError(w, g.lead.Context().Err())
			require.Greater(w, g.lead.Token(), l.Token())
			w.resign(g.lead)
		}
	})
}

// The data is too long for the servers: it is said so, and nothing is left.
func TestDataThatIsTooLongIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := election.New(w.Client(), dir, &election.Options{Data: []byte(strings.Repeat("x", 2<<20))})
		_, err := e.Campaign(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrTooLarge)
		require.Contains(w, err.Error(), "election: campaign "+dir)
		require.ErrorIs(w, e.Run(w.Within(time.Minute), neverLeads(w)), session.ErrTooLarge)
		require.Empty(w, w.Children(dir))
	})
}

// An Election of Kazoo creates its path once: the path must not go while it is empty.
func TestPathOfKazooIsNoContainer(t *testing.T) {
	inWorld(t, &zktest.Options{ContainerInterval: 10 * time.Second}, func(w *World) {
		l := w.campaign(election.New(w.Client(), dir, &election.Options{Layout: election.Kazoo}))
		require.NoError(w, l.Resign(w.Ctx))
		w.Pass(time.Minute)
		_, err := w.Server.Get(dir)
		require.NoError(w, err)
	})
}
