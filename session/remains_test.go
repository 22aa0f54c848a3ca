package session

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// outlastSession stops all servers until the session is lost, and then starts them again,
// which gives every known session its whole timeout.
func (w *world) outlastSession(h *Hold) {
	w.Helper()
	for i := range 3 {
		require.NoError(w, w.srv.Stop(i+1))
	}
	<-h.Context().Done()
	require.ErrorIs(w, h.Err(), ErrTrustRanOut)
	w.sleep(3 * time.Second)
	for i := range 3 {
		require.NoError(w, w.srv.Restart(i+1))
	}
}

// The znodes of a given-up session are deleted as soon as its client is back, and not
// when the servers expire the session.
func TestRemainsGoInTheNextSession(t *testing.T) {
	for _, deleted := range []bool{true, false} {
		inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
			h := w.createHeld(w.s, "/h")
			w.outlastSession(h)
			if deleted {
				w.s.EnsureRemainsDeleted("/h")
				w.s.EnsureRemainsDeleted("/none")
			}
			w.session(w.client)
			w.sleep(2 * time.Second)
			assert.Equal(w, !deleted, w.exists("/h"), "only if requested")
			w.sleep(20 * time.Second)
			assert.False(w, w.exists("/h"))
		})
	}
}

// A deletion that was in progress goes on in the next session.
func TestEnsureDeletedOutlivesItsSession(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		_, err := w.s.Create(w.ctx, "/d", nil, Ephemeral, nil)
		require.NoError(w, err)
		h := w.createHeld(w.s, "/h") // makes the client give the session up
		over, cancel := context.WithCancel(w.ctx)
		cancel()
		for i := range 3 {
			require.NoError(w, w.srv.Stop(i+1))
		}
		require.Error(w, w.s.EnsureDeleted(over, "/d"))
		<-h.Context().Done()
		for i := range 3 {
			require.NoError(w, w.srv.Restart(i+1))
		}
		w.session(w.client)
		w.sleep(2 * time.Second)
		assert.False(w, w.exists("/d"))
		assert.True(w, w.exists("/h"))
	})
}

// The name belongs to another client by now, so the node must stay.
func TestRemainsOfAnotherOwnerStay(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		h := w.createHeld(w.s, "/h")
		w.outlastSession(h)
		w.sleep(time.Second)
		require.NoError(w, w.srv.Delete("/h"))
		other := w.connect("", nil)
		defer w.close(other)
		_, err := w.session(other).Create(w.ctx, "/h", nil, Ephemeral, nil)
		require.NoError(w, err)
		w.s.EnsureRemainsDeleted("/h")
		w.sleep(15 * time.Second)
		assert.True(w, w.exists("/h"))
	})
}

// While the session lives nothing is deleted, and after an expiry nothing is asked.
func TestRemainsAreThoseOfALostSession(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createHeld(w.s, "/h")
		w.s.EnsureRemainsDeleted("/h")
		w.sleep(time.Second)
		require.True(w, w.exists("/h"))
		require.NoError(w, w.srv.ExpireSession(w.s.ID()))
		<-w.s.Context().Done()
		asked := 0
		w.srv.OnRequest(func(q zktest.Request) zktest.Action {
			if q.Path == "/h" {
				asked++
			}
			return zktest.Action{}
		})
		w.s.EnsureRemainsDeleted("/h")
		w.session(w.client)
		w.sleep(time.Second)
		require.Zero(w, asked)
	})
}

// Close waits for a possible deletion, and not for an impossible one.
func TestCloseWaitsForRemainsThatCanGo(t *testing.T) {
	for _, back := range []bool{true, false} {
		inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
			h := w.createHeld(w.s, "/h")
			w.outlastSession(h)
			if back {
				w.session(w.client)
			} else {
				for i := range 3 {
					require.NoError(w, w.srv.Stop(i+1))
				}
			}
			w.s.EnsureRemainsDeleted("/h")
			began := time.Now()
			w.close(w.client)
			require.Less(w, time.Since(began), 2*time.Second)
			if back {
				require.False(w, w.exists("/h"))
			}
			w.s.EnsureRemainsDeleted("/h") // nothing is begun any more
		})
	}
}

