package session

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// dials wraps a dialer and counts its connections.
func dials(dial func(context.Context, string, string) (net.Conn, error), n *atomic.Int64) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.Add(1)
		return dial(ctx, network, addr)
	}
}

// A session stays at its server as long as the server answers, idle or holding (N28).
func TestSessionMovesOnlyOnFailure_N28(t *testing.T) {
	for _, holds := range []bool{false, true} {
		t.Run(fmt.Sprintf("holds=%t", holds), func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
				var n atomic.Int64
				c := w.connect("", &Options{Dialer: dials(w.srv.Dial, &n)})
				defer w.close(c)
				s := w.session(c)
				if holds {
					w.createHeld(s, "/h")
				}
				w.sleep(50 * time.Minute)
				require.NoError(w, s.Err())
				assert.EqualValues(w, 1, n.Load(), "connections of an hour without a failure")
				require.Equal(w, 1, w.srv.Cut(s.ID()))
				w.sleep(time.Minute)
				require.NoError(w, s.Err())
				assert.EqualValues(w, 2, n.Load(), "another call after a failure")
			})
		})
	}
}

// The longest timeout of the protocol does not overflow: a hold stays while
// trust lasts, and is lost before the server could expire the session (CH61).
func TestLongestTimeoutDoesNotOverflow_CH61(t *testing.T) {
	inWorld(t, &zktest.Options{MaxSessionTimeout: maxTimeout}, nil, func(w *world) {
		w.close(w.client) // its pings of 25 days are irrelevant
		c := w.connect("far", &Options{Timeout: maxTimeout})
		defer w.close(c)
		s := w.session(c)
		require.Equal(w, maxTimeout, s.Timeout())
		h := w.createHeld(s, "/h")
		w.sleep(10 * time.Minute)
		w.srv.BlackHole(zktest.Link{Session: s.ID()}, zktest.Both)
		silent := time.Now()
		w.sleep(maxTimeout / 4)
		require.NoError(w, h.Context().Err(), "a quarter of the timeout is no loss")
		<-h.Context().Done()
		require.ErrorIs(w, context.Cause(h.Context()), ErrLost)
		require.Less(w, time.Since(silent), maxTimeout)
		require.True(w, w.exists("/h"), "told before the server expired the session")
		w.srv.Heal()
	})
}

// The client gets the event before it can read the change: when the answer
// shows the new data, the watch has fired (N12).
func TestWatchFiresBeforeTheChangeCanBeRead_N12(t *testing.T) {
	for _, servers := range []int{1, 3} {
		inWorld(t, &zktest.Options{Servers: servers}, nil, func(w *world) {
			other := w.connect("", nil)
			defer w.close(other)
			writer := w.session(other)
			_, err := w.s.Create(w.ctx, "/a", nil, Persistent, nil)
			require.NoError(w, err)
			require.NoError(w, writer.Sync(w.ctx, "/a"))
			for i := range 50 {
				_, _, data, err := w.s.GetW(w.ctx, "/a")
				require.NoError(w, err)
				_, _, children, err := w.s.ChildrenW(w.ctx, "/a")
				require.NoError(w, err)
				want := fmt.Sprint(i + 1)
				write := writer.StartTxn(SetOp("/a", []byte(want), -1), CreateOp("/a/"+want, nil, Persistent, nil))
				for seen := ""; seen != want; {
					w.sleep(100 * time.Microsecond)
					got, _, err := w.s.Get(w.ctx, "/a")
					require.NoError(w, err)
					if seen = string(got); seen == want {
						require.True(w, data.Fired(), "round %d: the new data came before the event", i)
						require.True(w, children.Fired(), "round %d: so did the new child", i)
					}
				}
				_, err = write.Wait(w.ctx)
				require.NoError(w, err)
			}
		})
	}
}
