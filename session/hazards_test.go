package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// go-zookeeper queues requests while disconnected, and sends them in the next
// session.
func TestARequestNeverLandsInALaterSession(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/p", "")
		link := zktest.Link{Session: w.s.ID()}
		w.srv.BlackHole(link, zktest.Both)
		var all sync.WaitGroup
		var mu sync.Mutex
		var ends []error
		for i := range 20 {
			// Waited for below; ends with the session.
			all.Go(func() {
				time.Sleep(time.Duration(i) * 800 * time.Millisecond)
				_, err := w.s.Create(w.ctx, fmt.Sprintf("/p/%d", i), nil, Ephemeral, nil)
				mu.Lock()
				defer mu.Unlock()
				ends = append(ends, err)
			})
		}
		w.sleep(13 * time.Second) // expired by now
		w.srv.Heal()
		all.Wait()
		for _, err := range ends {
			if !errors.Is(err, ErrUnknownOutcome) { // in progress when the link broke
				require.ErrorIs(w, err, ErrLost)
			}
		}
		w.sleep(10 * time.Second)
		left, err := w.srv.Children("/p")
		require.NoError(w, err)
		assert.Empty(w, left)
		assert.NotEqual(w, w.s.ID(), w.session(w.client).ID())
	})
}

// go-zookeeper loses events when setting many watches again while events and
// answers arrive. N35.
func TestNoChangeIsMissedOverReconnectsWithManyWatches(t *testing.T) {
	const nodes = 300
	inWorld(t, nil, nil, func(w *world) {
		for i := range nodes {
			w.createNode(fmt.Sprintf("/n%03d", i), "0")
		}
		ctx, stop := context.WithCancel(w.ctx)
		var mu sync.Mutex
		seen := make([]string, nodes)
		var readers sync.WaitGroup
		for i := range nodes {
			// Waited for below; ends with ctx.
			readers.Go(func() {
				for {
					data, _, watch, err := w.s.GetW(ctx, fmt.Sprintf("/n%03d", i))
					if err != nil {
						return
					}
					mu.Lock()
					seen[i] = string(data)
					mu.Unlock()
					if _, err := watch.Wait(ctx); err != nil {
						return
					}
				}
			})
		}
		for round := range 30 {
			w.sleep(50 * time.Millisecond)
			if round%2 == 0 {
				w.srv.CutAll()
			}
			for i := range nodes {
				require.NoError(w, w.srv.Set(fmt.Sprintf("/n%03d", i), fmt.Appendf(nil, "%d", round)))
			}
			if round%3 == 0 {
				w.srv.CutAll()
			}
		}
		w.sleep(10 * time.Second)
		mu.Lock()
		for i, data := range seen {
			assert.Equal(w, "29", data, "node %d", i)
		}
		mu.Unlock()
		assert.Equal(w, nodes, w.srv.Stats().Watches)
		assert.Equal(w, nodes, w.s.watches.count())
		stop()
		readers.Wait()
		w.sleep(time.Second)
		assert.Zero(w, w.srv.Stats().Watches)
		assert.Zero(w, w.s.watches.count())
	})
}

// A lost write while credentials are sent again wedges go-zookeeper indefinitely.
func TestLostCredentialsDoNotWedgeTheConnection(t *testing.T) {
	creds := []Credential{Digest("a", "1"), Digest("b", "2")}
	for _, fault := range []zktest.Fault{zktest.CutBefore, zktest.DropReplyCut, zktest.DropRequest, zktest.DropReplyHole} {
		for n := 1; n <= 4; n++ {
			inWorld(t, nil, &Options{Credentials: creds}, func(w *world) {
				w.srv.FailNth(isOp("setAuth"), n, zktest.Action{Do: fault})
				w.srv.CutAll()
				w.sleep(20 * time.Second)
				w.srv.CutAll()
				w.sleep(20 * time.Second)
				node, err := w.s.Create(w.within(10*time.Second), "/mine", nil, Persistent, &CreateOptions{ACL: CreatorACL()})
				require.NoError(w, err, "%v at %d", fault, n)
				assert.Equal(w, "/mine", node.Path)
			})
		}
	}
}

