package session

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// withoutQuorum runs body on three servers that carry out reads without a quorum.
func withoutQuorum(t *testing.T, body func(w *world)) {
	t.Helper()
	inWorld(t, &zktest.Options{Servers: 3, ReadOnly: true}, &Options{ReadOnly: true}, func(w *world) {
		w.createNode("/a", "x")
		require.NoError(w, w.s.Sync(w.ctx, "/"))
		_, err := w.s.Create(w.ctx, "/e", nil, Ephemeral, nil)
		require.NoError(w, err)
		body(w)
	})
}

// stopQuorum leaves server 1 alone.
func (w *world) stopQuorum() {
	w.Helper()
	require.NoError(w, w.srv.Stop(2))
	require.NoError(w, w.srv.Stop(3))
	w.sleep(time.Second) // until the session is suspended
}

func (w *world) restartQuorum() {
	w.Helper()
	require.NoError(w, w.srv.Restart(2))
}

func (w *world) readSession(c *Client) *Session {
	w.Helper()
	s, err := c.ReadSession(w.ctx)
	require.NoError(w, err)
	return s
}

func TestReadSessionIsTheSessionWhileItIsConnected(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		s := w.readSession(w.client)
		assert.Same(w, w.s, s)
		assert.False(w, s.ReadOnly())
		assert.Empty(w, w.client.State().ReadOnly)
	})
}

func TestServerWithoutAQuorumIsReadFrom(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		lastHeard := w.s.LastHeard()
		begun := time.Now()
		w.stopQuorum()
		s := w.readSession(w.client)
		assert.True(w, s.ReadOnly())
		assert.NotSame(w, w.s, s)
		assert.Less(w, time.Since(begun), 10*time.Second)
		state := w.client.State()
		assert.Equal(w, Suspended, state.Status)
		assert.Equal(w, w.srv.ServerAddr(1), state.ReadOnly)

		data, _, watch, err := s.GetW(w.ctx, "/a")
		require.NoError(w, err)
		assert.Equal(w, "x", string(data))
		_, exists, err := s.Exists(w.ctx, "/e")
		require.NoError(w, err)
		assert.True(w, exists)
		w.sleep(time.Minute)
		assert.False(w, s.LastHeard().Before(lastHeard), "the server knows what the session has seen")
		assert.WithinDuration(w, begun, s.LastHeard(), time.Second, "and perhaps nothing newer")

		w.restartQuorum()
		ev, err := watch.Wait(w.ctx)
		require.NoError(w, err)
		assert.Equal(w, EventDisconnected, ev.Type)
		<-s.Context().Done()
		assert.True(w, IsSessionLoss(s.Err()), "%v", s.Err())
		require.Same(w, w.s, w.readSession(w.client), "the session with what it holds is resumed")
		assert.True(w, w.exists("/e"))
		w.sleep(time.Second)
		assert.Empty(w, w.client.State().ReadOnly)
	})
}

// Nothing can be held in a session for reads.
func TestNothingIsWrittenThroughAServerWithoutAQuorum(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		w.stopQuorum()
		s := w.readSession(w.client)
		require.True(w, s.ReadOnly())
		_, err := s.Create(w.ctx, "/b", nil, Ephemeral, nil)
		require.ErrorIs(w, err, ErrReadOnly)
		_, err = s.CreateProtected(w.ctx, "/c-", nil, EphemeralSequential, nil)
		require.ErrorIs(w, err, ErrReadOnly)
		_, err = s.Set(w.ctx, "/a", []byte("y"), -1)
		require.ErrorIs(w, err, ErrReadOnly)
		require.ErrorIs(w, s.Delete(w.ctx, "/a", -1), ErrReadOnly)
		_, err = s.Txn(w.ctx, CheckOp("/a", -1))
		require.ErrorIs(w, err, ErrReadOnly)
		require.ErrorIs(w, s.Sync(w.ctx, "/"), ErrReadOnly)
		require.ErrorIs(w, s.ReadFresh(w.ctx, "/a", func() error { return nil }), ErrReadOnly)

		other, err := w.client.Session(w.ctx)
		require.NoError(w, err)
		assert.Same(w, w.s, other, "those that write get the suspended session")
	})
}

