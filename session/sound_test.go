package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// soundCase is a fault during a hold, in virtual time, on the model of an
// ensemble (under some of these faults, every rule of the existing clients lets
// two holders overlap).
type soundCase struct {
	name string
	// onLeader wants the holder connected to the leader, otherwise a follower.
	onLeader bool
	// alone: the holder knows no other server.
	alone bool
	// fault breaks something; server is the holder's.
	fault func(srv *zktest.Server, server int)
	// heal, where not 0, is how long after the fault everything is repaired.
	heal time.Duration
	// survives: the session must not be given up.
	survives bool
}

func soundCases() []soundCase {
	link := zktest.Link{Client: "holder"}
	isolate := func(srv *zktest.Server, server int) { srv.IsolateServer(server) }
	freeze := func(srv *zktest.Server, server int) { must(srv.Freeze(server)) }
	stop := func(srv *zktest.Server, server int) { must(srv.Stop(server)) }
	hole := func(d zktest.Direction) func(*zktest.Server, int) {
		return func(srv *zktest.Server, _ int) { srv.BlackHole(link, d) }
	}
	peers := func(d zktest.Direction) func(*zktest.Server, int) {
		return func(srv *zktest.Server, server int) { srv.CutPeers(server, srv.Leader(), d) }
	}
	leader := func(f func(*zktest.Server, int)) func(*zktest.Server, int) {
		return func(srv *zktest.Server, _ int) { f(srv, srv.Leader()) }
	}
	return []soundCase{
		{name: "links to all servers cut", fault: hole(zktest.Both)},
		{name: "links to all servers cut for 3 s", fault: hole(zktest.Both), heal: 3 * time.Second},
		{name: "links to all servers cut for 8 s", fault: hole(zktest.Both), heal: 8 * time.Second},
		{name: "nothing reaches the servers", fault: hole(zktest.ToServer)},
		{name: "nothing comes from the servers", fault: hole(zktest.ToClient)},
		{name: "link to the own server cut", survives: true, fault: func(srv *zktest.Server, server int) {
			srv.BlackHole(zktest.Link{Client: "holder", Server: server}, zktest.Both)
		}},
		{name: "follower isolated", fault: isolate, survives: true},
		{name: "follower isolated, no other known", fault: isolate, alone: true},
		{name: "follower isolated for 4 s, no other known", fault: isolate, alone: true, heal: 4 * time.Second},
		{name: "follower hears the leader, is not heard", fault: peers(zktest.ToServer), alone: true},
		{name: "follower is heard, hears nothing", fault: peers(zktest.ToClient), alone: true},
		{name: "leader isolated, holder on it", fault: isolate, onLeader: true},
		{name: "leader isolated, holder on it, no other known", fault: isolate, onLeader: true, alone: true},
		{name: "leader isolated, holder on a follower", fault: leader(isolate)},
		{name: "leader isolated, holder on a follower, no other known", fault: leader(isolate), alone: true},
		{name: "leader frozen for 30 s, holder on it", fault: freeze, onLeader: true, heal: 30 * time.Second},
		{name: "leader frozen for 30 s, holder on it, no other known", fault: freeze, onLeader: true, alone: true, heal: 30 * time.Second},
		{name: "leader frozen for 30 s, holder on a follower", fault: leader(freeze), heal: 30 * time.Second},
		{name: "leader frozen for 4 s", fault: leader(freeze), alone: true, heal: 4 * time.Second},
		{name: "follower frozen", fault: freeze, survives: true},
		{name: "follower frozen for 6 s, no other known", fault: freeze, alone: true, heal: 6 * time.Second},
		{name: "leader killed", fault: stop, onLeader: true, survives: true},
		{name: "follower killed", fault: stop, survives: true},
		{name: "follower restarted, no other known", fault: stop, alone: true, heal: 5 * time.Second},
		{name: "no quorum", fault: func(srv *zktest.Server, server int) {
			srv.IsolateServer(server)
			srv.IsolateServer(server%3 + 1)
		}},
		{name: "no quorum for 12 s", heal: 12 * time.Second, fault: func(srv *zktest.Server, server int) {
			srv.IsolateServer(server)
			srv.IsolateServer(server%3 + 1)
		}},
	}
}

// must is for calls that cannot fail: on an existing server.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// soundSetting is a configuration.
type soundSetting struct {
	timeout, tick time.Duration
	syncLimit     int
	known         bool // Options.TickTime says tick
	rule          TrustRule
	sharing       int // the number of other sessions on each server that share their heartbeats with the holder
}

func (s soundSetting) String() string {
	return fmt.Sprintf("T=%v tick=%v x %d known=%v rule=%d", s.timeout, s.tick, s.syncLimit, s.known, s.rule)
}

// soundRun is the outcome for a holder.
type soundRun struct {
	lost    time.Time     // end of its context; zero without an end
	expired time.Time     // when the servers ended the session; zero if they did not
	closed  bool          // by its owner
	after   time.Duration // the fault until the loss
	late    bool          // the context had not ended when the servers ended the session
	cause   error
	beats   int           // heartbeats in the time before the fault
	calm    time.Duration // duration of the time before the fault
}

