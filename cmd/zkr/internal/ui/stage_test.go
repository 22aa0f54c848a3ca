package ui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// limit bounds the waits of a test.
const limit = 2 * time.Minute

// lasting is the timeout of sessions: only a test ends them.
const lasting = 40 * time.Second

// stage is a server in this process, and actors that use its recipes.
type stage struct {
	*testing.T
	srv     *zktest.Server
	ctx     context.Context
	clients map[string]*session.Client
	playing sync.WaitGroup
	// cut: the dashboard has no way to the servers.
	cut atomic.Bool
}

// dial is how the dashboard reaches the servers.
func (s *stage) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if s.cut.Load() {
		return nil, errors.New("there is no way")
	}
	return (&net.Dialer{}).DialContext(ctx, network, addr)
}

// lose cuts the dashboard of root off from the servers, until back is called.
func (s *stage) lose(root string) (back func()) {
	s.Helper()
	s.cut.Store(true)
	require.Positive(s, s.srv.Cut(s.session("dashboard "+root).ID()))
	return func() { s.cut.Store(false) }
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageWith(t, &zktest.Options{Addr: world.OwnAddress()})
}

func newStageWith(t *testing.T, o *zktest.Options) *stage {
	t.Helper()
	o.TickTime, o.MaxSessionTimeout = 500*time.Millisecond, lasting
	srv, err := zktest.Start(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	ctx, cancel := context.WithCancel(context.Background())
	s := &stage{T: t, srv: srv, ctx: ctx, clients: map[string]*session.Client{}}
	t.Cleanup(func() {
		cancel()
		s.playing.Wait()
		var closing sync.WaitGroup
		for _, c := range s.clients {
			// Waited for below; ends when the client is closed.
			closing.Go(func() {
				limited, cancel := context.WithTimeout(context.Background(), limit)
				defer cancel()
				_ = c.Close(limited)
			})
		}
		closing.Wait()
	})
	return s
}

// actor is the client of a named process.
func (s *stage) actor(name string) *session.Client {
	s.Helper()
	if c := s.clients[name]; c != nil {
		return c
	}
	c, err := session.Connect(s.ctx, s.srv.Addr(), &session.Options{Timeout: lasting})
	require.NoError(s, err)
	s.clients[name] = c
	return c
}

// session is the session of an actor.
func (s *stage) session(name string) *session.Session {
	s.Helper()
	sess, err := s.actor(name).Session(s.ctx)
	require.NoError(s, err)
	return sess
}

// put makes a znode and its missing ancestors.
func (s *stage) put(path, data string) {
	s.Helper()
	at := ""
	for _, name := range strings.Split(path, "/")[1:] {
		if at += "/" + name; at == path {
			require.NoError(s, s.srv.Create(at, []byte(data)), path)
		} else if _, err := s.srv.Get(at); err != nil {
			require.NoError(s, s.srv.Create(at, nil))
		}
	}
}

// record is put with a record in JSON.
func (s *stage) record(path string, record map[string]any) {
	s.Helper()
	data, err := json.Marshal(record)
	require.NoError(s, err)
	s.put(path, string(data))
}

// ephemeral makes an ephemeral znode of an actor.
func (s *stage) ephemeral(actor, path, data string) {
	s.Helper()
	_, err := s.session(actor).Create(s.ctx, path, []byte(data), session.Ephemeral, nil)
	require.NoError(s, err)
}

// count waits until a path has n children.
func (s *stage) count(path string, n int) {
	s.Helper()
	require.Eventually(s, func() bool {
		names, _ := s.srv.Children(path)
		return len(names) == n
	}, limit, time.Millisecond, "%s has %d children", path, n)
}

// waits runs a function that waits for others, until the stage is cleared.
func (s *stage) waits(do func(ctx context.Context)) {
	// Waited for when the stage is cleared; ends with its context.
	s.playing.Go(func() { do(s.ctx) })
}

// all plays all recipes.
func (s *stage) all() {
	s.Helper()
	s.locks()
	s.elections()
	s.barriers()
	s.counters()
	s.latch()
	s.value()
	s.members()
	s.job()
	s.shares()
	s.tasks()
	s.secrets()
}

func (s *stage) locks() {
	s.Helper()
	for i, name := range []string{"web-1", "web-2", "web-3", "batch-7"} {
		m := lock.New(s.actor(name), "/shop/locks/checkout", &lock.Options{ID: name})
		if i == 0 {
			_, err := m.Lock(s.ctx)
			require.NoError(s, err)
		} else {
			s.waits(func(ctx context.Context) { _, _ = m.Lock(ctx) })
		}
		s.count("/shop/locks/checkout", i+1)
	}
	for i, name := range []string{"report-1", "report-2", "indexer", "report-3"} {
		m := rwlock.New(s.actor(name), "/shop/locks/catalog", &rwlock.Options{ID: name})
		switch i {
		case 0, 1:
			_, err := m.RLock(s.ctx)
			require.NoError(s, err)
		case 2:
			s.waits(func(ctx context.Context) { _, _ = m.Lock(ctx) })
		default:
			s.waits(func(ctx context.Context) { _, _ = m.RLock(ctx) })
		}
		s.count("/shop/locks/catalog", i+1)
	}
	for i, n := range []int{1, 2, 2} {
		name := fmt.Sprintf("render-%d", i+1)
		sem := lock.NewSemaphore(s.actor(name), "/shop/locks/gpus", 4, &lock.Options{ID: name})
		if i < 2 {
			_, err := sem.Acquire(s.ctx, n)
			require.NoError(s, err)
		} else {
			s.waits(func(ctx context.Context) { _, _ = sem.Acquire(ctx, n) })
		}
		s.count("/shop/locks/gpus", i+1)
	}
	// A process in Java, and a defective znode written by hand.
	s.put("/shop/locks/invoices", "")
	s.ephemeral("java-app", "/shop/locks/invoices/_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-lock-0000000041", "10.0.3.17")
	s.put("/shop/locks/invoices/_c_0c9e66a4-7c3c-4a0b-9b5a-5c4f0f3f2d11-lock-0000000042", "10.0.3.20")
}

func (s *stage) elections() {
	s.Helper()
	for path, names := range map[string][]string{"/shop/leader/billing": {"web-2", "web-1", "web-3"}, "/shop/leader/scheduler": {"batch-7", "web-3"}} {
		for i, name := range names {
			e := election.New(s.actor(name), path, &election.Options{ID: name})
			if i == 0 {
				l, err := e.Campaign(s.ctx)
				require.NoError(s, err)
				require.NoError(s, l.Proclaim(s.ctx, []byte("http://"+name+":8080")))
			} else {
				_, err := e.Stand(s.ctx)
				require.NoError(s, err)
			}
			s.count(path, i+1)
		}
	}
}

func (s *stage) barriers() {
	s.Helper()
	round := func(n int) {
		for i := range n {
			name := fmt.Sprintf("loader-%d", i+1)
			party := barrier.New(s.actor(name), "/shop/barriers/nightly", 5, &barrier.Options{ID: name})
			s.waits(func(ctx context.Context) { _, _ = party.Await(ctx) })
		}
	}
	round(5)
	require.Eventually(s, func() bool {
		n, err := s.srv.Get("/shop/barriers/nightly")
		return err == nil && strings.Contains(string(n.Data), `"round":1`)
	}, limit, time.Millisecond)
	round(3)
	s.count("/shop/barriers/nightly", 3)
	for i := range 2 {
		d := barrier.NewDouble(s.actor(fmt.Sprintf("loader-%d", i+1)), "/shop/barriers/import", 2, &barrier.Options{ID: fmt.Sprintf("loader-%d", i+1)})
		s.waits(func(ctx context.Context) { _, _ = d.Enter(ctx) })
	}
	require.Eventually(s, func() bool {
		n, err := s.srv.Get("/shop/barriers/import")
		return err == nil && strings.Contains(string(n.Data), `"round":1`)
	}, limit, time.Millisecond)
	require.NoError(s, barrier.NewGate(s.actor("web-1"), "/shop/barriers/maintenance-gate", nil).Set(s.ctx))
}

func (s *stage) counters() {
	s.Helper()
	_, err := counter.New(s.actor("web-1"), "/shop/counters/orders", nil).Add(s.ctx, 18_204)
	require.NoError(s, err)
	_, err = counter.NewSequence(s.actor("web-2"), "/shop/counters/invoice-numbers", nil).Next(s.ctx)
	require.NoError(s, err)
	require.NoError(s, counter.NewShared(s.actor("web-1"), "/shop/counters/config-epoch", 0, nil).Set(s.ctx, 7))
	s.put("/shop/counters/visits", "90125")
}

func (s *stage) members() {
	s.Helper()
	for i, in := range []discovery.Instance{
		{Service: "payments", ID: "pay-1", Address: "10.0.1.11", Port: 8443, Payload: json.RawMessage(`{"zone":"a","weight":3}`)},
		{Service: "payments", ID: "pay-2", Address: "10.0.2.12", Port: 8443, Payload: json.RawMessage(`{"zone":"b","weight":3}`)},
		{Service: "payments", ID: "pay-3", Address: "10.0.3.13", Port: 8443, Disabled: true},
		{Service: "search", ID: "search-1", Address: "10.0.1.31", Port: 9200},
		{Service: "search", ID: "search-legacy", Address: "search.example.org", Port: 9200, Type: discovery.Static},
	} {
		_, err := discovery.NewRegistry(s.actor(fmt.Sprintf("service-%d", i)), "/shop/services", nil).Register(s.ctx, in)
		require.NoError(s, err)
	}
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		_, err := discovery.NewGroup(s.actor(name), "/shop/frontends", nil).Join(s.ctx, name, []byte("10.0.0."+name[4:]+":8080"))
		require.NoError(s, err)
	}
	s.put("/shop/python-workers", "")
	for i, hex := range []string{"0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"} {
		s.ephemeral(fmt.Sprintf("celery-%d", i+1), "/shop/python-workers/"+hex+"__party__", fmt.Sprintf("celery-%d", i+1))
	}
}

