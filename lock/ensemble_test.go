//go:build unix

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
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// The faults under which existing clients have two holders, on a real ensemble of
// three servers. With these ticks, an isolated follower or leader serves longer
// (6.25 s) than a session lives (5 s).
const (
	ensembleTick    = 1250 * time.Millisecond
	ensembleLimit   = 5
	ensembleTimeout = 5 * time.Second
	// survivalTimeout is the timeout of sessions that should outlive a fault:
	// servers on a busy machine take seconds to elect a leader.
	survivalTimeout = 16 * time.Second
	// sharedTimeout is that of holders that share their heartbeats, and sharedLimit
	// makes an isolated server serve longer (8.75 s).
	sharedTimeout = 7500 * time.Millisecond
	sharedLimit   = 7
)

// ensembleCase is a fault, and the holders of locks during the fault, each with a
// second client waiting.
type ensembleCase struct {
	name string
	// onLeader wants the holders' server to be the leader, otherwise a follower.
	onLeader bool
	fault    func(ctx context.Context, c *apache.Cluster, server int) error
	holders  []ensembleHolder
}

type ensembleHolder struct {
	name string
	// alone: the holder knows no other server than its own.
	alone bool
	// lost are the directions in which packets between the holder and all servers
	// are lost, as a part of the fault.
	lost []apache.Direction
	// survives: the session should outlive the fault. The holder should not be told
	// of a loss, and no other client may be granted the lock. Otherwise the holder
	// is told first, and then the lock is granted.
	survives bool
	// settled waits before the fault, until trust rests on heartbeats and not
	// on the handshake any more.
	settled bool
	// shares: the holder shares its heartbeats with other sessions of its server.
	shares bool
}

func ensembleCases() []ensembleCase {
	isolate := func(ctx context.Context, c *apache.Cluster, server int) error { return c.Isolate(ctx, server) }
	pause := func(ctx context.Context, c *apache.Cluster, server int) error { return c.Pause(ctx, server) }
	kill := func(ctx context.Context, c *apache.Cluster, server int) error { return c.Kill(ctx, server) }
	fine := func(context.Context, *apache.Cluster, int) error { return nil }
	return []ensembleCase{
		{name: "links cut", fault: fine, holders: []ensembleHolder{
			{name: "to all servers", lost: []apache.Direction{apache.Both}},
			{name: "to all servers, settled", lost: []apache.Direction{apache.Both}, settled: true},
			{name: "packets to the servers lost", lost: []apache.Direction{apache.Forth}},
			{name: "packets from the servers lost", lost: []apache.Direction{apache.Back}},
		}},
		{name: "follower isolated", fault: isolate, holders: []ensembleHolder{
			{name: "others known", survives: true}, {name: "no other known", alone: true, settled: true},
		}},
		// The followers notice after five ticks only, and no write succeeds for
		// longer than a session lives: a client cannot distinguish this from a
		// loss.
		{name: "leader isolated", onLeader: true, fault: isolate, holders: []ensembleHolder{
			{name: "others known"}, {name: "no other known", alone: true, settled: true},
		}},
		{name: "leader frozen", onLeader: true, fault: pause, holders: []ensembleHolder{{name: "holder"}}},
		{name: "follower frozen", fault: pause, holders: []ensembleHolder{{name: "holder", survives: true}}},
		{name: "leader killed", onLeader: true, fault: kill, holders: []ensembleHolder{{name: "holder", survives: true}}},
	}
}

// TestOnApacheTheHolderKnowsBeforeTheNextOneIsGranted cuts, freezes and kills on a real
// ensemble (N21, N22, N36, N37, CL15, CH25, P27).
func TestOnApacheTheHolderKnowsBeforeTheNextOneIsGranted(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{
		Servers: 3, Cuts: true, TickTime: ensembleTick, SyncLimit: ensembleLimit, InitLimit: 20, Heap: 96,
	})
	runEnsembleCases(t, cluster, ensembleCases())
}

// The same, with holders that share their heartbeats with other sessions of their
// server, which nothing cuts off from it.
func TestOnApacheTheHolderThatSharesHeartbeatsKnowsBeforeTheNextOneIsGranted(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{
		Servers: 3, Cuts: true, TickTime: ensembleTick, SyncLimit: sharedLimit, InitLimit: 20, Heap: 96,
	})
	cases := ensembleCases()
	for _, tc := range cases {
		for i := range tc.holders {
			tc.holders[i].shares, tc.holders[i].settled = true, true
		}
	}
	runEnsembleCases(t, cluster, cases)
}

