package rwlock_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Tests of downgrades whose outcome is unknown for a while.

// ctx ends while the answer is in flight: the outcome is unknown, and no caller
// is told of a hold. A second call finds out the outcome, and Unlock deletes both
// znodes.
func TestDowngradeThatIsGivenUpIsFoundOutLater(t *testing.T) {
	isTxn := func(r zktest.Request) bool { return r.Op == "multi" && r.Client == "c1" }
	for name, action := range map[string]zktest.Action{
		"carried out":     {Do: zktest.DropReplyHole},
		"not carried out": {Do: zktest.DropRequest},
		"late":            {Do: zktest.DelayReply, For: 3 * time.Second},
	} {
		for _, again := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", again", false: ", unlock"}[again], func(t *testing.T) {
				if action.Do != zktest.DelayReply {
					world.Needs(t, world.Resumes)
				}
				inWorld(t, nil, func(w *World) {
					h := w.get(w.new().Lock)
					writer := w.startTake(w.Ctx, w.new().Lock)
					w.Server.FailNth(isTxn, 1, action)
					_, err := h.Downgrade(w.Within(100 * time.Millisecond))
					require.ErrorIs(w, err, session.ErrUnknownOutcome)
					require.ErrorIs(w, err, context.DeadlineExceeded)
					require.ErrorIs(w, context.Cause(h.Context()), session.ErrReleased)
					w.pending(writer)
					if again {
						r := w.down(h)
						w.Pass(10 * time.Second)
						w.pending(writer)
						w.unlock(r)
					} else {
						w.unlock(h)
					}
					w.unlock(w.granted(writer))
					w.Pass(time.Minute)
					require.Empty(w, w.Children(dir))
				})
			})
		}
	}
}

// The second call is refused for a reason that is not the first call's downgrade: the
// outcome of the first call has to be found out nevertheless, or a writer would hold
// the lock together with readers.
func TestDowngradeThatIsRefusedAfterADoubtIsFoundOut(t *testing.T) {
	world.Needs(t, world.Resumes)
	isTxn := func(r zktest.Request) bool { return r.Op == "multi" && len(r.Paths) == 2 }
	for fault, carriedOut := range map[zktest.Fault]bool{zktest.DelayReply: true, zktest.DropRequest: false} {
		inWorld(t, nil, func(w *World) {
			admin := w.Client()
			h := w.get(w.new().Lock)
			reader := w.startTake(w.Ctx, w.new().RLock)
			w.Server.FailNth(isTxn, 1, zktest.Action{Do: fault, For: 500 * time.Millisecond})
			_, err := h.Downgrade(w.Within(100 * time.Millisecond))
			require.ErrorIs(w, err, session.ErrUnknownOutcome)
			require.NoError(w, setACL(w, admin, zk.PermAll&^zk.PermDelete))
			if carriedOut {
				r := w.down(h)
				require.NoError(w, setACL(w, admin, zk.PermAll))
				w.unlock(w.granted(reader))
				w.unlock(r)
			} else {
				_, err = h.Downgrade(w.Ctx)
				require.ErrorIs(w, err, session.ErrNoAuth)
				require.NoError(w, h.Context().Err(), "it was not carried out: held as before")
				w.pending(reader)
				require.NoError(w, setACL(w, admin, zk.PermAll))
				w.unlock(h)
				w.unlock(w.granted(reader))
			}
			w.Pass(time.Minute)
			require.Empty(w, w.Children(dir))
		})
	}
}

// A second call that does not get anywhere knows no more than the first.
func TestDowngradeInDoubtStaysSoWithoutAConnection(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
		isTxn := func(r zktest.Request) bool { return r.Op == "multi" && len(r.Paths) == 2 }
		w.Server.FailNth(isTxn, 1, zktest.Action{Do: zktest.DropReplyHole})
		for range 2 {
			_, err := h.Downgrade(w.Within(100 * time.Millisecond))
			require.ErrorIs(w, err, session.ErrUnknownOutcome)
			require.ErrorIs(w, context.Cause(h.Context()), session.ErrReleased)
			require.NoError(w, w.Server.Stop(1))
			w.Settle()
		}
		require.NoError(w, w.Server.Restart(1))
		w.unlock(w.down(h))
		require.Empty(w, w.Children(dir))
	})
}