func (s *stage) job() {
	s.Helper()
	_, err := workerctl.Submit(s.ctx, s.actor("driver"), workerctl.Spec{Name: "wordcount", Workers: 12, Metadata: map[string]string{"owner": "data", "input": "s3://logs/2026"}}, nil)
	require.NoError(s, err)
	for i := range 10 {
		name := fmt.Sprintf("host-%d:7000", i+1)
		attached, err := workerctl.Attach(s.ctx, s.actor(name), "wordcount", nil)
		require.NoError(s, err)
		w, err := attached.Join(s.ctx, workerctl.Identity{Name: name, Addresses: []string{fmt.Sprintf("10.1.0.%d:7000", i+1)}, Node: fmt.Sprintf("rack-%d", i%3+1)})
		require.NoError(s, err)
		switch i {
		case 8:
			require.NoError(s, w.Leave(s.ctx))
		case 9:
			require.NoError(s, w.Fail(s.ctx, "no space left on /data"))
		}
	}
	require.NoError(s, s.srv.ExpireSession(s.session("host-4:7000").ID()))
}

// shares writes the znodes of a rebalanser group in the middle of a move.
func (s *stage) shares() {
	s.Helper()
	const group = "/shop/consumers"
	s.record(group, map[string]any{"format": 1, "mode": "resource"})
	for _, dir := range []string{"clients", "resources", "assignments", "barriers"} {
		s.put(group+"/"+dir, "")
	}
	client := func(i int) string {
		return fmt.Sprintf("_c_00000000-0000-4000-8000-00000000000%d-latch-000000000%d", i, i)
	}
	shards, owners := map[int][]string{}, map[string]int{}
	for p := range 24 {
		name := fmt.Sprintf("orders-%02d", p)
		s.put(group+"/resources/"+name, "")
		owner := p*3/24 + 1
		target := owner
		if p%8 >= 6 {
			target = 4 // a new member
		}
		shards[target], owners[name] = append(shards[target], name), owner
		if p == 7 {
			owners[name] = 0 // given up, and not taken yet
		}
	}
	s.record(group+"/epoch", map[string]any{"epoch": 3, "client": client(1)})
	s.record(group+"/config", map[string]any{"paused": false})
	for i := 1; i <= 4; i++ {
		record, _ := json.Marshal(map[string]any{"format": 1, "mode": "resource", "id": fmt.Sprintf("consumer-%d", i), "assignor": "sticky"})
		s.ephemeral(fmt.Sprintf("consumer-%d", i), group+"/clients/"+client(i), string(record))
		s.record(group+"/assignments/"+client(i), map[string]any{"client": client(i), "generation": 12, "epoch": 3, "count": len(shards[i]), "resources": shards[i]})
	}
	for name, owner := range owners {
		record := map[string]any{}
		if owner > 0 {
			record["client"] = client(owner)
		}
		s.record(group+"/barriers/"+name, record)
	}
}

