package session

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// diary collects the events of an observer and the lines of a logger.
type diary struct {
	mu       sync.Mutex
	states   []string
	events   []observe.Event
	requests map[string]int
	results  map[observe.Result]int
	beats    int
	log      strings.Builder
}

func newDiary() *diary {
	return &diary{requests: map[string]int{}, results: map[observe.Result]int{}}
}

// Observe makes a diary an observer.
func (d *diary) Observe(_ context.Context, e observe.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
	switch e := e.(type) {
	case observe.SessionChanged:
		d.states = append(d.states, e.Status)
	case observe.HeartbeatEnded:
		if e.Err == nil && e.Took >= 0 {
			d.beats++
		}
	}
}

// ObserveRequest makes a diary an observer of requests.
func (d *diary) ObserveRequest(_ context.Context, r observe.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests[r.Op]++
	if r.Took >= 0 {
		d.results[r.Result]++
	}
}

// Write makes a diary a logger's output.
func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.Write(p)
}

func TestObserverAndLogTellWhatHappens(t *testing.T) {
	d := newDiary()
	inWorld(t, nil, &Options{Observer: d, Logger: slog.New(slog.NewTextHandler(d, nil))}, func(w *world) {
		w.createHeld(w.s, "/h")
		_, _, err := w.s.Get(w.ctx, "/none")
		require.ErrorIs(w, err, ErrNoNode)
		w.sleep(10 * time.Second)
		w.srv.CutAll()
		w.sleep(time.Second)
		require.NoError(w, w.srv.ExpireSession(w.s.ID()))
		w.sleep(time.Second)
		w.close(w.client)
	})
	assert.Equal(t, []string{"connected", "suspended", "connected", "suspended", "lost", "connected", "closed"}, d.states)
	assert.Equal(t, 1, d.requests["create"])
	assert.Equal(t, 1, d.results[observe.Negative], "the get of a missing znode")
	assert.Zero(t, d.results[observe.Refused])
	assert.Greater(t, d.beats, 10)
	assert.Contains(t, d.logged(), "session lost")
	assert.Contains(t, d.logged(), "expired by the server")
}

// An observer that does not return delays the events of the session, and nothing else.
func TestObserverThatHangsHarmsNoHold(t *testing.T) {
	d := newDiary()
	hang := observe.Func(func(ctx context.Context, e observe.Event) {
		if _, ok := e.(observe.HeartbeatEnded); ok {
			<-time.After(time.Minute)
		}
		d.Observe(ctx, e)
	})
	inWorld(t, nil, &Options{Observer: hang}, func(w *world) {
		h := w.createHeld(w.s, "/h")
		w.sleep(30 * time.Second)
		w.srv.CutAll()
		w.sleep(20 * time.Second)
		require.NoError(w, h.Err())
		d.mu.Lock()
		require.Equal(w, []string{"connected"}, d.states)
		d.mu.Unlock()
		h.End(nil)
		w.sleep(3 * time.Hour)
		d.mu.Lock()
		defer d.mu.Unlock()
		require.Equal(w, []string{"connected", "suspended", "connected"}, d.states)
		require.Greater(w, d.beats, 40)
	})
}

func TestSessionIsSampledEveryTenSeconds(t *testing.T) {
	d := newDiary()
	inWorld(t, nil, &Options{Observer: d}, func(w *world) {
		w.createHeld(w.s, "/h")
		_, _, watch, err := w.s.ChildrenW(w.ctx, "/")
		require.NoError(w, err)
		defer watch.Stop()
		w.sleep(31 * time.Second)
		d.mu.Lock()
		defer d.mu.Unlock()
		n, beats := 0, 0
		for _, e := range d.events {
			if e, ok := e.(observe.HeartbeatEnded); ok {
				require.Equal(w, 1, e.Holds)
				require.Greater(w, e.TrustLeft, 5*time.Second, "after the proof")
				beats++
			}
			if e, ok := e.(observe.SessionSampled); ok {
				n++
				require.Equal(w, 1, e.Holds)
				require.Equal(w, 2, e.Watches, "of the hold and of the children")
				require.Equal(w, w.s.ID(), e.Session)
				require.Greater(w, e.TrustLeft, 5*time.Second)
			}
		}
		require.Positive(w, beats)
		require.Equal(w, 3, n)
	})
}