// The answers are lost, again and again: the outcome is found out, and it is one.
func TestDowngradeFindsOutWhatBecameOfIt(t *testing.T) {
	world.Needs(t, world.Resumes)
	for _, do := range []zktest.Fault{zktest.CutBefore, zktest.CutAfter, zktest.DropReplyCut, zktest.DropReplyHole, zktest.DropRequest} {
		for _, times := range []int{1, 2, 3} {
			if times > 1 && (do == zktest.DropReplyHole || do == zktest.DropRequest) {
				continue // silence for so long loses the session
			}
			inWorld(t, nil, func(w *World) {
				h := w.get(w.new().Lock)
				writer := w.startTake(w.Ctx, w.new().Lock)
				var struck atomic.Int32 // requests of two connections can come at once
				w.Server.OnRequest(func(r zktest.Request) zktest.Action {
					if r.Client != "c1" || r.Op == "ping" || r.Op == "connect" || strings.HasPrefix(r.Op, "set") || struck.Add(1) > int32(times) {
						return zktest.Action{}
					}
					return zktest.Action{Do: do}
				})
				r := w.down(h)
				require.Positive(w, struck.Load())
				require.Len(w, w.Children(dir), 2)
				w.Pass(5 * time.Second)
				w.pending(writer)
				require.NoError(w, r.Context().Err())
				w.unlock(r)
				w.unlock(w.granted(writer))
			})
		}
	}
}

// Unlock during a downgrade takes away whatever comes of it.
func TestUnlockDuringADowngradeLeavesNothing(t *testing.T) {
	for _, after := range []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond, 250 * time.Millisecond, time.Second} {
		inWorld(t, nil, func(w *World) {
			h := w.get(w.new().Lock)
			w.Server.Delay(zktest.Link{Client: "c1"}, zktest.Both, 100*time.Millisecond)
			done := w.startTake(w.Ctx, h.Downgrade)
			w.Pass(after)
			err := h.Unlock(w.Ctx)
			g := <-done
			if err != nil { // the downgrade came first
				require.ErrorIs(w, err, rwlock.ErrNotHeld)
				require.NoError(w, g.err)
				require.NoError(w, g.held.Context().Err())
				w.unlock(g.held)
			} else {
				require.ErrorIs(w, g.err, rwlock.ErrNotHeld)
			}
			w.Server.Heal()
			w.Pass(time.Second)
			require.Empty(w, w.Children(dir))
		})
	}
}

// Unlock while a downgrade waits for a connection: when that comes back, nothing
// may be sent that the deletions do not come behind.
func TestDowngradeIsNotRepeatedAfterUnlock(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
		isTxn := func(r zktest.Request) bool { return r.Op == "multi" && len(r.Paths) == 2 }
		w.Server.FailNth(isTxn, 1, zktest.Action{Do: zktest.CutBefore})
		w.Once(isTxn, func() { w.Server.Delay(zktest.Link{}, zktest.Both, 100*time.Millisecond) })
		down := w.startTake(w.Ctx, h.Downgrade)
		w.pending(down)
		ended := w.Within(0)
		<-ended.Done()
		require.ErrorIs(w, h.Unlock(ended), context.DeadlineExceeded)
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if isTxn(r) {
				w.Error("sent again")
			}
			return zktest.Action{}
		})
		require.ErrorIs(w, (<-down).err, rwlock.ErrNotHeld)
		w.Pass(time.Minute)
		w.Server.Heal()
		require.Empty(w, w.Children(dir))
	})
}

func TestTwoDowngradesAtOnceAreOne(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
		w.Server.Delay(zktest.Link{Client: "c1"}, zktest.Both, 500*time.Millisecond)
		first := w.startTake(w.Ctx, h.Downgrade)
		began := time.Now()
		_, err := h.Downgrade(w.Within(100 * time.Millisecond))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Equal(w, 100*time.Millisecond, time.Since(began))
		_, err = h.Downgrade(w.Ctx)
		require.ErrorIs(w, err, rwlock.ErrNotHeld)
		g := <-first
		require.NoError(w, g.err)
		w.unlock(g.held)
		w.Server.Heal()
	})
}

// A downgrade that costs the connection each time is not repeated as fast as the
// network can.
func TestDowngradeThatCostsTheConnectionIsRepeatedWithPauses(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
		tries := 0
		stop := w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "multi" && len(r.Paths) == 2 {
				tries++
				return zktest.Action{Do: zktest.CutBefore}
			}
			return zktest.Action{}
		})
		_, err := h.Downgrade(w.Within(time.Minute))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Greater(w, tries, 3)
		require.Less(w, tries, 100)
		stop()
		w.unlock(w.down(h))
	})
}