// A caller that was refused something by a znode that has gone by the time it asks learns that
// it should look again, once.
func TestRemainsThatHaveGoneMeanwhileCount(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		h := w.createHeld(w.s, "/h")
		before := w.client.RemainsDealtWith()
		require.False(w, w.client.AwaitRemains(w.ctx, before))
		w.outlastSession(h)
		w.s.EnsureRemainsDeleted("/h")
		w.session(w.client)
		w.sleep(2 * time.Second)
		require.False(w, w.exists("/h"))
		require.True(w, w.client.AwaitRemains(w.ctx, before))
		require.False(w, w.client.AwaitRemains(w.ctx, w.client.RemainsDealtWith()))
	})
}

// Work in the background of the lost session may be about to find out what is left.
func TestAwaitRemainsWaitsForWorkOfTheLostSession(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		h := w.createHeld(w.s, "/h")
		before := w.client.RemainsDealtWith()
		w.s.runInBackground(func(life context.Context) {
			<-life.Done()
			w.sleep(4 * time.Second)
			w.s.EnsureRemainsDeleted("/h")
		})
		w.outlastSession(h)
		w.session(w.client)
		require.True(w, w.exists("/h"))
		require.True(w, w.client.AwaitRemains(w.ctx, before))
		require.False(w, w.exists("/h"))
	})
}

// With a stop margin the hold ends before the session: a hold given back in
// between is deleted in the next session, too.
func TestRemainsOfAHoldThatEndsBeforeItsSession(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, &Options{StopMargin: 2 * time.Second}, func(w *world) {
		h := w.createHeld(w.s, "/h")
		for i := range 3 {
			require.NoError(w, w.srv.Stop(i+1))
		}
		<-h.Context().Done()
		require.NoError(w, w.s.Err(), "the session follows")
		w.s.EnsureRemainsDeleted("/h")
		<-w.s.Context().Done()
		w.sleep(time.Second)
		for i := range 3 {
			require.NoError(w, w.srv.Restart(i+1))
		}
		w.session(w.client)
		w.sleep(2 * time.Second)
		require.False(w, w.exists("/h"))
	})
}

// Contexts can be compared, and be keys of maps.
func TestJoinedContextsCanBeCompared(t *testing.T) {
	a, cancel := WithHolds(t.Context(), t.Context())
	defer cancel(nil)
	b, cancel := WithHolds(t.Context(), t.Context())
	defer cancel(nil)
	require.Len(t, map[context.Context]int{a: 1, b: 2}, 2)
}

// The reply to a creation is lost together with the session: the znode is looked for, and
// deleted, in the next session, unless the caller looks for it.
func TestRemainsOfAnUnansweredCreationGoInTheNextSession(t *testing.T) {
	for _, mode := range []Mode{Ephemeral, EphemeralSequential} {
		for _, o := range []*CreateOptions{nil, {KeepRemains: true}} {
			for _, patient := range []bool{true, false} {
				inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
					h := w.createHeld(w.s, "/h") // makes the client give the session up
					_, err := w.s.Create(w.ctx, "/dir", nil, Persistent, nil)
					require.NoError(w, err)
					w.srv.FailNth(func(r zktest.Request) bool { return r.Op == "create2" }, 1, zktest.Action{Do: zktest.DropReplyHole})
					ctx, cancel := context.WithCancel(w.ctx)
					defer cancel()
					out := make(chan error, 1)
					// Waited for below; ends with the session at the latest.
					go func() {
						_, err := w.s.CreateProtected(ctx, "/dir/"+ProtectedName("x"), nil, mode, o)
						out <- err
					}()
					w.sleep(time.Second)
					if !patient {
						cancel()
					}
					w.outlastSession(h)
					require.Error(w, <-out)
					w.session(w.client)
					w.sleep(2 * time.Second)
					names, err := w.srv.Children("/dir")
					require.NoError(w, err)
					if o == nil {
						require.Empty(w, names)
					} else {
						require.Len(w, names, 1)
					}
				})
			}
		}
	}
}
