package lock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// The faults under which existing clients have two holders, on a real ensemble
// of three servers. The ticks are such that a follower or leader that is cut
// off goes on serving for longer (5 s) than a session lives (4 s).
const (
	ensembleTick    = time.Second
	ensembleLimit   = 5
	ensembleTimeout = 4 * time.Second
)

// ensembleCase is a fault while one client holds a lock and another waits.
type ensembleCase struct {
	name string
	// onLeader wants the holder's server to be the leader, otherwise a follower.
	onLeader bool
	// alone: the holder knows no other server than its own.
	alone bool
	fault func(ctx context.Context, c *apache.Cluster, server int) error
	// survives says that the session should outlive the fault: nobody else
	// may be granted the lock, and the holder should not be told that it
	// lost it. Otherwise the holder is told first, and then the lock granted.
	survives bool
	// settled waits before the fault, until trust rests on heartbeats and not
	// on the handshake any more.
	settled bool
}

func ensembleCases() []ensembleCase {
	cutAll := func(dir apache.Direction) func(context.Context, *apache.Cluster, int) error {
		return func(ctx context.Context, c *apache.Cluster, _ int) error {
			for i := range c.Servers() {
				if err := c.CutClient(ctx, 0, i, dir); err != nil {
					return err
				}
			}
			return nil
		}
	}
	isolate := func(ctx context.Context, c *apache.Cluster, server int) error { return c.Isolate(ctx, server) }
	pause := func(ctx context.Context, c *apache.Cluster, server int) error { return c.Pause(ctx, server) }
	kill := func(ctx context.Context, c *apache.Cluster, server int) error { return c.Kill(ctx, server) }
	return []ensembleCase{
		{name: "links to all servers cut", fault: cutAll(apache.Both)},
		{name: "links to all servers cut, settled", fault: cutAll(apache.Both), settled: true},
		{name: "packets to the servers lost", fault: cutAll(apache.Forth)},
		{name: "packets from the servers lost", fault: cutAll(apache.Back)},
		{name: "follower isolated", fault: isolate, survives: true},
		{name: "follower isolated, no other known", fault: isolate, alone: true, settled: true},
		// The followers notice after five ticks only, and no write succeeds
		// for longer than a session lives: nobody can tell this from a loss.
		{name: "leader isolated", fault: isolate, onLeader: true},
		{name: "leader isolated, no other known", fault: isolate, onLeader: true, alone: true, settled: true},
		{name: "leader frozen", fault: pause, onLeader: true},
		{name: "follower frozen", fault: pause, survives: true},
		{name: "leader killed", fault: kill, onLeader: true, survives: true},
	}
}

// TestOnApacheTheHolderKnowsBeforeTheNextOneIsGranted cuts, freezes and kills on a real
// ensemble (N21, N22, N36, N37, CL15, CH25, P27).
func TestOnApacheTheHolderKnowsBeforeTheNextOneIsGranted(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{
		Servers: 3, Cuts: true, TickTime: ensembleTick, SyncLimit: ensembleLimit, InitLimit: 8, Heap: 96,
	})
	cases := ensembleCases()
	if testing.Short() { // under the race detector, after a run in full
		cases = cases[:2]
	}
	for _, tc := range cases {
		t.Run(strings.ReplaceAll(tc.name, " ", "-"), func(t *testing.T) { runEnsembleCase(t, cluster, tc) })
	}
}

func runEnsembleCase(t *testing.T, cluster *apache.Cluster, tc ensembleCase) {
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	t.Cleanup(func() { mend(t, cluster) })
	path := "/locks/" + strings.ReplaceAll(t.Name(), "/", "-")
	leader, err := cluster.Leader(ctx)
	require.NoError(t, err)
	holder, server := connectTo(ctx, t, cluster, func(i int) bool { return (i == leader) == tc.onLeader }, tc.alone)
	others := slices.Delete(slices.Clone(cluster.Servers()), server, server+1)
	second := connectThrough(ctx, t, cluster.Client(1), strings.Join(others, ","))

	held, err := lock.New(holder, path, nil).Lock(ctx)
	require.NoError(t, err)
	granted := make(chan grant, 1)
	// Waited for through granted; ends with ctx.
	go func() {
		next, err := lock.New(second, path, nil).Lock(ctx)
		granted <- grant{next, err, time.Now()}
	}()
	// The waiter is in the queue.
	require.Eventually(t, func() bool {
		list, err := lock.New(holder, path, nil).Contenders(ctx)
		return err == nil && len(list) == 2
	}, 10*time.Second, 20*time.Millisecond)

	if tc.settled {
		until := holder.State().TrustedUntil
		require.Eventually(t, func() bool {
			return holder.State().TrustedUntil.Sub(until) > ensembleTimeout
		}, 4*ensembleTimeout, 20*time.Millisecond)
	}
	fault := time.Now()
	require.NoError(t, tc.fault(ctx, cluster, server))
	if tc.survives {
		requireSurvival(t, held, granted, fault)
	} else {
		requireOrder(t, held, granted, fault)
	}
	mend(t, cluster)
	if tc.survives {
		require.NoError(t, held.Unlock(ctx))
		next := <-granted
		require.NoError(t, next.err)
		require.NoError(t, next.held.Unlock(ctx))
	}
	require.NoError(t, holder.Close(ctx))
	require.NoError(t, second.Close(ctx))
}

type grant struct {
	held *lock.Held
	err  error
	at   time.Time
}