// A long outage is reported again and again, and sparsely; so is the next one.
func TestOutageIsReportedSparsely(t *testing.T) {
	d := newDiary()
	inWorld(t, nil, &Options{Observer: d}, func(w *world) {
		for range 2 {
			require.NoError(w, w.srv.Stop(1))
			w.sleep(5 * time.Minute)
			require.NoError(w, w.srv.Restart(1))
			w.sleep(time.Minute)
			var seconds []int
			d.mu.Lock()
			for _, e := range d.events {
				if e, ok := e.(observe.NoConnection); ok {
					require.Equal(w, "suspended", e.Status)
					require.Error(w, e.Err)
					seconds = append(seconds, int(e.For.Round(time.Second).Seconds()))
				}
			}
			d.events = nil
			d.mu.Unlock()
			require.Equal(w, []int{1, 2, 4, 8, 16, 32, 64, 124, 184, 244}, seconds)
		}
	})
}

func TestStatesOfOneMomentAreTold(t *testing.T) {
	now := time.Now()
	s := newStates(now)
	seen := map[time.Time]bool{}
	for range 3 {
		for _, status := range []Status{Connected, Suspended} {
			require.True(t, s.set(State{Status: status, Since: now}))
			state, _ := s.get()
			seen[state.Since] = true
		}
	}
	require.Len(t, seen, 6)
}

func TestStatesBeginWithThePresentAndNeverGoBack(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		var seen []State
		done := make(chan struct{})
		// Waited for below; ends with the client.
		go func() {
			defer close(done)
			for state, err := range w.client.States(w.ctx) {
				if err != nil {
					w.Error(err)
				}
				seen = append(seen, state)
			}
		}()
		synctest.Wait()
		w.srv.BlackHole(zktest.Link{}, zktest.Both)
		w.srv.CutAll()
		w.sleep(time.Second)
		w.srv.Heal()
		w.sleep(5 * time.Second)
		w.close(w.client)
		<-done
		var kinds []Status
		for i, s := range seen {
			kinds = append(kinds, s.Status)
			assert.False(w, i > 0 && !s.Since.After(seen[i-1].Since))
		}
		assert.Equal(w, Connected, kinds[0])
		assert.Contains(w, kinds, Suspended)
		assert.Equal(w, Closed, kinds[len(kinds)-1])
		assert.Equal(w, w.s.ID(), seen[0].Session)
		assert.Equal(w, w.srv.Addr(), seen[0].Server)
		assert.Error(w, seen[1].Cause)
		require.ErrorIs(w, seen[len(seen)-1].Cause, ErrClosed)
	})
}

func TestStatesEndWithTheirContext(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		ctx := w.within(time.Minute)
		n := 0
		for _, err := range w.client.States(ctx) {
			if n++; n == 2 {
				require.ErrorIs(w, err, context.DeadlineExceeded)
			}
		}
		assert.Equal(w, 2, n)
	})
}

// The report of a connection made at the moment of the loss may arrive after
// the loss.
func TestLostIsFinalForItsSession_CH61(t *testing.T) {
	s := newStates(time.Now())
	assert.True(t, s.set(State{Status: Connected, Session: 1}))
	assert.True(t, s.set(State{Status: Lost, Session: 1}))
	assert.False(t, s.set(State{Status: Connected, Session: 1}))
	assert.True(t, s.set(State{Status: Connected, Session: 2}))
	assert.True(t, s.set(State{Status: Lost, Session: 2}))
	assert.True(t, s.set(State{Status: Closed}))
	assert.False(t, s.set(State{Status: Connected, Session: 3}))
}