func TestClientConnectsToAServerWithoutAQuorum(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		w.stopQuorum()
		opts := Options{Dialer: w.srv.Client("late")}
		_, err := Connect(w.within(time.Minute), w.srv.Addr(), &opts)
		require.ErrorIs(w, err, ErrUnreachable, "unless it has the option")

		opts.ReadOnly = true
		begun := time.Now()
		c, err := Connect(w.within(time.Minute), w.srv.Addr(), &opts)
		require.NoError(w, err)
		assert.Less(w, time.Since(begun), 10*time.Second)
		defer w.close(c)
		s := w.readSession(c)
		require.True(w, s.ReadOnly())
		data, _, err := s.Get(w.ctx, "/a")
		require.NoError(w, err)
		assert.Equal(w, "x", string(data))
		assert.True(w, s.LastHeard().IsZero(), "nothing is known of the age of what it shows")
		assert.Equal(w, Connecting, c.State().Status)
		_, err = c.Session(w.within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)

		w.restartQuorum()
		usual, err := c.Session(w.ctx)
		require.NoError(w, err)
		_, err = usual.Create(w.ctx, "/b", nil, Ephemeral, nil)
		require.NoError(w, err)
		assert.Same(w, usual, w.readSession(c))
	})
}

// A client that is closed, or gives up, leaves nothing behind; the bubble checks it.
func TestClientOfAServerWithoutAQuorumIsClosed(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		w.stopQuorum()
		for after := time.Duration(0); after < 6*time.Second; after += 377 * time.Millisecond {
			c, err := Connect(w.within(after), w.srv.Addr(), &Options{Dialer: w.srv.Client("late"), ReadOnly: true})
			if err != nil {
				require.ErrorIs(w, err, context.DeadlineExceeded)
				assert.NotErrorIs(w, err, context.Canceled)
				continue
			}
			w.close(c)
			_, err = c.ReadSession(w.ctx)
			require.ErrorIs(w, err, ErrClosed)
		}
	})
}

// A server that is behind what the client has seen does not show the client the past.
func TestServerThatKnowsLessIsNotReadFrom(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		require.NoError(w, w.srv.Stop(1))
		w.sleep(10 * time.Second)
		require.NoError(w, w.session(w.client).Sync(w.ctx, "/"))
		_, err := w.s.Set(w.ctx, "/a", []byte("y"), -1)
		require.NoError(w, err)
		w.stopQuorum()
		require.NoError(w, w.srv.Restart(1))
		_, err = w.client.ReadSession(w.within(time.Minute))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.restartQuorum()
		data, _, err := w.readSession(w.client).Get(w.ctx, "/a")
		require.NoError(w, err)
		assert.Equal(w, "y", string(data))
	})
}

// Whatever becomes of a request in a session for reads, the next session is there when it is
// over, and then the usual one.
func TestServersWithoutAQuorumAreReadFromUnderEveryFault(t *testing.T) {
	for name, fault := range map[string]zktest.Fault{
		"request lost": zktest.DropRequest, "cut before": zktest.CutBefore, "reply lost, cut": zktest.DropReplyCut,
		"cut after": zktest.CutAfter, "reply lost": zktest.DropReplyHole,
	} {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				hit := false
				withoutQuorum(t, func(w *world) {
					w.stopQuorum()
					id := w.s.ID()
					remove := w.srv.FailNth(func(r zktest.Request) bool { return r.Session != id }, n, zktest.Action{Do: fault})
					defer remove()
					hits := 0
					counted := w.srv.OnRequest(func(r zktest.Request) zktest.Action {
						if r.Session != id {
							hits++
						}
						return zktest.Action{}
					})
					defer counted()
					for reads := 0; reads < 3; {
						s := w.readSession(w.client)
						require.True(w, s.ReadOnly())
						ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
						data, _, err := s.Get(ctx, "/a")
						cancel()
						if err == nil {
							assert.Equal(w, "x", string(data))
							reads++
						} else if !errors.Is(err, context.DeadlineExceeded) {
							require.True(w, IsSessionLoss(err), "%v", err)
						}
					}
					w.restartQuorum()
					w.sleep(10 * time.Second)
					assert.Same(w, w.s, w.readSession(w.client))
					hit = hits >= n
				})
				if !hit {
					require.Greater(t, n, 3)
					return
				}
			}
		})
	}
}

