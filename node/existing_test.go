package node_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// lasting are the modes of a znode that a keeper deletes, and that may have existed before.
var lasting = []session.Mode{session.Persistent, session.Container} // read only

// giveUp keeps path with the data "a", and gives up when the nth request arrives, to which
// the fault happens. It reports whether Keep has failed.
func (w *World) giveUp(mode session.Mode, nth int, fault zktest.Fault) bool {
	w.Helper()
	c := w.Client()
	id := w.ID(c)
	w.Server.Delay(zktest.Link{}, zktest.Both, 10*time.Millisecond)
	ctx, cancel := context.WithCancel(w.Ctx)
	defer cancel()
	n := 0
	forget := w.Server.OnRequest(func(q zktest.Request) zktest.Action {
		if q.Session != id || q.Op == "ping" || q.Op == "connect" {
			return zktest.Action{}
		}
		if n++; n != nth {
			return zktest.Action{}
		}
		cancel()
		return zktest.Action{Do: fault}
	})
	k, err := node.New(c, path, mode, nil).Keep(ctx, []byte("a"))
	if err == nil {
		forget()
		w.release(k)
		return false
	}
	require.ErrorIs(w, err, context.Canceled)
	w.Pass(5 * time.Minute)
	w.RequireNoWatches()
	return true
}

// A caller gives up while a request is in flight that meets a fault. A znode that existed
// before stays, even if its data is the one that was to be kept; without such a znode,
// nothing is left behind.
func TestGivingUpUnderAFaultLeavesAnExistingZnodeOnly(t *testing.T) {
	faults := map[string]zktest.Fault{
		"pass": zktest.Pass, "drop-request": zktest.DropRequest, "cut-before": zktest.CutBefore,
		"drop-reply-cut": zktest.DropReplyCut, "drop-reply-hole": zktest.DropReplyHole,
		"expire-before": zktest.ExpireBefore, "expire-after": zktest.ExpireAfter,
	}
	for what, fault := range faults {
		for _, old := range []string{"", "a", "old"} {
			t.Run(fmt.Sprintf("%s-%q", what, old), func(t *testing.T) {
				inWorlds(t, lasting, func(w *World, mode session.Mode) {
					for nth := 1; ; nth++ {
						var was int64
						if old != "" {
							require.NoError(w, w.Server.Create(folder, nil))
							require.NoError(w, w.Server.Create(path, []byte(old)))
							was = w.znode(path).Czxid
						}
						if !w.giveUp(mode, nth, fault) {
							require.Greater(w, nth, 3)
							return
						}
						if old == "" {
							require.Empty(w, w.Children(folder), nth)
							continue
						}
						require.Equal(w, was, w.znode(path).Czxid, nth)
						require.NoError(w, w.Server.DeleteAll(folder))
					}
				})
			})
		}
	}
}

// lateContext ends when a caller begins to wait for its end, a virtual minute later.
type lateContext struct {
	context.Context
	end context.CancelFunc
}

func (c lateContext) Done() <-chan struct{} {
	world.Pause(time.Minute)
	c.end()
	return c.Context.Done()
}

// The context ends at the moment at which Keep has succeeded: a call that returns an error
// has left the znode as it was.
func TestGivingUpAtTheMomentOfSuccessLeavesAnExistingZnode(t *testing.T) {
	inWorlds(t, lasting, func(w *World, mode session.Mode) {
		c := w.Client()
		require.NoError(w, w.Server.Create(folder, nil))
		require.NoError(w, w.Server.Create(path, []byte("old")))
		was := w.znode(path).Czxid
		for range 20 {
			ctx, cancel := context.WithCancel(w.Ctx)
			k, err := node.New(c, path, mode, nil).Keep(lateContext{ctx, cancel}, []byte("a"))
			w.Settle()
			require.Equal(w, was, w.znode(path).Czxid)
			if err == nil {
				w.release(k)
				require.Empty(w, w.Children(folder))
				require.NoError(w, w.Server.Create(path, []byte("old")))
				was = w.znode(path).Czxid
			}
		}
	})
}