// tasks writes the znodes of a dispatch queue.
func (s *stage) tasks() {
	s.Helper()
	const queue = "/shop/mail"
	for _, dir := range []string{"", "/masters", "/tasks", "/data", "/results", "/alive", "/workers", "/clients"} {
		s.put(queue+dir, "")
	}
	s.record(queue+"/admission", map[string]any{"format": 1, "maxTasks": 10_000})
	s.put(queue+"/admission/open", "")
	s.ephemeral("web-1", queue+"/masters/_c_00000000-0000-4000-8000-000000000001-latch-0000000003", "web-1")
	s.ephemeral("web-2", queue+"/masters/_c_00000000-0000-4000-8000-000000000002-latch-0000000004", "web-2")
	for i := 1; i <= 3; i++ {
		record, _ := json.Marshal(map[string]any{"format": 1, "name": fmt.Sprintf("mailer-%d", i), "concurrency": 8, "prefetch": 2, "labels": []string{"smtp"}, "draining": i == 3})
		s.ephemeral(fmt.Sprintf("mailer-%d", i), queue+fmt.Sprintf("/alive/mailer-%d~0123456789abcdef", i), string(record))
		s.put(queue+fmt.Sprintf("/workers/mailer-%d~0123456789abcdef", i), "")
	}
	for name, every := range map[string]time.Duration{"digest": 24 * time.Hour, "retry-bounced": 15 * time.Minute} {
		schedule := taskformat.Schedule{Format: taskformat.Format, Name: name, Every: taskformat.ToMillis(every), MaxAttempts: 3, Since: time.Now().Add(-every)}
		s.put(queue+"/schedules/"+name, string(taskformat.EncodeSchedule(schedule, nil)))
		slot, _ := schedule.SlotAt(time.Now())
		last := taskformat.LastSlot{Format: taskformat.Format, Slot: slot, Task: taskformat.SlotTask(name, slot), Run: "0123456789abcdef"}
		s.put(queue+"/schedules/"+name+"/last", string(taskformat.Encode(last)))
	}
	states := []string{"waiting", "waiting", "assigned", "done", "done", "done", "done", "done", "waiting"}
	for i := range 90 {
		state := states[i%len(states)]
		if i == 40 {
			state = "dead"
		}
		id := fmt.Sprintf("mail-%04d", i)
		r := taskformat.Record{
			Format: taskformat.Format, ID: id, Run: "0123456789abcdef", State: taskformat.State(state), Attempt: 1 + i%3, MaxAttempts: 3,
			Submitted: time.Now().Add(-time.Duration(i) * time.Second), FinishedAt: time.Now(), LastFailure: map[bool]string{true: "550 mailbox unavailable"}[state == "dead"],
		}
		if state == taskformat.Assigned {
			r.Worker, r.Assignment = fmt.Sprintf("mailer-%d~0123456789abcdef", i%2+1), fmt.Sprintf("%s~1-1.%d", id, i)
			now := taskformat.Assignment{Format: taskformat.Format, Task: r}
			if i < 20 {
				now.Progress = &taskformat.Progress{Done: int64(100 * i), Total: 2500, Note: "sending"}
			}
			s.put(queue+"/workers/"+r.Worker+"/"+r.Assignment, string(taskformat.Encode(now)))
		}
		s.put(fmt.Sprintf("%s/tasks/%02x/%s", queue, i%7, id), string(taskformat.Encode(r)))
	}
}

