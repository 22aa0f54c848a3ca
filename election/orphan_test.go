package election_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Callers who give up leave nothing behind.

// CH22, CH4, CH5: the caller gives up with the create in progress.
func TestCallerWhoGivesUpDuringTheCreateLeavesNothing_CH22(t *testing.T) {
	for name, action := range map[string]zktest.Action{
		"answer late": {Do: zktest.DelayReply, For: 3 * time.Second}, "answer lost": {Do: zktest.DropReplyHole},
		"request lost": {Do: zktest.DropRequest},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				e := elector(w.Client(), "me")
				w.resign(w.campaign(e))
				for _, give := range []func(context.Context) error{
					func(ctx context.Context) error { _, err := e.Campaign(ctx); return err },
					func(ctx context.Context) error { _, err := e.Stand(ctx); return err },
				} {
					w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "create2" }, 1, action)
					began := time.Now()
					require.Error(w, give(w.Within(100*time.Millisecond)))
					require.Equal(w, 100*time.Millisecond, time.Since(began), "ctx bounds the call")
					w.Pass(20 * time.Second)
					require.Empty(w, w.Children(dir))
				}
				w.resign(w.campaign(elector(w.Client(), "next")))
			})
		})
	}
}

// CH22: the client is closed with the create in progress.
func TestClientClosedDuringTheCreateLeavesNothing_CH22(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		e := elector(c, "me")
		w.resign(w.campaign(e))
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "create2" }, 1, zktest.Action{Do: zktest.DelayReply, For: 3 * time.Second})
		out := w.begin(w.Ctx, e.Campaign)
		w.Pass(time.Second)
		w.pending(out)
		require.NoError(w, c.Close(w.Within(time.Minute)))
		require.ErrorIs(w, (<-out).err, session.ErrClosed)
		w.Pass(time.Minute)
		require.Empty(w, w.Children(dir))
	})
}

// CH23: many campaigns of one elector that start and stop over one another each
// have one node at most, and none in the end.
func TestOverlappingCampaignsLeaveNothing_CH23(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := elector(w.Client(), "me")
		var all sync.WaitGroup
		for i := range 40 {
			// Waited for below; ends with its context.
			all.Go(func() {
				ctx, cancel := context.WithTimeout(w.Ctx, time.Duration(i%7)*time.Millisecond)
				defer cancel()
				if l, err := e.Campaign(ctx); err == nil {
					if err := l.Resign(w.Ctx); err != nil {
						w.Error(err)
					}
				}
			})
		}
		all.Wait()
		w.Settle()
		require.Empty(w, w.Children(dir))
		l := w.campaign(e)
		require.Len(w, w.Children(dir), 1)
		w.resign(l)
	})
}

// P7: an error that is not the context's, in the midst of waiting.
func TestCampaignThatFailsLeavesNoNode_P7(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		out := w.begin(w.Ctx, elector(w.Client(), "second").Campaign)
		// The path's numbers are used up while it waits, and the leader goes.
		require.NoError(w, w.Server.Create(dir+"/x-latch-2147483647", nil))
		third := w.begin(w.Ctx, elector(w.Client(), "third").Campaign)
		require.ErrorIs(w, (<-third).err, session.ErrSequenceExhausted)
		w.Settle()
		require.Len(w, w.Children(dir), 3, "the leader, the second, and the stranger")
		w.resign(l)
		require.NoError(w, (<-out).lead.Resign(w.Ctx), "it saw the queue while it was good")
		w.Settle()
		require.Len(w, w.Children(dir), 1)
	})
}

// A candidate that gives up takes its watches along, and so does one that waits
// and gives up again and again.
func TestCandidatesThatGiveUpLeaveNoWatch_CH10(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		w.Pass(2 * time.Second)
		base := w.Server.Stats().Watches
		e := elector(w.Client(), "second")
		for i := range 100 {
			ctx := w.Within(time.Duration(1+i*20) * time.Millisecond)
			if i%2 == 0 {
				_, err := e.Campaign(ctx)
				require.Error(w, err)
				continue
			}
			k := w.stand(e)
			_, err := k.Await(ctx)
			require.Error(w, err)
			require.NoError(w, k.Withdraw(w.Ctx))
		}
		w.Pass(time.Second)
		require.Equal(w, base, w.Server.Stats().Watches, "%v", w.Server.Watches())
		w.resign(l)
	})
}

// P14, CH1, CH36: the delete of a resignation meets a broken link: it goes on
// until the znode is gone, while the session lives.
func TestDeleteThatFailsGoesOn_CH36(t *testing.T) {
	for _, do := range []zktest.Fault{zktest.CutBefore, zktest.DropReplyCut, zktest.DropRequest, zktest.DropReplyHole} {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			e := elector(c, "me")
			l := w.campaign(e)
			id := w.ID(c)
			for range 3 {
				w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "delete" }, 1, zktest.Action{Do: do})
			}
			_ = l.Resign(w.Within(time.Millisecond)) // says that the deletion goes on
			w.Pass(2 * time.Minute)
			require.Empty(w, w.Children(dir))
			require.Equal(w, id, w.ID(c), "the session lives")
			require.ErrorIs(w, l.Resign(w.Ctx), election.ErrNotLeader)
			w.resign(w.campaign(e))
		})
	}
}