// A client that is started in the outage reads the newer of two servers, and then the older.
func TestReadSessionsDoNotGoBack(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		require.NoError(w, w.srv.Stop(3))
		w.sleep(10 * time.Second)
		_, err := w.session(w.client).Set(w.ctx, "/a", []byte("y"), -1)
		require.NoError(w, err)
		w.sleep(time.Second)
		require.NoError(w, w.srv.Stop(2))
		w.sleep(10 * time.Second)
		c := w.connect("late", &Options{ReadOnly: true})
		defer w.close(c)
		data, _, err := w.readSession(c).Get(w.ctx, "/a")
		require.NoError(w, err)
		require.Equal(w, "y", string(data))
		require.NoError(w, w.srv.Stop(1))
		require.NoError(w, w.srv.Restart(3))
		w.sleep(time.Second)
		_, err = c.ReadSession(w.within(time.Minute))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NoError(w, w.srv.Restart(1))
		data, _, err = w.readSession(c).Get(w.ctx, "/a")
		require.NoError(w, err)
		require.Equal(w, "y", string(data))
	})
}

// A session that has just been made has seen nothing, and does not hide what the former one
// has seen.
func TestReadSessionKnowsWhatFormerSessionsHaveSeen(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		require.NoError(w, w.srv.Stop(3))
		w.sleep(10 * time.Second)
		former := w.session(w.client)
		_, err := former.Set(w.ctx, "/a", []byte("y"), -1)
		require.NoError(w, err)
		heard := former.LastHeard()
		require.NoError(w, w.srv.ExpireSession(former.ID()))
		<-former.Context().Done()
		require.NotSame(w, former, w.session(w.client))
		w.sleep(time.Second)
		require.NoError(w, w.srv.Stop(1))
		require.NoError(w, w.srv.Stop(2))
		require.NoError(w, w.srv.Restart(3))
		w.sleep(time.Second)
		_, err = w.client.ReadSession(w.within(time.Minute))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NoError(w, w.srv.Stop(3))
		require.NoError(w, w.srv.Restart(1))
		w.sleep(5 * time.Second)
		s := w.readSession(w.client)
		require.True(w, s.ReadOnly())
		assert.WithinDuration(w, heard, s.LastHeard(), 2*time.Second)
	})
}

// After the ensemble was recreated, its few transactions are new ones.
func TestRecreatedEnsembleIsReadFromWithoutAQuorum(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		for range 100 {
			_, err := w.s.Set(w.ctx, "/a", nil, -1)
			require.NoError(w, err)
		}
		require.NoError(w, w.srv.RestartEmpty())
		<-w.s.Context().Done()
		s := w.session(w.client)
		_, err := s.Create(w.ctx, "/new", nil, Persistent, nil)
		require.NoError(w, err)
		w.stopQuorum()
		assert.True(w, w.readSession(w.client).ReadOnly())
	})
}

// hangingUp is a connection that hangs up on the handshake of a session that exists.
type hangingUp struct {
	net.Conn

	greeted bool
	made    *atomic.Int64 // counts the handshakes for new sessions
}

func (c *hangingUp) Write(p []byte) (int, error) {
	if c.greeted {
		return c.Conn.Write(p)
	}
	c.greeted = true
	if binary.BigEndian.Uint64(p[20:]) != 0 {
		_ = c.Conn.Close()
		return len(p), nil
	}
	c.made.Add(1)
	return c.Conn.Write(p)
}

// While servers with a quorum refuse the usual session, a session for reads costs them a
// session each time: the attempts become rare.
func TestReadSessionsAreNotMadeAgainAndAgain(t *testing.T) {
	made := map[bool]int64{}
	for _, readOnly := range []bool{false, true} {
		inWorld(t, &zktest.Options{Servers: 3, ReadOnly: true}, nil, func(w *world) {
			var count atomic.Int64
			dial := w.srv.Client("")
			c := w.connect("", &Options{ReadOnly: readOnly, Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
				raw, err := dial(ctx, network, address)
				if err != nil {
					return nil, err
				}
				return &hangingUp{Conn: raw, made: &count}, nil
			}})
			defer w.close(c)
			id := w.session(c).ID()
			count.Store(0)
			w.srv.Cut(id)
			for c.State().Session == id {
				w.sleep(100 * time.Millisecond)
			}
			made[readOnly] = count.Load()
		})
	}
	assert.LessOrEqual(t, made[true], made[false]+5, "%v", made)
}

// A healthy client dials no more with the option than without it.
func TestHealthyClientHasNoReadSession(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3, ReadOnly: true}, nil, func(w *world) {
		var dials atomic.Int64
		dial := w.srv.Client("")
		const clients, blips = 40, 5
		for range clients {
			defer w.close(w.connect("", &Options{ReadOnly: true, Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
				dials.Add(1)
				return dial(ctx, network, address)
			}}))
		}
		w.sleep(10 * time.Second)
		for range blips {
			w.srv.CutAll()
			w.sleep(20 * time.Second)
		}
		assert.EqualValues(w, clients*(1+blips), dials.Load())
	})
}