// The connection is repaired about the moment in which the session is given up: the
// state and the hold agree, and what is lost stays lost (CH61).
func TestRepairAtTheMomentOfTheLossRevivesNothing_CH61(t *testing.T) {
	silence := func(w *world, heal time.Duration) (time.Duration, Status) {
		h := w.createHeld(w.s, "/h")
		w.srv.BlackHole(zktest.Link{}, zktest.Both)
		w.srv.CutAll()
		silent := time.Now()
		loss := make(chan time.Duration, 1)
		stop := context.AfterFunc(h.Context(), func() { loss <- time.Since(silent) })
		defer stop()
		w.sleep(heal)
		w.srv.Heal()
		w.sleep(10 * w.s.Timeout())
		state := w.client.State()
		var lost time.Duration
		select {
		case lost = <-loss:
		default:
			require.NoError(w, w.s.Err())
			require.Equal(w, w.s.ID(), state.Session)
			require.True(w, w.exists("/h"))
			return 0, state.Status
		}
		require.ErrorIs(w, h.Err(), ErrLost)
		require.ErrorIs(w, w.s.Err(), ErrLost)
		require.NotEqual(w, w.s.ID(), state.Session, "the session that was lost is not used again")
		return lost, state.Status
	}
	var at time.Duration
	inWorld(t, nil, nil, func(w *world) { at, _ = silence(w, 5*w.s.Timeout()) })
	require.Positive(t, at, "without a repair the hold is lost")
	kept, lost := 0, 0
	for heal := at - 40*time.Millisecond; heal <= at+10*time.Millisecond; heal += time.Millisecond {
		inWorld(t, nil, nil, func(w *world) {
			moment, status := silence(w, heal)
			require.Equal(w, Connected, status)
			if moment == 0 {
				kept++
			} else {
				lost++
				require.Equal(w, at, moment)
			}
		})
	}
	require.Positive(t, kept)
	require.Positive(t, lost)
}

func TestTimeoutsThatServersRefuseAreErrors(t *testing.T) {
	for _, asked := range []time.Duration{time.Second, time.Minute} {
		inWorld(t, nil, nil, func(w *world) {
			_, err := Connect(w.ctx, w.srv.Addr(), &Options{Timeout: asked, Dialer: w.srv.Dial})
			require.ErrorIs(w, err, ErrTimeoutRefused)
			require.ErrorContains(w, err, "asked for "+asked.String())
			w.sleep(time.Second)
			assert.Len(w, w.srv.Sessions(), 1, "the refused session is closed")
		})
	}
	inWorld(t, &zktest.Options{TickTime: 500 * time.Millisecond, MaxSessionTimeout: 6 * time.Second}, nil, func(w *world) {
		assert.Equal(w, 6*time.Second, w.s.Timeout(), "the default accepts the granted timeout")
		_, err := Connect(w.ctx, w.srv.Addr(), &Options{TickTime: 10 * time.Second, Dialer: w.srv.Dial})
		require.ErrorIs(w, err, ErrTimeoutTooShort)
		c, err := Connect(w.ctx, w.srv.Addr(), &Options{TickTime: 10 * time.Second, Trust: TrustAnswered, Dialer: w.srv.Dial})
		require.NoError(w, err)
		w.close(c)
	})
}

func TestAnEndedContextIsCheckedFirst(t *testing.T) {
	cause := errors.New("no more time")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	_, err := Connect(ctx, "not a server list,", nil)
	require.ErrorIs(t, err, cause)
	require.ErrorIs(t, err, context.Canceled)
	inWorld(t, nil, nil, func(w *world) {
		w.srv.ResetStats()
		_, err := w.s.Create(ctx, "/x", nil, Persistent, nil)
		require.ErrorIs(w, err, cause)
		require.NotErrorIs(w, err, ErrUnknownOutcome)
		_, err = w.client.Session(ctx)
		require.ErrorIs(w, err, cause)
		assert.False(w, w.exists("/x"))
	})
}

