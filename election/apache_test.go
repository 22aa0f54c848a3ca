package election_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// The essential properties on real servers.

// steady is the timeout of sessions that are not to be lost.
const steady = 30 * time.Second

func connectApache(t *testing.T, servers string, o session.Options) *session.Client {
	c, err := session.Connect(t.Context(), servers, &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = c.Close(ctx) // one that was cut off may not answer
	})
	return c
}

// R6, R7, R13, R14, M4 to M7, D3 to D5, D16, P9, CH30: an election of five, of
// which candidates resign, die and come back, and one observer.
func TestElectionOnApache_R13_D4(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96, TickTime: 250 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const path, n = "/election/apache", 5
	look := election.New(connectApache(t, cluster.Connect(), session.Options{Timeout: steady}), path, nil)
	_, err := look.Leader(ctx)
	require.ErrorIs(t, err, election.ErrNoLeader)
	seen := make(chan string, 100)
	// Waited for through seen; ends with ctx.
	go func() {
		for state, err := range look.Observe(ctx) {
			switch {
			case err != nil:
				close(seen)
				return
			case state.Leader == nil:
				seen <- "-"
			default:
				seen <- valueOf(state.Leader)
			}
		}
	}()
	require.Equal(t, "-", <-seen)

	leads := make([]chan *election.Leadership, n)
	clients := make([]*session.Client, n)
	stand := func(i int) {
		clients[i] = connectApache(t, cluster.Connect(), session.Options{Timeout: steady})
		k, err := election.New(clients[i], path, &election.Options{ID: fmt.Sprint(i), Layout: election.Layout(i % 3)}).Stand(ctx)
		require.NoError(t, err)
		leads[i] = make(chan *election.Leadership, 1)
		// Waited for through leads; ends with ctx, or the session.
		go func(out chan<- *election.Leadership) {
			l, err := k.Await(ctx)
			if err == nil {
				out <- l
			}
		}(leads[i])
	}
	for i := range n {
		stand(i)
	}
	ids := func() (out []string) {
		list, err := look.Candidates(ctx)
		require.NoError(t, err)
		before := ""
		for i, c := range list {
			require.Equal(t, before, c.Watches)
			require.Equal(t, i == 0, c.Leads)
			before = c.Name
			out = append(out, c.ID)
		}
		return out
	}
	require.Equal(t, []string{"0", "1", "2", "3", "4"}, ids())
	first := <-leads[0]
	require.Equal(t, "0", <-seen)

	require.NoError(t, clients[2].Close(ctx)) // one in the middle dies
	require.Equal(t, []string{"0", "1", "3", "4"}, ids())
	require.NoError(t, first.Proclaim(ctx, []byte("one")))
	require.NoError(t, first.Proclaim(ctx, []byte("two")))
	for last := ""; last != "0=two"; {
		last = <-seen
		require.Contains(t, []string{"0=one", "0=two"}, last)
	}
	require.NoError(t, first.Resign(ctx))
	require.ErrorIs(t, first.Proclaim(ctx, nil), election.ErrNotLeader)
	second := <-leads[1]
	require.Greater(t, second.Token(), first.Token())
	require.Greater(t, second.Term(), first.Term())
	// The value may go a moment before its leader.
	next := <-seen
	for next == "0" {
		next = <-seen
	}
	require.Equal(t, "1", next)
	stand(0) // comes back, as the last (D16)
	require.Equal(t, []string{"1", "3", "4", "0"}, ids())

	_, err = second.Session().Txn(ctx, first.Guard(), session.SetOp(path, nil, -1))
	require.ErrorIs(t, err, session.ErrNoNode, "a former leader is refused")
	_, err = second.Session().Txn(ctx, second.Guard(), session.SetOp(path, nil, -1))
	require.NoError(t, err)
	require.NoError(t, clients[1].Close(ctx)) // the leader dies
	require.ErrorIs(t, second.Context().Err(), context.Canceled)
	for _, i := range []int{3, 4, 0} {
		l := <-leads[i]
		require.Equal(t, fmt.Sprint(i), <-seen)
		require.NoError(t, l.Resign(ctx))
	}
	require.Equal(t, "-", <-seen)
	require.Empty(t, ids())
}

// Candidates with priorities, of which one makes way for a better one.
func TestPrioritiesOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96, TickTime: 250 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	of := func(id string, priority int, preempt time.Duration) *election.Elector {
		c := connectApache(t, cluster.Connect(), session.Options{Timeout: steady})
		return election.New(c, "/election/priorities", &election.Options{ID: id, Priority: priority, PreemptAfter: preempt})
	}
	l, err := of("first", 1, 100*time.Millisecond).Campaign(ctx)
	require.NoError(t, err)
	led := make(chan *election.Leadership)
	for i, priority := range []int{1, 2, 1, 3, 2} {
		k, err := of(fmt.Sprint(priority, " ", i), priority, 0).Stand(ctx)
		require.NoError(t, err)
		// Waited for through led; ends with ctx, or the session.
		go func() {
			if l, err := k.Await(ctx); err == nil {
				led <- l
			}
		}()
	}
	require.NoError(t, l.AwaitPreemption(ctx))
	require.NoError(t, l.Context().Err())
	for _, want := range []string{"3 3", "2 1", "2 4", "1 0", "1 2"} {
		before := l
		require.NoError(t, l.Resign(ctx))
		l = <-led
		require.Equal(t, want, l.ID())
		require.Greater(t, l.Token(), before.Token())
	}
	require.NoError(t, l.Resign(ctx))
}

