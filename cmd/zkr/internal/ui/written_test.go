package ui_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/value"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

var errNoDisk = errors.New("no disk") // read only

// written has, for each format, the part of the stage that writes the format,
// and the expected content of the dashboard.
//
// read only
var written = map[string]struct {
	play func(*stage)
	has  func(*ui.View) bool
}{
	"lockformat": {func(s *stage) { s.locks(); s.elections(); s.variants() }, func(v *ui.View) bool {
		sems, locks := v.Kinds(recognize.Semaphore), v.Kinds(recognize.Mutex)
		return len(sems) == 2 && slices.ContainsFunc(sems, func(t *recognize.Thing) bool { return t.Permits.Total == 4 && t.Permits.Held == 3 }) &&
			slices.ContainsFunc(locks, func(t *recognize.Thing) bool {
				return t.Path == "/shop/delayed" && t.Guess == "" && len(t.Holders()) == 1
			}) &&
			len(v.Kinds(recognize.Election)) >= 3 && *v.Kinds(recognize.Election)[0].Queue[0].Value == "http://web-2:8080" && v.Kinds(recognize.RWLock)[0].Waiting() == 2
	}},
	"barrierformat": {(*stage).barriers, func(v *ui.View) bool {
		b, d := v.Kinds(recognize.Barrier), v.Kinds(recognize.Double)
		return len(b) == 1 && b[0].Meeting.Parties == 5 && b[0].Meeting.Round == 1 && len(b[0].Meeting.Here) == 3 && len(d) == 1 && len(d[0].Meeting.Inside) == 2
	}},
	"counterformat": {func(s *stage) { s.counters(); s.latch(); s.value() }, func(v *ui.View) bool {
		counters, values := v.Kinds(recognize.Counter), v.Kinds(recognize.Value)
		return len(counters) == 5 && len(values) == 1 && values[0].State == "5 bytes" && values[0].Number.Writers == 1 && slices.ContainsFunc(counters, func(t *recognize.Thing) bool {
			return t.State == "2 left in round 1"
		}) && slices.ContainsFunc(counters, func(t *recognize.Thing) bool {
			return t.Guess == "" && *t.Number.Value == 18_204 && t.Number.Writers == 1
		})
	}},
	"memberformat": {(*stage).members, func(v *ui.View) bool {
		services := v.Kinds(recognize.Service)
		return len(services) == 2 && services[0].Members[0].Address == "10.0.1.11:8443" && len(v.Kinds(recognize.Group)) >= 2
	}},
	"jobformat": {func(s *stage) { s.job(); s.endedJob() }, func(v *ui.View) bool {
		jobs := v.Kinds(recognize.Job)
		return len(jobs) == 2 && slices.ContainsFunc(jobs, func(t *recognize.Thing) bool { return t.Job.State == "killed" && t.Job.Size == 3 }) &&
			slices.ContainsFunc(jobs, func(t *recognize.Thing) bool { return t.Job.Dead == 1 && t.Job.Failed == 1 && t.Job.Left == 1 })
	}},
	"shareformat": {(*stage).group, func(v *ui.View) bool {
		groups := v.Kinds(recognize.Rebalancer)
		return len(groups) == 1 && len(groups[0].Shares.Members) == 1 && groups[0].Shares.Epoch > 0 && len(groups[0].Shares.Members[0].Cells) == 2 &&
			slices.ContainsFunc(groups[0].Problems, func(p recognize.Problem) bool {
				return p.Text == "consumer-1 retries 1 resource after failures, such as bad: no disk"
			})
	}},
	"taskformat": {(*stage).queue, func(v *ui.View) bool {
		queues := v.Kinds(recognize.Tasks)
		return len(queues) == 1 && queues[0].Tasks.Master != "" && queues[0].Tasks.Counts["done"] == 1 && queues[0].Tasks.Counts["waiting"] == 1 && len(queues[0].Tasks.Workers) == 1
	}},
	"tableformat": {(*stage).table, func(v *ui.View) bool {
		return slices.ContainsFunc(v.Kinds(recognize.Mutex), func(t *recognize.Thing) bool { return t.State == "2 of 2 locks are held" })
	}},
	"heartbeatformat": {(*stage).sharedHeartbeats, func(v *ui.View) bool {
		return slices.ContainsFunc(v.Kinds(recognize.Group), func(t *recognize.Thing) bool {
			return t.Path == "/shop/heartbeats" && t.Guess == "" && t.Members[0].Session != 0
		})
	}},
	"stmformat": {(*stage).transactions, func(v *ui.View) bool {
		return slices.ContainsFunc(v.Kinds(recognize.Group), func(t *recognize.Thing) bool { return t.Path == "/shop/transactions" && t.Guess == "" })
	}},
}

// value is a value that was set.
func (s *stage) value() {
	s.Helper()
	require.NoError(s, value.New(s.actor("web-1"), "/shop/config/mode", nil).Set(s.ctx, []byte("night")))
}

// latch is a latch that was counted down once.
func (s *stage) latch() {
	s.Helper()
	l := counter.NewLatch(s.actor("web-1"), "/shop/latches/shards", nil)
	_, err := l.TrySetCount(s.ctx, 3)
	require.NoError(s, err)
	_, err = l.CountDown(s.ctx)
	require.NoError(s, err)
}