// requireOrder wants the holder told, and then the other granted the lock.
func requireOrder(t *testing.T, held *lock.Held, granted chan grant, fault time.Time) {
	<-held.Context().Done()
	told := time.Now()
	require.ErrorIs(t, context.Cause(held.Context()), session.ErrLost)
	select {
	case next := <-granted:
		t.Fatalf("granted %v before the holder was told (%v)", told.Sub(next.at), next.err)
	default:
	}
	next := <-granted
	require.NoError(t, next.err)
	require.Greater(t, next.held.Token(), held.Token())
	t.Logf("told %.2f s after the fault, granted %.2f s later", told.Sub(fault).Seconds(), next.at.Sub(told).Seconds())
	// What the loser writes late is refused.
	_, err := next.held.Session().Txn(t.Context(), held.Guard(), session.SetOp(znodeParent(next.held.Path()), nil, -1))
	require.ErrorIs(t, err, session.ErrNoNode)
	require.NoError(t, next.held.Unlock(t.Context()))
}

// requireSurvival wants nothing to happen for twice as long as a session can
// be silent.
func requireSurvival(t *testing.T, held *lock.Held, granted chan grant, fault time.Time) {
	timer := time.NewTimer(time.Until(fault.Add(2*ensembleTimeout + 2*ensembleTick)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-held.Context().Done():
		t.Fatalf("told %v after the fault that the lock is lost: %v", time.Since(fault), context.Cause(held.Context()))
	case next := <-granted:
		t.Fatalf("granted %v after the fault (%v), while the holder holds", next.at.Sub(fault), next.err)
	}
}

func znodeParent(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// mend takes all faults back.
func mend(t *testing.T, cluster *apache.Cluster) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, cluster.Heal(ctx))
	for i := range cluster.Servers() {
		_ = cluster.Resume(ctx, i) // refused for one that was killed
		if _, err := cluster.Role(ctx, i); err != nil {
			_ = cluster.Launch(ctx, i) // refused for one that runs
		}
	}
	require.NoError(t, cluster.Await(ctx))
	// A leader that was frozen or cut off goes on calling itself one until it
	// has noticed.
	require.Eventually(t, func() bool {
		leaders := 0
		for i := range cluster.Servers() {
			role, err := cluster.Role(ctx, i)
			if err != nil {
				return false
			}
			if role == "leader" {
				leaders++
			}
		}
		return leaders == 1
	}, time.Minute, 100*time.Millisecond)
}

// connectTo connects client 0 to a server that fits.
func connectTo(ctx context.Context, t *testing.T, cluster *apache.Cluster, fits func(int) bool, alone bool) (*session.Client, int) {
	if alone {
		for i, addr := range cluster.Servers() {
			if fits(i) {
				return connectThrough(ctx, t, cluster.Client(0), addr), i
			}
		}
	}
	for {
		c := connectThrough(ctx, t, cluster.Client(0), cluster.Connect())
		if i := slices.Index(cluster.Servers(), c.State().Server); i >= 0 && fits(i) {
			return c, i
		}
		require.NoError(t, c.Close(ctx))
	}
}

func connectThrough(ctx context.Context, t *testing.T, via *apache.Client, servers string) *session.Client {
	c, err := session.Connect(ctx, servers, &session.Options{Timeout: ensembleTimeout, Dialer: via.DialContext})
	require.NoError(t, err)
	t.Cleanup(func() {
		over, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.Close(over)
	})
	return c
}

// frozenHolder is the environment variable that makes the test binary a holder.
const frozenHolder = "LOCK_TEST_FROZEN_HOLDER"

// TestOnApacheAFrozenHolderIsRefusedByItsGuard freezes the holder's process until
// somebody else has the lock: it cannot know, and its guard must refuse what it
// writes when it wakes up (P4, N23, R16).
func TestOnApacheAFrozenHolderIsRefusedByItsGuard(t *testing.T) {
	if servers := os.Getenv(frozenHolder); servers != "" {
		holdFrozen(t, servers)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cluster := apache.Require(t, &apache.Options{Servers: 3, TickTime: 500 * time.Millisecond, Heap: 96})
	const path = "/locks/frozen"
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestOnApacheAFrozenHolderIsRefusedByItsGuard$")
	cmd.Env = append(os.Environ(), frozenHolder+"="+cluster.Connect())
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.Equal(t, "held", lines.Text())

	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	next := connectThrough(ctx, t, cluster.Client(1), cluster.Connect())
	held, err := lock.New(next, path, nil).Lock(ctx)
	require.NoError(t, err)
	s := held.Session()
	_, err = s.Create(ctx, "/written", []byte("by the new holder"), session.Persistent, nil)
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	_, err = fmt.Fprintln(in, "write")
	require.NoError(t, err)
	require.True(t, lines.Scan())
	require.Equal(t, "knows=true refused=true", lines.Text())
	data, _, err := s.Get(ctx, "/written")
	require.NoError(t, err)
	require.Equal(t, "by the new holder", string(data))
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	require.NoError(t, held.Unlock(ctx))
}

// holdFrozen is the process that is frozen.
func holdFrozen(t *testing.T, servers string) {
	ctx := t.Context()
	c, err := session.Connect(ctx, servers, &session.Options{Timeout: 2 * time.Second})
	require.NoError(t, err)
	held, err := lock.New(c, "/locks/frozen", nil).Lock(ctx)
	require.NoError(t, err)
	fmt.Println("held")
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	// The very first thing after the pause.
	knows := held.Context().Err() != nil
	s, err := c.Session(ctx)
	require.NoError(t, err)
	_, err = s.Txn(ctx, held.Guard(), session.SetOp("/written", []byte("too late"), -1))
	fmt.Printf("knows=%v refused=%v\n", knows, errors.Is(err, session.ErrNoNode))
	require.ErrorIs(t, held.Unlock(ctx), session.ErrLost)
	require.NoError(t, c.Close(ctx))
}