func runEnsembleCases(t *testing.T, cluster *apache.Cluster, cases []ensembleCase) {
	if testing.Short() { // under the race detector, after a run in full
		cases = cases[:1]
	}
	for _, tc := range cases {
		t.Run(strings.ReplaceAll(tc.name, " ", "-"), func(t *testing.T) { runEnsembleCase(t, cluster, tc) })
	}
}

// sharingOptions are those of sessions that share heartbeats.
func sharingOptions(timeout time.Duration) *session.Options {
	return &session.Options{Timeout: timeout, TickTime: ensembleTick, SharedHeartbeats: "/heartbeats"}
}

// shareAt makes sessions at a server that share their heartbeats with holders.
func shareAt(ctx context.Context, t *testing.T, cluster *apache.Cluster, server int) {
	for i := range 3 {
		c := connectUntilEnd(ctx, t, cluster.Servers()[server], sharingOptions(survivalTimeout))
		_, err := lock.New(c, fmt.Sprintf("/others/%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), i), nil).Lock(ctx)
		require.NoError(t, err)
	}
}

func runEnsembleCase(t *testing.T, cluster *apache.Cluster, tc ensembleCase) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	t.Cleanup(func() { healCluster(t, cluster) })
	server, err := cluster.Leader(ctx)
	require.NoError(t, err)
	if !tc.onLeader {
		server = (server + 1) % len(cluster.Servers())
	}
	if tc.holders[0].shares {
		shareAt(ctx, t, cluster, server)
	}
	duels := duelsAt(ctx, t, cluster, server, tc.holders)
	fault := time.Now()
	require.NoError(t, tc.fault(ctx, cluster, server))
	for _, d := range duels {
		d.cutLinks(ctx, t, cluster)
	}
	for _, d := range duels {
		d.awaitLoss(ctx, t, fault)
	}
	healCluster(t, cluster)
	for _, d := range duels {
		d.finishDuel(ctx, t, fault)
	}
}

// duel is two clients for one lock: the first holds the lock, and the second waits.
type duel struct {
	ensembleHolder
	k              int // the clients are 2k and 2k+1
	path, server   string
	holder, second *session.Client
	held           *lock.Held
	granted        chan grant
	last           chan time.Time // the last time before the loss at which the holder saw its hold
}

type grant struct {
	held *lock.Held
	err  error
	at   time.Time
}

// duelsAt lets holders at a server get their locks, and second clients wait. A
// session that is lost or moves before the fault, because the machine stalls,
// proves nothing: then all begin again.
func duelsAt(ctx context.Context, t *testing.T, cluster *apache.Cluster, server int, holders []ensembleHolder) []*duel {
	for attempt := 1; ; attempt++ {
		var duels []*duel
		var errs []error
		for k, h := range holders {
			d := &duel{ensembleHolder: h, k: k, granted: make(chan grant, 1), last: make(chan time.Time, 1)}
			d.path = fmt.Sprintf("/locks/%s-%d-%d", strings.ReplaceAll(t.Name(), "/", "-"), k, attempt)
			d.connectClients(ctx, t, cluster, server)
			duels, errs = append(duels, d), append(errs, d.startDuel(ctx))
		}
		for _, d := range duels {
			errs = append(errs, d.awaitSettled(ctx))
		}
		for _, d := range duels {
			errs = append(errs, d.checkReady())
		}
		err := errors.Join(errs...)
		if err == nil {
			return duels
		}
		require.Less(t, attempt, 5, "%v", err)
		t.Logf("afresh: %v", err)
		for _, d := range duels {
			d.closeClients(ctx, t)
		}
	}
}

// connectClients connects the holder to the server, and the second client to one of the
// other servers, with a session that must not be lost.
func (d *duel) connectClients(ctx context.Context, t *testing.T, cluster *apache.Cluster, server int) {
	d.server = cluster.Servers()[server]
	opts, known := &session.Options{Timeout: ensembleTimeout}, cluster.Connect()
	if d.shares {
		opts = sharingOptions(sharedTimeout)
	}
	if d.survives {
		opts.Timeout = survivalTimeout
	}
	if d.alone {
		known = d.server
	}
	for {
		d.holder = connectThrough(ctx, t, cluster.Client(2*d.k), known, opts)
		if d.holder.State().Server == d.server {
			break
		}
		require.NoError(t, d.holder.Close(ctx))
	}
	others := slices.Delete(slices.Clone(cluster.Servers()), server, server+1)
	d.second = connectThrough(ctx, t, cluster.Client(2*d.k+1), strings.Join(others, ","), &session.Options{Timeout: survivalTimeout})
}

// startDuel lets the holder get the lock, and the second client wait.
func (d *duel) startDuel(ctx context.Context) (err error) {
	if d.held, err = lock.New(d.holder, d.path, nil).Lock(ctx); err != nil {
		return err
	}
	// Waited for through last; ends with the hold, at the latest when the client is
	// closed.
	go func() { d.last <- world.LastSeen(d.held.Context(), time.Now(), time.Hour) }()
	// Waited for through granted, or ends when the client is closed.
	go func() {
		next, err := lock.New(d.second, d.path, nil).Lock(ctx)
		d.granted <- grant{next, err, time.Now()}
	}()
	return nil
}

// awaitSettled waits until the second client is in the queue, and, with settled,
// until trust rests on heartbeats.
func (d *duel) awaitSettled(ctx context.Context) error {
	over, cancel := context.WithTimeout(ctx, world.Patience)
	defer cancel()
	look := lock.New(d.second, d.path, nil)
	begun := d.holder.State().TrustedUntil
	for d.held != nil && d.held.Context().Err() == nil {
		list, err := look.Contenders(over)
		settled := !d.settled || d.holder.State().TrustedUntil.After(begun)
		if err == nil && len(list) == 2 && settled {
			return nil
		}
		if over.Err() != nil {
			return fmt.Errorf("%d contend; settled: %v; %w", len(list), settled, over.Err())
		}
		world.SleepContext(over, 20*time.Millisecond)
	}
	return session.ErrLost
}

// checkReady returns the reason why a fault would prove nothing now.
func (d *duel) checkReady() error {
	switch {
	case d.held == nil || d.held.Context().Err() != nil:
		return session.ErrLost
	case d.holder.State().Server != d.server:
		return fmt.Errorf("the holder has moved to %s", d.holder.State().Server)
	}
	return nil
}

func (d *duel) cutLinks(ctx context.Context, t *testing.T, cluster *apache.Cluster) {
	for i := range cluster.Servers() {
		for _, dir := range d.lost {
			require.NoError(t, cluster.CutClient(ctx, 2*d.k, i, dir))
		}
	}
}

// awaitLoss waits until the holder has lost the lock, or until the servers vouch
// for its session longer than servers without contact since the fault could.
func (d *duel) awaitLoss(ctx context.Context, t *testing.T, fault time.Time) {
	if !d.survives {
		select {
		case <-d.held.Context().Done():
		case <-ctx.Done():
			t.Fatalf("%s: not told", d.name)
		}
		require.ErrorIs(t, context.Cause(d.held.Context()), session.ErrLost, d.name)
		return
	}
	for !d.holder.State().TrustedUntil.After(fault.Add(survivalTimeout)) {
		require.NoError(t, ctx.Err(), "%s: not trusted again", d.name)
		require.NoError(t, d.held.Context().Err(), "%s: told of a loss %v after the fault", d.name, time.Since(fault))
		world.SleepContext(ctx, 10*time.Millisecond)
	}
	select {
	case next := <-d.granted:
		t.Fatalf("%s: granted %v after the fault (%v), while the holder holds", d.name, next.at.Sub(fault), next.err)
	default:
	}
}

// finishDuel requires the lock to be granted to the second client, with the faults
// healed, after the holder was told of the loss or has given the lock back.
func (d *duel) finishDuel(ctx context.Context, t *testing.T, fault time.Time) {
	if d.survives {
		require.NoError(t, d.held.Unlock(ctx), d.name)
	}
	next := <-d.granted
	require.NoError(t, next.err, d.name)
	last := <-d.last
	require.False(t, last.After(next.at), "%s: granted %v before the holder knew", d.name, last.Sub(next.at))
	require.Greater(t, next.held.Token(), d.held.Token(), d.name)
	t.Logf("%s: held until %.2f s after the fault, granted %.2f s later", d.name, last.Sub(fault).Seconds(), next.at.Sub(last).Seconds())
	// A late write of the former holder is refused.
	_, err := next.held.Session().Txn(ctx, d.held.Guard(), session.SetOp(d.path, nil, -1))
	require.ErrorIs(t, err, session.ErrNoNode, d.name)
	require.NoError(t, next.held.Unlock(ctx), d.name)
	d.closeClients(ctx, t)
}

func (d *duel) closeClients(ctx context.Context, t *testing.T) {
	require.NoError(t, d.holder.Close(ctx), d.name)
	require.NoError(t, d.second.Close(ctx), d.name)
}

// healCluster ends all faults.
func healCluster(t *testing.T, cluster *apache.Cluster) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	require.NoError(t, cluster.Heal(ctx))
	for i := range cluster.Servers() {
		_ = cluster.Resume(ctx, i) // refused for a killed server
		if _, err := cluster.Role(ctx, i); err != nil {
			_ = cluster.Launch(ctx, i) // refused for a running server
		}
	}
	require.NoError(t, cluster.Await(ctx))
	// A leader that was frozen or cut off still calls itself leader until the end of
	// its leadership.
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
	}, 3*time.Minute, 100*time.Millisecond)
	for i := range cluster.Servers() {
		requireSessions(ctx, t, cluster, i)
	}
}