// slack is how much earlier the holder knew.
func (r soundRun) slack() time.Duration { return r.expired.Sub(r.lost) }

// gate is a dialer that, while set, connects to a single server only.
type gate struct {
	srv  *zktest.Server
	mu   sync.Mutex
	only int
}

func (g *gate) set(server int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.only = server
}

func (g *gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	g.mu.Lock()
	only := g.only
	g.mu.Unlock()
	if only != 0 && addr != g.srv.ServerAddr(only) {
		return nil, errors.New("not that one")
	}
	return g.srv.Client("holder")(ctx, network, addr)
}

// holdUnderFault plays a case; the fault comes offset after the hold began.
func holdUnderFault(t *testing.T, set soundSetting, tc soundCase, offset time.Duration) (out soundRun) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv, err := zktest.Start(&zktest.Options{InMemory: true, Servers: 3, TickTime: set.tick, SyncLimit: set.syncLimit})
		require.NoError(t, err)
		defer func() { require.NoError(t, srv.Close()) }()
		ctx, cancel := context.WithTimeout(context.Background(), virtualLimit)
		defer cancel()
		time.Sleep(time.Second) // an election
		server := srv.Leader()
		if !tc.onLeader {
			server = server%3 + 1
		}
		g := &gate{srv: srv, only: server}
		opts := &Options{Timeout: set.timeout, Dialer: g.dial, Trust: set.rule}
		if set.known {
			opts.TickTime = set.tick
		}
		if set.sharing > 0 {
			opts.SharedHeartbeats = sharedFolder
			for _, other := range shareWith(t, ctx, srv, set, *opts) {
				defer func() { assert.NoError(t, other.Close(ctx)) }()
			}
		}
		var mu sync.Mutex
		opts.Observer = observe.Func(func(_ context.Context, e observe.Event) {
			mu.Lock()
			defer mu.Unlock()
			if _, ok := e.(observe.HeartbeatEnded); ok && out.calm == 0 {
				out.beats++
			}
		})
		c, err := Connect(ctx, srv.Addr(), opts)
		require.NoError(t, err)
		s, err := c.Session(ctx)
		require.NoError(t, err)
		_, err = s.Create(ctx, "/held", nil, Ephemeral, nil)
		require.NoError(t, err)
		h, err := s.Hold(ctx, "/held", nil)
		require.NoError(t, err)
		if !tc.alone {
			g.set(0)
		}
		began := time.Now()
		context.AfterFunc(h.ctx, func() {
			mu.Lock()
			defer mu.Unlock()
			out.lost, out.cause = time.Now(), h.Err()
			out.after = out.lost.Sub(began) - out.calm
		})
		srv.OnApply(func(x zktest.Txn) {
			if x.Op != "closeSession" || x.Session != s.ID() || x.Code != 0 {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out.expired, out.late = time.Now(), s.ctx.Err() == nil
			out.closed = srv.Stats().BySession[s.ID()]["closeSession"] > 0
		})
		time.Sleep(offset)
		mu.Lock()
		out.calm = time.Since(began)
		mu.Unlock()
		tc.fault(srv, server)
		rest := 3*set.timeout + 20*time.Second
		if tc.heal > 0 {
			time.Sleep(tc.heal)
			healAll(srv)
			rest -= tc.heal
		}
		time.Sleep(max(rest, 2*set.timeout))
		healAll(srv)
		end, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		require.NoError(t, c.Close(end))
		mu.Lock()
		defer mu.Unlock()
		if out.lost.Sub(began) >= 0 && errors.Is(out.cause, ErrClosed) {
			out.lost = time.Time{}
			out.expired, out.late = time.Time{}, false
		}
	})
	return out
}

// shareWith makes the sessions that share their heartbeats with a holder: each holds a
// znode of its own. Their clients know all servers.
func shareWith(t *testing.T, ctx context.Context, srv *zktest.Server, set soundSetting, opts Options) []*Client {
	t.Helper()
	var out []*Client
	for i := range 3 * set.sharing {
		g := &gate{srv: srv, only: 1 + i%3}
		opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			g.mu.Lock()
			only := g.only
			g.mu.Unlock()
			if only != 0 && addr != srv.ServerAddr(only) {
				return nil, errors.New("not that one")
			}
			return srv.Dial(ctx, network, addr)
		}
		c, err := Connect(ctx, srv.Addr(), &opts)
		require.NoError(t, err)
		g.set(0)
		out = append(out, c)
		s, err := c.Session(ctx)
		require.NoError(t, err)
		path := fmt.Sprintf("/other-%d", i)
		_, err = s.Create(ctx, path, nil, Ephemeral, nil)
		require.NoError(t, err)
		_, err = s.Hold(ctx, path, nil)
		require.NoError(t, err)
	}
	return out
}

func healAll(srv *zktest.Server) {
	srv.HealPeers()
	srv.Heal()
	for i := 1; i <= 3; i++ {
		must(srv.Thaw(i))
		must(srv.Restart(i))
	}
}

