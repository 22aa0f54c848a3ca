package rebalanser_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// real is a group on a real server.
type real struct {
	*testing.T
	*oracle
	cluster *apache.Cluster
	mode    rebalanser.Mode
	path    string
	o       session.Options
}

func (x *real) connect() *session.Client {
	x.Helper()
	return world.Connect(x, x.cluster.Connect(), x.o)
}

// stock makes the group with n resources.
func (x *real) stock(ctx context.Context, n int) *rebalanser.Admin {
	x.Helper()
	a := rebalanser.Open(x.connect(), x.path, &rebalanser.Options{Mode: x.mode})
	require.NoError(x, a.Create(ctx))
	_, err := a.AddResources(ctx, names(n)...)
	require.NoError(x, err)
	return a
}

// member is a running member; stop returns the result of Run.
type member struct {
	memberID string
	client   *session.Client
	h        *recorder
	group    *rebalanser.Group
	stop     func() error
}

func (x *real) join(ctx context.Context, memberID string, c *session.Client) *member {
	m := &member{memberID: memberID, client: c, h: &recorder{memberID: memberID, o: x.oracle, rs: map[string]*rebalanser.Resource{}}}
	m.group = rebalanser.New(c, x.path, m.h, &rebalanser.Options{Mode: x.mode, ID: memberID})
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	// stop waits for the goroutine; it ends with ctx.
	go func() { done <- m.group.Run(ctx) }()
	m.stop = func() error {
		cancel()
		err := <-done
		done <- err
		return err
	}
	x.Cleanup(func() { _ = m.stop() })
	return m
}

// balanced waits until these own n resources in equal shares.
func (x *real) balanced(n int, among ...*member) {
	x.Helper()
	require.Eventually(x, func() bool {
		sum := 0
		for _, m := range among {
			k := len(x.of(m.memberID))
			if k < n/len(among) || k > (n+len(among)-1)/len(among) {
				return false
			}
			sum += k
		}
		return sum == n
	}, 3*time.Minute, 5*time.Millisecond, "no equal shares of %d among %d", n, len(among))
}

func TestMembersShareOnApache_R18_R36_R52_X5(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Heap: 256})
	for _, mode := range modes() {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			x := &real{T: t, oracle: newOracle(), cluster: cluster, mode: mode, path: "/share-" + mode.String()}
			x.o.Timeout = time.Minute // only graceful leaves are tested, so no session may expire
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			const n = 1200
			a := x.stock(ctx, n)
			all := []*member{x.join(ctx, "c1", x.connect())}
			x.balanced(n, all...)
			for _, memberID := range []string{"c2", "c3"} {
				began := time.Now()
				all = append(all, x.join(ctx, memberID, x.connect()))
				x.balanced(n, all...)
				t.Logf("%s has its share after %v", memberID, time.Since(began).Round(time.Millisecond))
			}
			first := all[0].h.resource(x.of("c2")[0]) // first owned by c1
			second := all[1].h.resource(first.Name())
			require.Greater(t, second.Token(), first.Token())
			require.ErrorIs(t, context.Cause(first.Context()), rebalanser.ErrRevoked)
			s, err := all[2].client.Session(ctx)
			require.NoError(t, err)
			_, err = s.Txn(ctx, second.Guard())
			require.NoError(t, err)

			began := time.Now()
			require.NoError(t, all[0].stop())
			left := time.Now()
			x.balanced(n, all[1:]...)
			t.Logf("the coordinator has left in %v; %v later the others have its share",
				left.Sub(began).Round(time.Millisecond), time.Since(left).Round(time.Millisecond))
			require.Less(t, time.Since(left), x.o.Timeout/2)
			st, err := a.Status(ctx)
			require.NoError(t, err)
			require.Empty(t, st.Unowned)
			require.EqualValues(t, 2, st.Epoch)
			for _, m := range all[1:] {
				require.NoError(t, m.stop())
			}
			require.NoError(t, x.err())
		})
	}
}

// Members of two groups, one in each mode, join and leave, and their server is
// killed and paused.
func TestStressOnApache_R50_R52(t *testing.T) {
	trouble := 4 * time.Second
	if testing.Short() {
		trouble = time.Second
	}
	cluster := apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const n = 30
	groups := make([]*unquiet, 0, 2)
	for _, mode := range modes() {
		x := &real{
			T: t, oracle: newOracle(), cluster: cluster, mode: mode, path: "/stress-" + mode.String(),
			o: session.Options{Timeout: 4 * time.Second},
		}
		x.stock(ctx, n)
		groups = append(groups, newUnquiet(ctx, x, 3))
	}
	for _, g := range groups {
		g.balanced(n, g.members...)
	}
	r := rand.New(rand.NewPCG(7, 1))
	for began := time.Now(); time.Since(began) < trouble; {
		world.SleepContext(ctx, time.Duration(r.Int64N(int64(300*time.Millisecond))))
		switch r.IntN(6) {
		case 0:
			require.NoError(t, cluster.Restart(ctx, 0))
		case 1:
			require.NoError(t, cluster.Pause(ctx, 0))
			world.SleepContext(ctx, time.Duration(r.Int64N(int64(4*time.Second))))
			require.NoError(t, cluster.Resume(ctx, 0))
		default:
			groups[r.IntN(len(groups))].replace(ctx, r)
		}
	}
	require.NoError(t, cluster.Await(ctx))
	for _, g := range groups {
		g.balanced(n, g.members...)
		for _, m := range g.members {
			g.end(m)
		}
		require.NoError(t, g.err())
		t.Logf("%v: %d times a resource was assigned", g.mode, g.gains)
	}
}

// unquiet is a group whose members come and go.
type unquiet struct {
	*real
	members []*member
	born    int
}

func newUnquiet(ctx context.Context, x *real, members int) *unquiet {
	g := &unquiet{real: x, members: make([]*member, members)}
	for i := range g.members {
		g.bear(ctx, i)
	}
	return g
}

// bear starts a new member, with its own client, in place i.
func (g *unquiet) bear(ctx context.Context, i int) {
	g.born++
	g.members[i] = g.join(ctx, fmt.Sprintf("c%d", g.born), g.connect())
}

// replace lets a member leave, and starts a new member.
func (g *unquiet) replace(ctx context.Context, r *rand.Rand) {
	i := r.IntN(len(g.members))
	g.end(g.members[i])
	g.bear(ctx, i)
}

// end lets a member leave, if possible.
func (g *unquiet) end(m *member) {
	if err := m.stop(); err != nil && !errors.Is(err, session.ErrLost) {
		g.Fatal(err)
	}
}