// requireSessions requires a server to make sessions: roles alone do not tell that an
// ensemble commits. On a failure the reports of the servers are logged.
func requireSessions(ctx context.Context, t *testing.T, cluster *apache.Cluster, server int) {
	over, cancel := context.WithTimeout(ctx, world.Patience)
	defer cancel()
	c, err := session.Connect(over, cluster.Servers()[server], nil)
	if err == nil {
		err = c.Close(over)
	}
	if err == nil {
		return
	}
	for i := range cluster.Servers() {
		report, failed := cluster.FourLetter(ctx, i, "mntr")
		t.Logf("server %d: %v\n%s", i, failed, report)
	}
	t.Fatalf("server %d, a minute after the end of all faults: %v", server, err)
}

func connectThrough(ctx context.Context, t *testing.T, via *apache.Client, servers string, opts *session.Options) *session.Client {
	opts.Dialer = via.DialContext
	return connectUntilEnd(ctx, t, servers, opts)
}

// connectUntilEnd makes a client that is closed at the end of the test.
func connectUntilEnd(ctx context.Context, t *testing.T, servers string, opts *session.Options) *session.Client {
	c, err := session.Connect(ctx, servers, opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		over, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.Close(over)
	})
	return c
}

// frozenHolder is the environment variable that turns the test binary into a
// holder.
const frozenHolder = "LOCK_TEST_FROZEN_HOLDER"