// soundTally sums up runs.
type soundTally struct {
	runs, lost, needless, unsound int
	slacks, after                 []time.Duration
	worst                         string
}

func (y *soundTally) add(r soundRun, what string) {
	y.runs++
	if !r.lost.IsZero() {
		y.lost++
		y.after = append(y.after, r.after)
	}
	switch {
	case r.late, !r.expired.IsZero() && (r.lost.IsZero() || r.slack() <= 0):
		y.unsound++
		y.slacks = append(y.slacks, r.slack())
		y.worst = what
	case r.expired.IsZero() || r.closed:
		if !r.lost.IsZero() {
			y.needless++
		}
	default:
		y.slacks = append(y.slacks, r.slack())
	}
}

func (y *soundTally) String() string {
	slices.Sort(y.slacks)
	out := fmt.Sprintf("%d runs, %d lost, %d of them needlessly, %d unsound", y.runs, y.lost, y.needless, y.unsound)
	if n := len(y.slacks); n > 0 {
		out += fmt.Sprintf("; known before the servers ended it by %v to %v, median %v", y.slacks[0], y.slacks[n-1], y.slacks[n/2])
	}
	if n := len(y.after); n > 0 {
		slices.Sort(y.after)
		out += fmt.Sprintf("; given up %v to %v after the fault, median %v", y.after[0], y.after[n-1], y.after[n/2])
	}
	return out
}

func soundSettings() []soundSetting {
	return []soundSetting{
		{timeout: 10 * time.Second, tick: 2 * time.Second, syncLimit: 5, known: true},
		{timeout: 10 * time.Second, tick: 2 * time.Second, syncLimit: 5},
		{timeout: 4 * time.Second, tick: 2 * time.Second, syncLimit: 5},
		{timeout: 6 * time.Second, tick: 500 * time.Millisecond, syncLimit: 10},
	}
}

// The holder knows of its loss before the servers end its session: for each
// fault at many moments (CL15, CH25, P2, P27).
func TestHolderKnowsBeforeTheServersEndItsSession(t *testing.T) {
	for _, set := range soundSettings() {
		for _, tc := range soundCases() {
			t.Run(set.String()+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				n := rounds(8)
				var tally soundTally
				for i := range n {
					// Spread evenly, however many there are, and in step with nothing.
					_, part := math.Modf(float64(i) * math.Phi)
					offset := time.Duration(part * float64(2*set.timeout)).Truncate(time.Millisecond)
					r := holdUnderFault(t, set, tc, offset)
					tally.add(r, offset.String())
					if tc.survives && set.timeout >= 10*time.Second {
						assert.True(t, r.lost.IsZero(), "lost at offset %v: %v", offset, r.cause)
					}
				}
				t.Logf("%v / %s: %v", set, tc.name, &tally)
				assert.Zero(t, tally.unsound, "for instance at offset %s", tally.worst)
			})
		}
	}
}

// The same experiment convicts the rule of other clients.
func TestTheExperimentConvictsTheWeakRule(t *testing.T) {
	set := soundSetting{timeout: 10 * time.Second, tick: 2 * time.Second, syncLimit: 5, rule: TrustAnswered}
	for _, tc := range soundCases() {
		if tc.name != "follower isolated, no other known" && tc.name != "follower hears the leader, is not heard" {
			continue
		}
		var tally soundTally
		for i := range 40 {
			offset := time.Duration(i) * 190 * time.Millisecond
			tally.add(holdUnderFault(t, set, tc, offset), offset.String())
		}
		t.Logf("%s: %v", tc.name, &tally)
		assert.Positive(t, tally.unsound, tc.name)
	}
}

// twoFaults is the second fault some time after the first, repaired or not. It
// is called in a bubble.
func twoFaults(first, second soundCase, between time.Duration, heal bool) func(*zktest.Server, int) {
	return func(srv *zktest.Server, server int) {
		first.fault(srv, server)
		time.Sleep(between)
		if heal {
			healAll(srv)
		}
		if srv.Leader() != 0 {
			second.fault(srv, server)
		}
	}
}

// Several faults at random moments, healed and repeated.
func TestHolderKnowsInTimeUnderRandomFaults(t *testing.T) {
	for _, seed := range seeds(t, rounds(100)) {
		rng := rand.New(rand.NewPCG(seed, 7))
		set := soundSettings()[rng.IntN(len(soundSettings()))]
		cases := soundCases()
		first, second := cases[rng.IntN(len(cases))], cases[rng.IntN(len(cases))]
		between := time.Duration(rng.Int64N(int64(set.timeout)))
		tc := soundCase{
			onLeader: rng.IntN(2) == 0, alone: rng.IntN(3) == 0, heal: time.Duration(rng.Int64N(int64(30 * time.Second))),
			fault: twoFaults(first, second, between, rng.IntN(2) == 0),
		}
		var tally soundTally
		tally.add(holdUnderFault(t, set, tc, time.Duration(rng.Int64N(int64(set.timeout)))), "")
		assert.Zero(t, tally.unsound, "seed %d: %v, %q then %q after %v", seed, set, first.name, second.name, between)
	}
}
