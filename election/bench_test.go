package election_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// The benchmarks run over TCP on the test server, or, with ZKBENCH_APACHE=1, on
// a standalone Apache ZooKeeper that keeps its data in memory. Those named
// go-zookeeper do the same with that client's own calls, as its users write it;
// compare within one run.

// contestant takes part in an election, in whatever way.
type contestant interface {
	// stand queues up, and tells led when it leads; it returns when it waits.
	stand(led chan<- time.Time) error
	resign() error
}

// handOvers measures the time from a resignation until the next leader knows
// that it leads, with n contestants, each of which joins again when it has led.
func handOvers(b *testing.B, all []contestant) {
	b.Helper()
	led := make([]chan time.Time, len(all))
	for i, c := range all {
		led[i] = make(chan time.Time, 1)
		require.NoError(b, c.stand(led[i]))
	}
	<-led[0]
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for k := range b.N {
		world.SleepContext(b.Context(), 2*time.Millisecond) // all contestants wait, and have their watches
		i, next := k%len(all), (k+1)%len(all)
		began := time.Now()
		if err := all[i].resign(); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-led[next]).Sub(began))
		if err := all[i].stand(led[i]); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
	// The waiting candidates end with their clients.
}

// ours is a candidate of this package.
type ours struct {
	e    *election.Elector
	lead chan *election.Leadership // cap 1
}

func (o *ours) stand(led chan<- time.Time) error {
	k, err := o.e.Stand(context.Background())
	if err != nil {
		return err
	}
	// Waited for through led; ends when it leads.
	go func() {
		l, err := k.Await(context.Background())
		if err == nil {
			led <- time.Now()
			o.lead <- l
		}
	}()
	return nil
}

func (o *ours) resign() error { return (<-o.lead).Resign(context.Background()) }

// theirs is the usual election with go-zookeeper: create, list, watch the one
// before, list again.
type theirs struct {
	conn *zk.Conn
	path string
	own  string
}

func (o *theirs) stand(led chan<- time.Time) error {
	own, err := o.conn.Create(o.path+"/n_", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	o.own = own
	// Waited for through led; ends when it leads.
	go func() {
		for {
			names, _, err := o.conn.Children(o.path)
			if err != nil {
				return
			}
			slices.Sort(names)
			at := slices.Index(names, strings.TrimPrefix(own, o.path+"/"))
			if at <= 0 {
				led <- time.Now()
				return
			}
			exists, _, events, err := o.conn.ExistsW(o.path + "/" + names[at-1])
			if err != nil {
				return
			}
			if exists {
				<-events
			}
		}
	}()
	return nil
}

func (o *theirs) resign() error {
	if err := o.conn.Delete(o.own, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func benchPeer(b *testing.B, servers string) *zk.Conn {
	conn, events, err := zk.Connect(strings.Split(servers, ","), 20*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	require.NoError(b, err)
	b.Cleanup(conn.Close)
	for ev := range events {
		if ev.State == zk.StateHasSession {
			break
		}
	}
	return conn
}

// BenchmarkResignation is the time from the leader's resignation until the next
// of n candidates knows.
func BenchmarkResignation(b *testing.B) {
	servers := world.BenchServer(b)
	for _, n := range []int{2, 8} {
		b.Run(fmt.Sprintf("%d/election", n), func(b *testing.B) {
			var all []contestant
			for i := range n {
				e := election.New(world.BenchClient(b, servers), fmt.Sprintf("/bench-%d", n), &election.Options{ID: fmt.Sprint(i)})
				all = append(all, &ours{e: e, lead: make(chan *election.Leadership, 1)})
			}
			handOvers(b, all)
		})
		b.Run(fmt.Sprintf("%d/go-zookeeper", n), func(b *testing.B) {
			var all []contestant
			path := fmt.Sprintf("/bench-peer-%d", n)
			for range n {
				all = append(all, &theirs{conn: benchPeer(b, servers), path: path})
			}
			if _, err := all[0].(*theirs).conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				b.Fatal(err)
			}
			handOvers(b, all)
		})
	}
}
