package session

import (
	"context"
	"encoding/binary"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// hanging is a connection that stays open when the server hangs up on the
// handshake, as behind a proxy: the connection stays silent until its deadline.
type hanging struct {
	net.Conn
	closed chan struct{}
	once   sync.Once

	mu       sync.Mutex
	greeted  bool
	deadline time.Time
}

func hangs(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &hanging{Conn: conn, closed: make(chan struct{})}, nil
	}
}

func (h *hanging) SetDeadline(t time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deadline = t
	return h.Conn.SetDeadline(t)
}

func (h *hanging) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.mu.Lock()
	h.greeted = h.greeted || n > 0
	greeted, deadline := h.greeted, h.deadline
	h.mu.Unlock()
	if err == nil || greeted {
		return n, err
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-timer.C:
		return n, os.ErrDeadlineExceeded
	case <-h.closed:
		return n, err
	}
}

func (h *hanging) Close() error {
	h.once.Do(func() { close(h.closed) })
	return h.Conn.Close()
}

// manners are the servers' reactions to refused handshakes.
var manners = map[string]func(func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error){
	"they hang up": func(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
		return dial
	},
	"they hang": hangs,
} // read only

// behaved is a client of servers with such manners.
func (w *world) behaved(o Options, manner string) *Client {
	w.Helper()
	o.Dialer = manners[manner](w.srv.Client("behaved"))
	return w.connect("", &o)
}

// Without a quorum no client is served, for any length of time; afterwards all
// clients are served again. A session that was idle, or had a place in a queue,
// must continue.
func TestSessionOutlivesALongLossOfTheQuorum(t *testing.T) {
	for manner := range manners {
		t.Run(manner, func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
				c := w.behaved(Options{}, manner)
				defer w.close(c)
				s := w.session(c)
				w.createNode("/queue", "")
				place, err := s.Create(w.ctx, "/queue/c-", nil, EphemeralSequential, nil)
				require.NoError(w, err)
				before := len(w.srv.Sessions())

				stopped := []int{w.srv.Leader(), w.srv.Leader()%3 + 1}
				for _, i := range stopped {
					require.NoError(w, w.srv.Stop(i))
				}
				w.sleep(5 * s.Timeout())
				require.NoError(w, s.Err())
				for _, i := range stopped {
					require.NoError(w, w.srv.Restart(i))
				}
				require.NoError(w, s.Sync(w.ctx, "/"))
				w.sleep(s.Timeout())
				require.Same(w, s, w.session(c))
				node, err := w.srv.Get(place.Path)
				require.NoError(w, err)
				require.Equal(w, place.Stat.Czxid, node.Czxid)
				require.Len(w, w.srv.Sessions(), before, "probes leave no session")
			})
		})
	}
}

// The quorum comes and goes while the client looks: each of its attempts may meet
// either, and none may cost the session.
func TestSessionOutlivesAQuorumThatComesAndGoes(t *testing.T) {
	for _, seed := range seeds(t, rounds(20)) {
		t.Logf("seed %d", seed)
		inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
			require.NoError(w, w.srv.Stop(1))
			require.NoError(w, w.srv.Stop(2))
			w.sleep(2*w.s.Timeout() + time.Duration(seed)*67*time.Millisecond)
			for range 5 {
				require.NoError(w, w.srv.Restart(2))
				w.sleep(time.Duration(seed+1) * 40 * time.Millisecond)
				require.NoError(w, w.srv.Stop(2))
				w.sleep(w.s.Timeout())
			}
			require.NoError(w, w.srv.Restart(2))
			require.NoError(w, w.s.Sync(w.ctx, "/"))
			require.NoError(w, w.s.Err())
			w.sleep(w.s.Timeout() * 2)
			require.Len(w, w.srv.Sessions(), 1)
		})
	}
}