// A server behind the session's newest zxid must not be read. N34.
func TestReadsNeverGoBackAfterAMoveToALaggingServer(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		w.createNode("/n", "0")
		w.sleep(time.Second)
		leader := w.srv.Leader()
		lagging := leader%3 + 1
		g := &gate{srv: w.srv, only: leader}
		c := w.connect("", &Options{Dialer: g.dial})
		defer w.close(c)
		s := w.session(c)
		require.NoError(w, w.srv.Lag(lagging, true))
		_, err := s.Set(w.ctx, "/n", []byte("1"), -1)
		require.NoError(w, err)
		old, err := w.srv.GetAt(lagging, "/n")
		require.NoError(w, err)
		require.Equal(w, "0", string(old.Data), "the trap must be set")

		g.set(lagging)
		w.srv.CutLink(zktest.Link{Client: "holder"})
		data, _, err := s.Get(w.within(3*time.Second), "/n")
		if err == nil {
			assert.Equal(w, "1", string(data))
		} else {
			require.ErrorIs(w, err, context.DeadlineExceeded)
		}
		require.NoError(w, w.srv.Lag(lagging, false))
		data, _, err = s.Get(w.within(20*time.Second), "/n")
		require.NoError(w, err)
		assert.Equal(w, "1", string(data))
	})
}

func TestASilentServerCostsAThirdOfTheTimeoutAtMost(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		for i := 1; i <= 3; i++ {
			w.srv.BlackHole(zktest.Link{Client: "late", Server: i}, zktest.ToClient)
			began := time.Now()
			c := w.connect("late", nil)
			assert.LessOrEqual(w, time.Since(began), DefaultTimeout/3+time.Second)
			w.close(c)
			w.srv.Heal()
		}
	})
}

// An answer beyond the limit costs the connection: repeating the request would
// never end.
func TestATooLongAnswerIsReportedAndNotAskedForAgain(t *testing.T) {
	inWorld(t, nil, &Options{MaxReply: 4 << 10}, func(w *world) {
		w.createNode("/big", "")
		for i := range 100 {
			w.createNode(fmt.Sprintf("/big/%s-%03d", strings.Repeat("x", 60), i), "")
		}
		w.srv.ResetStats()
		_, _, err := w.s.Children(w.ctx, "/big")
		require.ErrorIs(w, err, ErrReplyTooLarge)
		assert.Equal(w, 1, w.srv.Stats().Requests["getChildren2"])
		_, there, err := w.s.Exists(w.ctx, "/big")
		require.NoError(w, err)
		assert.True(w, there, "the session goes on")
		assert.NoError(w, w.s.Err())
	})
}

func TestATooLargeRequestIsNotSent(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/n", "")
		_, err := w.s.Set(w.ctx, "/n", make([]byte, 1<<20), -1)
		require.ErrorIs(w, err, ErrTooLarge)
		require.NotErrorIs(w, err, ErrUnknownOutcome)
		_, err = w.s.Set(w.ctx, "/n", make([]byte, 1<<20-200), -1)
		require.NoError(w, err)
		assert.Equal(w, 1, w.srv.Stats().Connections)
	})
}

// A read whose answer is lost each time is repeated with pauses.
func TestARepeatedReadBacksOff(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "getData" {
				return zktest.Action{Do: zktest.CutBefore}
			}
			return zktest.Action{}
		})
		_, _, err := w.s.Get(w.within(30*time.Second), "/")
		require.ErrorIs(w, err, context.DeadlineExceeded)
		assert.InDelta(w, 13, w.srv.Stats().Requests["getData"], 8)
	})
}

// closing are the states in which a client is closed; each function puts the
// client into its state.
func closing() map[string]func(w *world) {
	return map[string]func(w *world){
		"connected": func(*world) {},
		"with requests in progress": func(w *world) {
			w.srv.Delay(zktest.Link{}, zktest.ToClient, 5*time.Second)
			for range 10 {
				w.s.StartGet("/", true)
			}
		},
		"suspended, server down": func(w *world) { must(w.srv.Stop(1)); w.sleep(time.Second) },
		"suspended for a minute": func(w *world) { must(w.srv.Stop(1)); w.sleep(time.Minute) },
		"black-holed":            func(w *world) { w.srv.BlackHole(zktest.Link{}, zktest.Both); w.sleep(time.Second) },
		"black-holed, noticed":   func(w *world) { w.srv.BlackHole(zktest.Link{}, zktest.Both); w.sleep(8 * time.Second) },
		"handshake unanswered": func(w *world) {
			w.srv.BlackHole(zktest.Link{}, zktest.ToClient)
			w.srv.CutAll()
			w.sleep(500 * time.Millisecond)
		},
		"expired, unnoticed": func(w *world) {
			w.srv.BlackHole(zktest.Link{}, zktest.ToClient)
			must(w.srv.ExpireSession(w.s.ID()))
		},
		"expired, the next session in progress": func(w *world) {
			w.srv.Delay(zktest.Link{}, zktest.ToClient, time.Second)
			must(w.srv.ExpireSession(w.s.ID()))
			<-w.s.Context().Done()
			w.sleep(500 * time.Millisecond)
		},
		"lost, no server": func(w *world) {
			h := w.createHeld(w.s, "/h")
			must(w.srv.Stop(1))
			<-h.Context().Done()
			w.sleep(10 * time.Second)
		},
		"closing already": func(w *world) {
			// Ends when the client is closed; the bubble waits for it.
			go func() { _ = w.client.Close(w.ctx) }()
		},
	}
}