// TestOnApacheAFrozenHolderIsRefusedByItsGuard freezes the holder's process until
// another client has the lock: the holder cannot know, and its guard must refuse
// its late write (P4, N23, R16).
func TestOnApacheAFrozenHolderIsRefusedByItsGuard(t *testing.T) {
	if servers := os.Getenv(frozenHolder); servers != "" {
		holdFrozen(t, servers)
		return
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cluster := apache.Require(t, &apache.Options{TickTime: 500 * time.Millisecond, Heap: 96})
	const path = "/locks/frozen"
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestOnApacheAFrozenHolderIsRefusedByItsGuard$")
	cmd.Env = append(os.Environ(), frozenHolder+"="+cluster.Connect())
	cmd.Stderr = os.Stderr
	holder, said, err := subprocess.StartLines(cmd)
	require.NoError(t, err)
	require.Equal(t, "held", <-said)

	require.NoError(t, holder.Freeze())
	next := world.Connect(t, cluster.Connect(), session.Options{Timeout: 30 * time.Second})
	held, err := lock.New(next, path, nil).Lock(ctx)
	require.NoError(t, err)
	s := held.Session()
	_, err = s.Create(ctx, "/written", []byte("by the new holder"), session.Persistent, nil)
	require.NoError(t, err)
	require.NoError(t, holder.Thaw())
	require.NoError(t, holder.Tell("write"))
	require.Equal(t, "knows=true refused=true", <-said)
	data, _, err := s.Get(ctx, "/written")
	require.NoError(t, err)
	require.Equal(t, "by the new holder", string(data))
	holder.End()
	for range said { // the end of the test in that process
	}
	require.NoError(t, holder.Wait())
	require.NoError(t, held.Unlock(ctx))
}

// holdFrozen is the main function of the frozen process.
func holdFrozen(t *testing.T, servers string) {
	ctx := t.Context()
	c, err := session.Connect(ctx, servers, &session.Options{Timeout: 5 * time.Second})
	require.NoError(t, err)
	var held *lock.Held
	require.NoError(t, world.RetryLost(ctx, func() error {
		held, err = lock.New(c, "/locks/frozen", nil).Lock(ctx)
		return err
	}))
	fmt.Println("held")
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	// The very first thing after the pause.
	knows := held.Context().Err() != nil
	err = world.RetryLost(ctx, func() error {
		s, err := c.Session(ctx)
		if err == nil {
			_, err = s.Txn(ctx, held.Guard(), session.SetOp("/written", []byte("too late"), -1))
		}
		return err
	})
	fmt.Printf("knows=%v refused=%v\n", knows, errors.Is(err, session.ErrNoNode))
	require.ErrorIs(t, held.Unlock(ctx), session.ErrLost)
	require.NoError(t, c.Close(ctx))
}