// The probe's session becomes the client's: no third session is made.
func TestEnsembleThatIsRecreatedEmptyGrantsOneSession(t *testing.T) {
	for manner := range manners {
		for _, servers := range []int{1, 3} {
			t.Run(manner, func(t *testing.T) {
				inWorld(t, &zktest.Options{Servers: servers}, nil, func(w *world) {
					var mu sync.Mutex
					var said []string
					c := w.behaved(Options{Observer: observe.Func(func(_ context.Context, e observe.Event) {
						mu.Lock()
						defer mu.Unlock()
						if change, ok := e.(observe.SessionChanged); ok {
							said = append(said, change.Status)
						}
					})}, manner)
					defer w.close(c)
					s := w.session(c)
					w.close(w.client) // its session would be counted
					_, err := s.Create(w.ctx, "/old", nil, Persistent, nil)
					require.NoError(w, err)
					began := time.Now()
					require.NoError(w, w.srv.RestartEmpty())
					w.srv.ResetStats()
					<-s.Context().Done()
					require.ErrorIs(w, s.Err(), ErrRefused)
					next := w.session(c)
					require.NoError(w, next.Sync(w.ctx, "/"))
					require.GreaterOrEqual(w, time.Since(began), 2*s.Timeout())
					require.Less(w, time.Since(began), 3*s.Timeout(), "as the guarantees say")
					w.sleep(s.Timeout())
					sessions := w.srv.Sessions()
					require.Len(w, sessions, 1)
					require.Equal(w, next.ID(), sessions[0].ID)
					require.Zero(w, w.srv.Stats().Requests["closeSession"], "none was closed")
					state := c.State()
					require.Equal(w, Connected, state.Status)
					require.Equal(w, next.ID(), state.Session)
					mu.Lock()
					defer mu.Unlock()
					require.Equal(w, []string{"connected", "suspended", "lost", "connected"}, said)
				})
			})
		}
	}
}

// The client is closed at any instant of a probe: nothing is left, neither a goroutine
// (the bubble would fail) nor a session on the servers.
func TestCloseDuringAProbeLeavesNoSession(t *testing.T) {
	for i := range rounds(24) {
		inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
			probing := w.probed(200 * time.Millisecond)
			<-probing
			w.sleep(time.Duration(i) * 25 * time.Millisecond)
			w.close(w.client)
			w.sleep(time.Second)
			require.Empty(w, w.srv.Sessions())
		})
	}
}

// probed makes the servers refuse the client's session for good, and returns a
// channel, closed when a probe's handshake has been sent; answers take the
// given time.
func (w *world) probed(answers time.Duration) <-chan struct{} {
	w.Helper()
	_, err := w.s.Create(w.ctx, "/old", nil, Persistent, nil)
	require.NoError(w, err)
	require.NoError(w, w.srv.RestartEmpty())
	w.sleep(2*w.s.Timeout() - time.Second)
	w.srv.Delay(zktest.Link{}, zktest.ToClient, answers)
	probing := make(chan struct{})
	// Ends with the loop; the test waits for the channel.
	go func() {
		defer close(probing)
		for !w.s.probing() {
			w.sleep(time.Millisecond)
		}
	}()
	return probing
}

func (s *Session) probing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopProbe != nil
}