func TestCredentialsGiveAccess(t *testing.T) {
	mine := &Options{Credentials: []Credential{Digest("me", "secret")}, ACL: CreatorACL()}
	inWorld(t, nil, mine, func(w *world) {
		_, err := w.s.Create(w.ctx, "/mine", []byte("x"), Persistent, nil)
		require.NoError(w, err)
		other := w.connect("other", nil)
		defer w.close(other)
		s := w.session(other)
		_, _, err = s.Get(w.ctx, "/mine")
		require.ErrorIs(w, err, ErrNoAuth)
		_, err = s.Set(w.ctx, "/mine", nil, -1)
		require.ErrorIs(w, err, ErrNoAuth)
		_, err = s.Create(w.ctx, "/mine/x", nil, Persistent, nil)
		require.ErrorIs(w, err, ErrNoAuth)
		assert.Zero(w, s.watches.count())
		_, _, _, err = s.GetW(w.ctx, "/mine")
		require.ErrorIs(w, err, ErrNoAuth)
		assert.Zero(w, s.watches.count())
		w.srv.CutAll()
		_, _, err = w.s.Get(w.ctx, "/mine")
		require.NoError(w, err, "sent again on each connection")
		h := w.createHeld(w.s, "/mine/e")
		w.sleep(time.Minute)
		require.NoError(w, h.Err())
	})
}

func TestRefusedCredentialsFailConnect(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		began := time.Now()
		_, err := Connect(w.ctx, w.srv.Addr(), &Options{Credentials: []Credential{{"sasl?", []byte("x")}}, Dialer: w.srv.Dial})
		require.ErrorIs(w, err, ErrAuthFailed)
		assert.Less(w, time.Since(began), 5*time.Second)
	})
}

func TestEnsurePath(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		require.NoError(w, w.s.EnsurePath(w.ctx, "/a/b/c", Persistent, nil))
		require.NoError(w, w.s.EnsurePath(w.ctx, "/a/b/c", Persistent, nil))
		require.NoError(w, w.s.EnsurePath(w.ctx, "/", Persistent, nil))
		require.NoError(w, w.s.EnsurePath(w.ctx, "/a/k/c", Container, nil))
		node, err := w.srv.Get("/a/k/c")
		require.NoError(w, err)
		assert.True(w, node.Container)
		node, err = w.srv.Get("/a/k")
		require.NoError(w, err)
		assert.False(w, node.Container)
		for _, mode := range []Mode{Ephemeral, EphemeralSequential, PersistentSequential} {
			require.ErrorIs(w, w.s.EnsurePath(w.ctx, "/x", mode, nil), ErrInvalidOption)
		}
		require.ErrorIs(w, w.s.EnsurePath(w.ctx, "x", Persistent, nil), ErrInvalidPath)
		w.createHeld(w.s, "/e")
		require.ErrorIs(w, w.s.EnsurePath(w.ctx, "/e/x", Persistent, nil), ErrNoChildrenForEphemerals)
	})
}