// variants are forms of locks and elections missing in s.locks and s.elections.
func (s *stage) variants() {
	s.Helper()
	_, err := lock.New(s.actor("web-1"), "/shop/delayed", &lock.Options{ID: "web-1", LockDelay: time.Minute}).Lock(s.ctx)
	require.NoError(s, err)
	_, err = lock.NewSemaphore(s.actor("web-1"), "/shop/leased", 2, &lock.Options{ID: "web-1", CuratorV2: true}).Acquire(s.ctx, 1)
	require.NoError(s, err)
	_, err = election.New(s.actor("web-1"), "/shop/leader/selected", &election.Options{ID: "web-1", Layout: election.LeaderSelector}).Campaign(s.ctx)
	require.NoError(s, err)
}

// endedJob is an ended and removed job.
func (s *stage) endedJob() {
	s.Helper()
	j, err := workerctl.Submit(s.ctx, s.actor("driver"), workerctl.Spec{Name: "ended", Workers: 3}, nil)
	require.NoError(s, err)
	require.NoError(s, j.Kill(s.ctx))
	require.NoError(s, j.Remove(s.ctx))
}

// group is a group of rebalanser with a single member, which fails at a
// resource.
func (s *stage) group() {
	s.Helper()
	o := &rebalanser.Options{ID: "consumer-1", RetryDelay: time.Hour}
	admin := rebalanser.Open(s.actor("admin"), "/shop/orders", o)
	require.NoError(s, admin.Create(s.ctx))
	_, err := admin.AddResources(s.ctx, "bad", "good")
	require.NoError(s, err)
	g := rebalanser.New(s.actor("consumer-1"), "/shop/orders", rebalanser.Each(func(ctx context.Context, r *rebalanser.Resource) error {
		if r.Name() == "bad" {
			return errNoDisk
		}
		<-ctx.Done()
		return nil
	}), o)
	s.waits(func(ctx context.Context) { _ = g.Run(ctx) })
}

// queue is a queue of dispatch with a finished task and a task that waits for a
// label.
func (s *stage) queue() {
	s.Helper()
	const path = "/shop/letters"
	m := dispatch.NewMaster(s.actor("web-1"), path, nil)
	s.waits(func(ctx context.Context) { _ = m.Run(ctx) })
	w := dispatch.NewWorker(s.actor("web-2"), path, func(context.Context, *dispatch.Attempt) ([]byte, error) { return nil, nil }, nil)
	s.waits(func(ctx context.Context) { _ = w.Run(ctx) })
	q := dispatch.New(s.actor("web-3"), path, nil)
	id, err := q.Submit(s.ctx, dispatch.Task{Attached: true})
	require.NoError(s, err)
	_, err = q.Wait(s.ctx, id)
	require.NoError(s, err)
	_, err = q.Submit(s.ctx, dispatch.Task{Labels: []string{"none"}})
	require.NoError(s, err)
}

func (s *stage) table() {
	s.Helper()
	owner, err := locktable.New(s.actor("web-1"), "/shop/shards", nil).Join(s.ctx)
	require.NoError(s, err)
	_, err = owner.TryLock(s.ctx, "shard-1", "shard-2")
	require.NoError(s, err)
}

// sharedHeartbeats is a lock that is held by a session with shared heartbeats.
func (s *stage) sharedHeartbeats() {
	s.Helper()
	c, err := session.Connect(s.ctx, s.srv.Addr(), &session.Options{TickTime: 2 * time.Second, SharedHeartbeats: "/shop/heartbeats"})
	require.NoError(s, err)
	s.clients["shared"] = c
	_, err = lock.New(c, "/shop/shared", nil).Lock(s.ctx)
	require.NoError(s, err)
}

func (s *stage) transactions() {
	s.Helper()
	txs := stm.New(s.actor("web-1"), "/shop/transactions", nil)
	require.NoError(s, txs.Apply(s.ctx, func(tx *stm.Tx) error { return tx.Put("/shop/balance", []byte("30")) }))
}

// TestEveryFormatThatIsWrittenIsRecognized by running the recipes, with its fields. Each
// format has a row in the table, and no znode but those of users is left over.
func TestEveryFormatThatIsWrittenIsRecognized(t *testing.T) {
	t.Parallel()
	formats, err := os.ReadDir("../../../../internal/format")
	require.NoError(t, err)
	for _, dir := range formats {
		assert.Contains(t, written, dir.Name(), "a recipe that writes the format must be on the stage")
	}
	for name, format := range written {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			format.play(s)
			m, _ := s.dashboard("/")
			s.shows(m, func(v *ui.View) bool { return format.has(v) && len(s.unknown(v, "/")) == 0 })
		})
	}
}

// unknown are the leaves below a path that belong to no thing.
func (s *stage) unknown(v *ui.View, path string) (out []string) {
	for _, n := range v.Children(path) {
		switch below := s.unknown(v, n.Path); {
		case n.Path == "/zookeeper", n.Path == "/shop/balance", v.Of(n.Path) != nil:
		case len(v.Children(n.Path)) == 0 && n.Stat.Ctime != 0 && (n.Size > 0 || n.Stat.EphemeralOwner != 0):
			out = append(out, n.Path)
		default:
			out = append(out, below...)
		}
	}
	return out
}