// A server takes the session back while another server is asked for a new
// session: the session continues, and the probe's session is closed at once, at
// any stage of the probe.
func TestSessionThatIsBackDuringAProbeGoesOn(t *testing.T) {
	closed := 0
	for i := range rounds(40) {
		inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
			old := new(atomic.Pointer[Session])
			probed, first := make(chan struct{}), new(sync.Once)
			dial := w.srv.Client("fickle")
			c := w.connect("", &Options{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if s := old.Load(); s != nil && s.probing() {
					first.Do(func() { close(probed) })
					time.Sleep(time.Duration(i%8) * 100 * time.Millisecond)
				}
				return dial(ctx, network, addr)
			}})
			defer w.close(c)
			s := w.session(c)
			old.Store(s)
			require.NoError(w, w.srv.Stop(1))
			require.NoError(w, w.srv.Stop(2))
			<-probed
			w.srv.ResetStats()
			w.srv.Delay(zktest.Link{}, zktest.ToClient, time.Duration(i%5)*40*time.Millisecond)
			require.NoError(w, w.srv.Restart(2))
			require.NoError(w, s.Sync(w.ctx, "/"))
			w.sleep(5 * time.Second)
			require.Same(w, s, w.session(c))
			require.Equal(w, Connected, c.State().Status)
			require.Equal(w, s.ID(), c.State().Session)
			require.Len(w, w.srv.Sessions(), 2, "the world's and this session")
			closed += w.srv.Stats().Requests["closeSession"]
		})
	}
	require.Positive(t, closed, "no server has granted a probe in any of the runs")
}

// Holds are lost when trust runs out, with a quorum or without, and before any probe.
func TestProbeComesAfterTheEndOfTrust(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		w.createHeld(w.s, "/h")
		require.NoError(w, w.srv.Stop(1))
		require.NoError(w, w.srv.Stop(2))
		began := time.Now()
		<-w.s.Context().Done()
		require.ErrorIs(w, w.s.Err(), ErrTrustRanOut)
		require.Less(w, time.Since(began), w.s.Timeout())
	})
}

// screened calls refuses with the session id of each handshake, 0 for a new
// session, and hangs up if refuses returns true.
type screened struct {
	net.Conn
	refuses func(id int64) bool
	greeted bool
}

func (s *screened) Write(p []byte) (int, error) {
	const at = 4 + 4 + 8 + 4 // length, protocol, last zxid, timeout
	if !s.greeted && s.refuses(int64(binary.BigEndian.Uint64(p[at:]))) {
		_ = s.Close()
		return len(p), nil
	}
	s.greeted = true
	return s.Conn.Write(p)
}

func (w *world) screenedClient(refuses func(id int64) bool) *Client {
	w.Helper()
	dial := w.srv.Client("screened")
	return w.connect("", &Options{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &screened{Conn: conn, refuses: refuses}, err
	}})
}

// Each refused client costs the servers a request for a session, so requests
// must be rare: one per timeout and server.
func TestProbesComeOncePerTimeout(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		var probes atomic.Int64
		c := w.screenedClient(func(id int64) bool {
			if id == 0 {
				probes.Add(1)
			}
			return false
		})
		defer w.close(c)
		s := w.session(c)
		probes.Store(0)
		require.NoError(w, w.srv.Stop(1))
		require.NoError(w, w.srv.Stop(2))
		w.sleep(2*s.Timeout() - time.Millisecond)
		require.Zero(w, probes.Load())
		w.sleep(10 * s.Timeout())
		require.GreaterOrEqual(w, probes.Load(), int64(8))
		require.LessOrEqual(w, probes.Load(), int64(10))
	})
}

// An ensemble that refuses a session for an unknown reason, and serves others,
// refuses this session permanently: the client knows after a second probe.
func TestSessionThatIsRefusedForNoKnownReasonEnds(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		var refused atomic.Int64
		c := w.screenedClient(func(id int64) bool { return id != 0 && id == refused.Load() })
		defer w.close(c)
		s := w.session(c)
		refused.Store(s.ID())
		began := time.Now()
		require.Equal(w, 1, w.srv.Cut(s.ID()))
		<-s.Context().Done()
		require.ErrorIs(w, s.Err(), ErrRefused)
		require.GreaterOrEqual(w, time.Since(began), 3*s.Timeout())
		require.Less(w, time.Since(began), 4*s.Timeout())
		next := w.session(c)
		require.NoError(w, next.Sync(w.ctx, "/"))
		w.sleep(s.Timeout())
		require.Len(w, w.srv.Sessions(), 2, "the world's and the new session")
	})
}