// The bubble fails if a goroutine is left (P25).
// CH49, CH63.
func TestCloseLeavesNothingInAnyState(t *testing.T) {
	for name, into := range closing() {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, nil, func(w *world) {
				into(w)
				began := time.Now()
				w.close(w.client)
				assert.LessOrEqual(w, time.Since(began), 7*time.Second)
				synctest.Wait()
				assert.Equal(w, Closed, w.client.State().Status)
				require.ErrorIs(w, w.s.Err(), ErrLost)
				_, err := w.client.Session(w.ctx)
				require.ErrorIs(w, err, ErrClosed)
				_, _, err = w.s.Get(w.ctx, "/")
				require.ErrorIs(w, err, ErrLost)
				require.NoError(w, w.client.Close(w.ctx), "a second Close only waits")
			})
		})
	}
}

func TestCloseTellsTheServer(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createHeld(w.s, "/h")
		began := time.Now()
		w.close(w.client)
		assert.Less(w, time.Since(began), time.Second)
		assert.Empty(w, w.srv.Sessions())
		assert.False(w, w.exists("/h"))
	})
}

func TestCloseIsBoundedByItsContext(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		_, err := w.s.Create(w.ctx, "/mine", nil, Persistent, nil)
		require.NoError(w, err)
		w.srv.BlackHole(zktest.Link{}, zktest.Both)
		require.Error(w, w.s.EnsureDeleted(w.within(time.Second), "/mine"))
		began := time.Now()
		err = w.client.Close(w.within(2 * time.Second))
		assert.ErrorIs(w, err, context.DeadlineExceeded)
		assert.Equal(w, 2*time.Second, time.Since(began))
	})
}

func TestConnectThatIsGivenUpLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
			"refused": func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") },
			"hanging": func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() },
			"silent": func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				// The bubble waits for it; ends with the connection.
				go func() {
					for b := make([]byte, 100); ; {
						if _, err := server.Read(b); err != nil {
							return
						}
					}
				}()
				return client, nil
			},
			"deaf": func(context.Context, string, string) (net.Conn, error) { client, _ := net.Pipe(); return client, nil },
		} {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			began := time.Now()
			_, err := Connect(ctx, "192.0.2.1,192.0.2.2", &Options{Dialer: dial})
			cancel()
			require.ErrorIs(t, err, ErrUnreachable, name)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			assert.Less(t, time.Since(began), 35*time.Second, name)
		}
	})
}

func TestConnectTriesEveryServerInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var tried []string
		var pauses []time.Duration
		last := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_, err := Connect(ctx, "192.0.2.1,192.0.2.2,192.0.2.3", &Options{Dialer: func(_ context.Context, _, addr string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			tried = append(tried, addr)
			pauses = append(pauses, time.Since(last))
			last = time.Now()
			return nil, errors.New("refused by " + addr)
		}})
		require.ErrorIs(t, err, ErrUnreachable)
		require.ErrorContains(t, err, "refused by 192.0.2.")
		mu.Lock()
		defer mu.Unlock()
		first := slices.Sorted(slices.Values(tried[:3]))
		assert.Equal(t, []string{"192.0.2.1:2181", "192.0.2.2:2181", "192.0.2.3:2181"}, first)
		assert.Equal(t, tried[:3], tried[3:6])
		assert.Equal(t, []time.Duration{0, 0, 0}, pauses[:3], "each once before the first wait")
		assert.Positive(t, pauses[3])
		assert.LessOrEqual(t, slices.Max(pauses), time.Second)
		assert.Less(t, len(tried), 150, "a second's wait, less up to a half, for each round of three")
	})
}