// TestStressOnApache is the stress test in real time, on a server that is killed,
// paused and restarted.
func TestStressOnApache(t *testing.T) {
	t.Parallel()
	s := newStress(&world.Stress{})
	bed := world.NewRealStress(t, s.Stress)
	require.NoError(t, bed.Admin.EnsurePath(t.Context(), dir, session.Persistent, nil))
	looking, stop := context.WithCancel(t.Context())
	defer stop()
	var observers sync.WaitGroup
	var workers []func(context.Context)
	for i, c := range s.Clients {
		s.electors = append(s.electors, election.New(c, dir, &election.Options{Layout: election.Layout(i % 3), Priority: i % 3}))
	}
	for i := range s.electors { // all are there when the first observer begins
		for j := range 2 {
			own := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			workers = append(workers, func(ctx context.Context) { s.work(ctx, i, own) })
		}
		own := rand.New(rand.NewPCG(uint64(i), 4))
		// Waited for below; ends with looking.
		observers.Go(func() { s.watch(looking, i, own) })
	}
	bed.Run(9, 3, func() int { return len(s.Holds()) }, workers...)
	// Every candidate leads once more, the observers see the last leader go,
	// and no znode is left.
	bed.EachTakes(len(s.electors), func(ctx context.Context, i int) error { return world.Cycle(ctx, s.electors[i].Campaign) }, dir, proclaimed)
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i := range s.Clients {
			if saw := s.saw[i]; len(saw) == 0 || saw[len(saw)-1] != 0 {
				return false
			}
		}
		return true
	}, world.Patience, 20*time.Millisecond, "observers")
	stop()
	observers.Wait()
	require.NoError(t, s.check())
	for i, said := range s.said {
		require.NoError(t, checkValues(said), "observer %d", i)
	}
	for i, saw := range s.saw {
		led := slices.DeleteFunc(slices.Clone(saw), func(token int64) bool { return token == 0 })
		require.True(t, slices.IsSorted(led), "observer %d goes back: %d", i, saw)
	}
	t.Logf("%d reigns, %d guarded writes, observers saw %d states", len(s.Holds()), len(s.Wrote()), len(s.saw[0]))
}

// The fault under which leaders of other libraries overlap most (CH25, P29, N36,
// N37): a follower is cut off from the ensemble together with the leader's
// client, and goes on answering for longer (6.25 s) than a session lives (5 s).
func TestOnApacheTheLeaderIsToldBeforeTheNextOneLeads_CH25_P29(t *testing.T) {
	t.Parallel()
	const tick, timeout = 1250 * time.Millisecond, 5 * time.Second
	cluster := apache.Require(t, &apache.Options{Servers: 3, Cuts: true, TickTime: tick, SyncLimit: 5, InitLimit: 20, Heap: 96})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	boss, err := cluster.Leader(ctx)
	require.NoError(t, err)
	alone := (boss + 1) % 3
	client := func(k int, timeout time.Duration, servers ...string) *session.Client {
		return connectApache(t, strings.Join(servers, ","), session.Options{Timeout: timeout, Dialer: cluster.Client(k).DialContext})
	}
	own := cluster.Servers()[alone]
	a := client(0, timeout, own)
	b := client(1, steady, slices.DeleteFunc(slices.Clone(cluster.Servers()), func(s string) bool { return s == own })...)

	var l *election.Leadership
	var last chan time.Time
	var out chan won
	for l == nil || l.Context().Err() != nil { // lost before there is a fault
		if l != nil {
			require.NoError(t, (<-out).lead.Resign(ctx))
		}
		l = settledLeader(ctx, t, a)
		last, out = make(chan time.Time, 1), make(chan won, 1)
		// Waited for below; ends with the leadership.
		go func() { last <- world.LastSeen(l.Context(), time.Now(), time.Hour) }()
		// Waited for below; ends when it leads.
		go func() {
			next, err := elector(b, "b").Campaign(ctx)
			out <- won{next, err, time.Now()}
		}()
		require.Eventually(t, func() bool {
			list, err := elector(b, "").Candidates(ctx)
			return err == nil && (len(list) == 2 || l.Context().Err() != nil)
		}, world.Patience, 20*time.Millisecond)
	}

	fault := time.Now()
	require.NoError(t, cluster.Isolate(ctx, alone))
	g := <-out
	led := <-last
	require.ErrorIs(t, context.Cause(l.Context()), session.ErrLost)
	require.NoError(t, g.err)
	require.False(t, led.After(g.at), "the next one leads %v before the leader knew", led.Sub(g.at))
	require.Greater(t, g.lead.Token(), l.Token())
	t.Logf("led until %.2f s after the fault, the next one leads %.2f s later", led.Sub(fault).Seconds(), g.at.Sub(led).Seconds())
	require.NoError(t, cluster.Heal(ctx))
	_, err = g.lead.Session().Txn(ctx, l.Guard(), session.SetOp(dir, nil, -1))
	require.True(t, errors.Is(err, session.ErrNoNode), "%v", err)
	require.NoError(t, g.lead.Resign(ctx))
}

// settledLeader has c lead until trust rests on heartbeats, not on the handshake. A
// leadership that is lost meanwhile, because the machine stalls, is had again.
func settledLeader(ctx context.Context, t *testing.T, c *session.Client) *election.Leadership {
	for {
		var l *election.Leadership
		require.NoError(t, world.RetryLost(ctx, func() (err error) {
			l, err = elector(c, "a").Campaign(ctx)
			return err
		}))
		for begun := c.State().TrustedUntil; l.Context().Err() == nil; world.SleepContext(ctx, 20*time.Millisecond) {
			if c.State().TrustedUntil.After(begun) {
				return l
			}
		}
		require.ErrorIs(t, l.Resign(ctx), session.ErrLost)
	}
}