func TestEnsurePathMakesTheChroot(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		c, err := Connect(w.ctx, w.srv.Addr()+"/app/one", &Options{Dialer: w.srv.Dial})
		require.NoError(w, err)
		defer w.close(c)
		s := w.session(c)
		assert.Equal(w, "/app/one", c.Chroot())
		_, err = s.Create(w.ctx, "/x", nil, Persistent, nil)
		require.ErrorIs(w, err, ErrNoNode)
		require.NoError(w, s.EnsurePath(w.ctx, "/", Persistent, nil))
		_, _, watch, err := s.ChildrenW(w.ctx, "/")
		require.NoError(w, err)
		var all heard
		_, err = s.Subscribe(w.ctx, "/", true, all.notify)
		require.NoError(w, err)
		node, err := s.Create(w.ctx, "/x-", nil, EphemeralSequential, nil)
		require.NoError(w, err)
		assert.Equal(w, "/x-0000000000", node.Path)
		assert.True(w, w.exists("/app/one/x-0000000000"))
		assert.Equal(w, "/", w.fires(watch).Path)
		assert.Equal(w, []Event{{EventCreated, "/x-0000000000"}}, all.drain())
		w.createNode("/app/onerous", "")
		assert.Empty(w, all.drain())
		results, err := s.Txn(w.ctx, CreateOp("/t", nil, Persistent, nil))
		require.NoError(w, err)
		assert.Equal(w, "/t", results[0].Path)
		found, err := s.CreateProtected(w.ctx, "/"+ProtectedName("p"), nil, Ephemeral, nil)
		require.NoError(w, err)
		assert.True(w, w.exists("/app/one"+found.Path))
		children, _, err := s.Children(w.ctx, "/")
		require.NoError(w, err)
		assert.Len(w, children, 3)
	})
}

// CH64: a client without permission to create needs only that the path exists.
func TestEnsurePathNeedsNoPermissionForWhatIsThere(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		require.NoError(w, w.s.EnsurePath(w.ctx, "/a/b", Persistent, nil))
		_, err := w.s.SetACL(w.ctx, "/a", WorldACL(zk.PermRead), -1)
		require.NoError(w, err)
		require.NoError(w, w.s.EnsurePath(w.ctx, "/a/b/c", Persistent, nil))
		require.NoError(w, w.s.EnsurePath(w.ctx, "/a/b", Persistent, nil))
		require.ErrorIs(w, w.s.EnsurePath(w.ctx, "/a/new", Persistent, nil), ErrNoAuth)
	})
}

func TestSequencesNearTheirEnd(t *testing.T) {
	d := &diary{}
	inWorld(t, nil, &Options{Logger: slog.New(slog.NewTextHandler(d, nil))}, func(w *world) {
		w.createNode("/p", "")
		require.NoError(w, w.srv.SetSequence("/p", 2147483645))
		for _, want := range []string{"2147483645", "2147483646"} {
			node, err := w.s.CreateProtected(w.ctx, "/p/"+ProtectedName("x-"), nil, EphemeralSequential, nil)
			require.NoError(w, err)
			assert.True(w, strings.HasSuffix(node.Path, "-"+want), node.Path)
		}
		for range 3 {
			_, err := w.s.CreateProtected(w.ctx, "/p/"+ProtectedName("x-"), nil, EphemeralSequential, nil)
			require.ErrorIs(w, err, ErrSequenceExhausted)
		}
		_, err := w.s.Create(w.ctx, "/p/plain-", nil, PersistentSequential, nil)
		require.NoError(w, err, "a plain create takes any number")
		_, err = w.s.Create(w.ctx, "/p/plain-", nil, PersistentSequential, nil)
		require.ErrorIs(w, err, ErrSequenceExhausted)
		w.sleep(time.Second)
		left, err := w.srv.Children("/p")
		require.NoError(w, err)
		assert.Len(w, left, 3, "refused nodes are not left behind")
		require.NoError(w, w.srv.SetSequence("/p", -5))
		_, err = w.s.CreateProtected(w.ctx, "/p/"+ProtectedName("x-"), nil, EphemeralSequential, nil)
		require.ErrorIs(w, err, ErrSequenceExhausted)
	})
	assert.Equal(t, 1, strings.Count(d.logged(), "run out"), "one warning per parent and session")
}