// secrets are unreadable znodes.
func (s *stage) secrets() {
	s.Helper()
	owner, err := session.Connect(s.ctx, s.srv.Addr(), &session.Options{
		Timeout: lasting, ACL: session.CreatorACL(), Credentials: []session.Credential{session.Digest("ann", "secret")},
	})
	require.NoError(s, err)
	s.clients["ann"] = owner
	sess, err := owner.Session(s.ctx)
	require.NoError(s, err)
	_, err = sess.Create(s.ctx, "/shop/secrets", []byte("s3cr3t"), session.Persistent, nil)
	require.NoError(s, err)
}

// dashboard serves the stage, from root on.
func (s *stage) dashboard(root string) (m *ui.Model, url string) {
	s.Helper()
	return s.dashboardWith(root, nil)
}

// dashboardWith is dashboard with an auditor of the servers.
func (s *stage) dashboardWith(root string, auditor *doctor.Auditor) (m *ui.Model, url string) {
	s.Helper()
	client, err := session.Connect(s.ctx, s.srv.Addr(), &session.Options{Timeout: lasting, Dialer: s.dial})
	require.NoError(s, err)
	s.clients["dashboard "+root] = client
	m = ui.NewModel(client, root)
	m.Auditor = auditor
	s.waits(func(ctx context.Context) { _ = m.Run(ctx) })
	// Requests end with the stage's context, so streams do not keep the stage
	// open.
	l, err := web.Listen(s.ctx, "127.0.0.1:0", false)
	require.NoError(s, err)
	s.waits(func(ctx context.Context) {
		_ = web.Serve(ctx, l, web.Guard(web.Hosts{}, ui.Handler(m, "zk1.example.org:2181,zk2.example.org:2181,zk3.example.org:2181", nil)))
	})
	s.shows(m, func(v *ui.View) bool { return v.Health.Loaded })
	return m, strings.TrimSuffix(web.URL(l), "/")
}

// shows waits until a model's view is so.
func (s *stage) shows(m *ui.Model, so func(*ui.View) bool) *ui.View {
	s.Helper()
	require.Eventually(s, func() bool { return so(m.View()) }, limit, 5*time.Millisecond)
	return m.View()
}