func TestTTLAndContainers(t *testing.T) {
	inWorld(t, &zktest.Options{ContainerInterval: time.Second}, nil, func(w *world) {
		ttl := &CreateOptions{TTL: 5 * time.Second}
		_, err := w.s.Create(w.ctx, "/ttl", nil, PersistentTTL, ttl)
		require.NoError(w, err)
		node, err := w.s.Create(w.ctx, "/ttl-", nil, PersistentSequentialTTL, ttl)
		require.NoError(w, err)
		assert.Equal(w, "/ttl-0000000001", node.Path)
		_, err = w.s.Create(w.ctx, "/box", nil, Container, nil)
		require.NoError(w, err)
		_, err = w.s.Create(w.ctx, "/box/x", nil, Persistent, nil)
		require.NoError(w, err)
		require.NoError(w, w.s.Delete(w.ctx, "/box/x", -1))
		w.sleep(10 * time.Second)
		assert.Len(w, w.srv.Dump(), 1, "all are gone but the root")
		for _, bad := range []time.Duration{0, -1, time.Microsecond, maxTTL + time.Millisecond} {
			_, err = w.s.Create(w.ctx, "/x", nil, PersistentTTL, &CreateOptions{TTL: bad})
			require.ErrorIs(w, err, ErrInvalidOption)
		}
		_, err = w.s.Create(w.ctx, "/x", nil, Persistent, ttl)
		require.ErrorIs(w, err, ErrInvalidOption)
		_, err = w.s.Create(w.ctx, "/x", nil, 77, nil)
		require.ErrorIs(w, err, ErrInvalidOption)
	})
	inWorld(t, &zktest.Options{DisableExtendedTypes: true}, nil, func(w *world) {
		_, err := w.s.Create(w.ctx, "/ttl", nil, PersistentTTL, &CreateOptions{TTL: time.Second})
		require.ErrorIs(w, err, ErrUnsupported)
	})
}

func TestRequestsStartedTogetherAreCarriedOutInOrder(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/n", "")
		var sets []*Future[Stat]
		for i := range 100 {
			sets = append(sets, w.s.StartSet("/n", []byte{byte(i)}, int32(i)))
		}
		last := w.s.StartGet("/n", false)
		for i, f := range sets {
			stat, err := f.Wait(w.ctx)
			require.NoError(w, err)
			assert.EqualValues(w, i+1, stat.Version)
		}
		seen, err := last.Wait(w.ctx)
		require.NoError(w, err)
		assert.Equal(w, []byte{99}, seen.Data)
		<-last.Done()
		told := 0
		last.Then(func(Seen, error) { told++ })
		assert.Equal(w, 1, told, "at once if the node exists")

		must(w.srv.Stop(1)) // a mere cut can be mended before the next line
		_, err = w.s.StartSet("/n", nil, -1).Wait(w.ctx)
		assert.True(w, NotSent(err) || Unanswered(err), "%v", err)
		none, err := w.s.StartTxn().Wait(w.ctx)
		require.NoError(w, err)
		assert.Empty(w, none)
	})
}

// An operation abandoned at a random moment ends at once, and its write is done
// once or not at all.
func TestACallEndsWithItsContextWhateverTheNetworkDoes(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/n", "")
		for i, into := range []func(){
			func() {}, func() { w.srv.Delay(zktest.Link{}, zktest.Both, time.Second) },
			func() { w.srv.BlackHole(zktest.Link{}, zktest.ToClient) }, func() { w.srv.BlackHole(zktest.Link{}, zktest.Both) },
			func() { w.srv.CutAll() }, func() { must(w.srv.Stop(1)) },
		} {
			into()
			for _, limit := range []time.Duration{0, time.Millisecond, 700 * time.Millisecond} {
				began := time.Now()
				ctx, cancel := context.WithTimeout(w.ctx, limit)
				_, err := w.s.Set(ctx, "/n", nil, -1)
				cancel()
				assert.LessOrEqual(w, time.Since(began), limit, "case %d", i)
				if err != nil && !Unanswered(err) {
					require.ErrorIs(w, err, context.DeadlineExceeded)
				}
			}
			w.srv.Heal()
			must(w.srv.Restart(1))
			w.sleep(5 * time.Second)
		}
	})
}

// logged is the log so far.
func (d *diary) logged() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}
