//go:build unix

package cluster

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
)

// freeze acts like SIGSTOP: connections are accepted, but the node sends no
// answer. Its web server hangs until thaw is called, or the test ends.
func (r *run) freeze() {
	stopped := make(chan struct{})
	r.stopped.Store(&stopped)
	r.proxy.Cut()
}

func (r *run) thaw() {
	close(*r.stopped.Swap(nil))
	r.proxy.Heal()
}

// die acts like SIGKILL.
func (r *run) die() {
	r.web.CloseClientConnections()
	r.web.Close()
	r.proxy.Cut()
}

// give records an order like the site does, and carries the order out.
func (m *Monitor) give(node string, what Order, do func()) {
	id := m.ordered(node, what)
	do()
	m.carried(id, nil)
}

// TestPageSaysThatTheLeaderIsSilent: the leader hangs, and is still registered.
// The page marks its last answers as old, shows a node as leader only by its
// own answer, and the next node leads in the end.
func TestPageSaysThatTheLeaderIsSilent(t *testing.T) {
	b := newQuietBed(t)
	nodes := b.nodes("n1", "n2", "n3")
	m := b.monitor()
	page := b.site(m, open)
	first := b.sees(m, func(v View) bool { return v.Settled(3) }, "three nodes")
	require.Zero(t, first.row("n3").Heard)

	m.give("n1", Freeze, nodes[0].freeze)
	v := b.sees(m, func(v View) bool { return v.Err != nil && len(v.Rows) == 3 }, "n1 silent")
	require.ErrorIs(t, v.Err, ErrSilent)
	old := v.row("n1")
	assert.Equal(t, tag{"warn", "leader?", old.Kind().Title}, old.Kind())
	assert.True(t, old.Stale())
	assert.False(t, v.Heard.Before(first.Heard))
	assert.True(t, v.Heard.Before(v.At))
	for _, name := range []string{"n1", "n2", "n3"} {
		assert.Equal(t, v.Heard, v.row(name).Heard, "%s was heard then", name)
	}
	res := b.get(page)
	assert.Equal(t, http.StatusOK, res.StatusCode)
	for _, text := range []string{"does not answer as the leader", "no leader", `class="tag warn"`, "leader?", `class="old">heard <time`, "what a leader said"} {
		assert.Contains(t, res.text, text)
	}
	assert.NotContains(t, res.text, `class="tag good">leader`)
	assert.Equal(t, http.StatusServiceUnavailable, b.get(page+"/cluster/summary").StatusCode)

	b.expire(nodes[0].Status())
	v = b.sees(m, func(v View) bool { return v.Err == nil && v.Leading() == "n2" }, "n2 lead")
	assert.Equal(t, Freeze, v.Failovers[0].Cause)
	assert.Zero(t, v.row("n3").Heard)
	nodes[0].thaw()
	v = b.sees(m, func(v View) bool { return v.Settled(3) }, "n1 again")
	assert.Equal(t, "n1", v.Rows[2].Name)
	b.lone()
}

// TestSurvivedFreezeIsNotBlamed: frozen for less than its session lasts, then
// resumed, and killed later.
func TestSurvivedFreezeIsNotBlamed(t *testing.T) {
	b := newSteadyBed(t)
	nodes := b.nodes("n1", "n2")
	m := b.monitor()
	v := b.sees(m, func(v View) bool { return v.Settled(2) }, "two nodes")
	token := v.Summary.Token
	m.give("n1", Cut, nodes[0].proxy.Cut)
	m.give("n1", Heal, nodes[0].proxy.Heal)
	pending := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.history.orders)
	}
	b.until(func() bool { return pending() == 0 }, "it is over")
	assert.Equal(t, token, nodes[0].Status().Token)
	m.give("n1", Kill, nodes[0].die)
	b.expire(nodes[0].Status())
	v = b.sees(m, func(v View) bool { return v.Err == nil && v.Leading() == "n2" }, "n2 lead")
	require.Len(t, v.Failovers, 1)
	assert.Equal(t, Kill, v.Failovers[0].Cause)
	assert.Equal(t, 1, Sum(v.Failovers).Kills.N)
}

// TestTwoLeadersDieInARow: the second leader before leading, or just after. The
// third node leads, and no unobserved failover is counted.
func TestTwoLeadersDieInARow(t *testing.T) {
	b := newQuietBed(t)
	nodes := b.nodes("n1", "n2", "n3")
	m := b.monitor()
	b.sees(m, func(v View) bool { return v.Settled(3) }, "three nodes")
	begin := time.Now()
	m.give("n1", Kill, nodes[0].die)
	m.give("n2", Kill, nodes[1].die)
	second := nodes[1].Status()
	b.expire(nodes[0].Status())
	b.sees(m, func(v View) bool { return v.Err != nil && v.Coordinators == 0 && v.Workers == 2 }, "no leader")
	b.expire(second)
	v := b.sees(m, func(v View) bool { return v.Settled(1) }, "n3 alone")
	assert.Equal(t, "n3", v.Leading())
	require.Len(t, v.Failovers, 1, "n2 never reported that it leads")
	f := v.Failovers[0]
	assert.Equal(t, []any{"n1", "n3", Kill}, []any{f.From, f.To, f.Cause})
	assert.False(t, f.Began.Before(begin), "from the kill of n1")
	assert.True(t, f.OutOfTurn, "the third node had to wait for two")
	assert.Empty(t, v.row("n1"), "its session has expired")
	b.lone()
}

// TestNodeThatComesWithoutALeader: the node takes its place, and leads when
// its predecessors are gone.
func TestNodeThatComesWithoutALeader(t *testing.T) {
	b := newQuietBed(t)
	nodes := b.nodes("n1")
	m := b.monitor()
	b.sees(m, func(v View) bool { return v.Settled(1) }, "a node")
	m.give("n1", Kill, nodes[0].die)
	b.node("n2")
	v := b.sees(m, func(v View) bool { return v.Err != nil && v.row("n2").Name != "" }, "n2, and no leader")
	assert.Equal(t, Worker, v.row("n2").Role)
	assert.Equal(t, byRegistry, v.row("n2").Source)
	assert.Zero(t, v.row("n2").Heard, "no leader has ever reported the node")
	b.expire(nodes[0].Status())
	v = b.sees(m, func(v View) bool { return v.Settled(1) }, "n2")
	assert.Equal(t, "n2", v.Leading())
	assert.Equal(t, Kill, v.Failovers[0].Cause)
	assert.Zero(t, Sum(v.Failovers).Kills.N, "the duration depends only on the arrival of n2")
}

// TestPageOutlivesItsServer: while ZooKeeper is away, the page says so and
// still answers; afterwards the page is complete again.
func TestPageOutlivesItsServer(t *testing.T) {
	b := newQuietBed(t)
	b.nodes("n1", "n2")
	m := b.monitor()
	page := b.site(m, open)
	b.sees(m, func(v View) bool { return v.Settled(2) }, "two nodes")
	require.NoError(t, b.srv.Stop(1))
	b.sees(m, func(v View) bool { return v.State != "connected" }, "that the server is away")
	res := b.get(page)
	assert.Equal(t, http.StatusOK, res.StatusCode)
	assert.Contains(t, res.text, "This page's own connection to ZooKeeper is")
	assert.Equal(t, http.StatusConflict, b.do("POST", page+"/nodes/n2/resign", withToken, nil).StatusCode, "orders are answered, too")

	require.NoError(t, b.srv.Restart(1))
	v := b.sees(m, func(v View) bool { return v.Settled(2) && v.State == "connected" }, "two nodes again")
	assert.Empty(t, v.Problem)
	assert.NotContains(t, b.get(page).text, "own connection")
	b.lone()
}

// TestFrozenLeaderIsNotWaitedFor: the page shows the lack of a leader,
// or the next leader, at once when the leader is frozen and when another node
// registers.
func TestFrozenLeaderIsNotWaitedFor(t *testing.T) {
	b := newQuietBed(t)
	m := b.patientMonitor()
	c, _ := b.crew("node")
	m.Watch(c)
	here := b.add(c, running)
	require.NoError(t, c.Do(b.ctx, "n1", Freeze))
	m.coordinators = []peer{{entry{"n1", "/election/x", 7}, here.Address, ""}}
	m.refreshView(b.ctx)
	require.ErrorIs(t, m.View().Err, ErrSilent)
	assert.Contains(t, m.View().Problem, "n1 is frozen")

	asked := make(chan struct{}, 10)
	next := b.stranger(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, Summary{Leader: "n3", Token: 9})
	})
	m.coordinators = []peer{{entry{"n2", "/election/y", 8}, b.stranger(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}), ""}}
	looked := make(chan struct{})
	// Waited for below; ends with the answer.
	go func() {
		defer close(looked)
		m.refreshView(b.ctx)
	}()
	<-asked
	m.mu.Lock()
	m.coordinators = []peer{{entry{"n3", "/election/z", 9}, next, ""}}
	m.mu.Unlock()
	m.Look()
	<-looked
	require.NoError(t, m.View().Err)
	assert.Equal(t, "n3", m.View().Leading())
}

// TestTokenThatWasMadeUpIsForgotten, when no node is registered with the token
// any more.
func TestTokenThatWasMadeUpIsForgotten(t *testing.T) {
	b := newQuietBed(t)
	m := b.patientMonitor()
	leads := func(name string, token int64) peer {
		return peer{entry{name, "/election/x", token}, b.stranger(func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, Summary{Leader: name, Token: token, Nodes: []Status{{Name: name, Role: Leader, Token: token}}})
		}), ""}
	}
	sees := func(list ...peer) View {
		m.coordinators = list
		m.refreshView(b.ctx)
		return m.View()
	}
	good, evil := leads("n1", 7), leads("evil", 1<<62)
	require.NoError(t, sees(good).Err)
	assert.Equal(t, "evil", sees(good, evil).Leading())
	v := sees(good)
	require.NoError(t, v.Err)
	assert.Equal(t, "n1", v.Leading())
	assert.Empty(t, v.Failovers, "no failover with the made-up token is left")
	assert.Equal(t, "n2", sees(leads("n2", 9)).Failovers[0].To)
}

// TestViewHasABound: whatever a leader says, and however many are registered.
func TestViewHasABound(t *testing.T) {
	b := newQuietBed(t)
	m := b.patientMonitor()
	nodes := mostNodes
	m.coordinators = []peer{{entry{"n1", "/election/x", 7}, b.stranger(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, Summary{Leader: "n1", Token: 7, Nodes: make([]Status, nodes)})
	}), ""}}
	m.refreshView(b.ctx)
	require.NoError(t, m.View().Err)
	nodes++
	for i := range 2 * mostNodes {
		m.workers = append(m.workers, peer{entry: entry{Name: "w", Znode: fmt.Sprintf("/election/x-%010d", i)}})
	}
	m.refreshView(b.ctx)
	v := m.View()
	require.ErrorIs(t, v.Err, ErrSilent)
	assert.Len(t, v.Rows, mostNodes)
	assert.Equal(t, 1+mostNodes, v.Summary.Left)
	assert.NotEmpty(t, v.row("n1"), "a possible leader is shown first")
}

// register registers a foreign coordinator.
func (b *bed) register(p peer) {
	b.Helper()
	reg, err := discovery.NewRegistry(b.client(), registries, nil).
		Register(b.ctx, instance(coordinators, netip.MustParseAddrPort(p.address), p.entry))
	require.NoError(b, err)
	b.Cleanup(func() { _ = reg.Unregister(b.ctx) })
}

// TestCoordinatorsOfStrangers: a registered coordinator is asked, and only
// valid answers of a leader are accepted.
func TestCoordinatorsOfStrangers(t *testing.T) {
	var elsewhere atomic.Int32
	good := Summary{Leader: "evil", Term: 1, Token: 7, Nodes: []Status{{Name: "evil", Role: Leader, Token: 7, Znode: "/election/x"}}}
	says := func(change func(*Summary)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			s := good
			change(&s)
			writeJSON(w, http.StatusOK, s)
		}
	}
	for name, c := range map[string]struct {
		do http.HandlerFunc
		ok bool
	}{
		"a leader":      {says(func(*Summary) {}), true},
		"another name":  {says(func(s *Summary) { s.Leader = "n1" }), false},
		"another token": {says(func(s *Summary) { s.Token++ }), false},
		"a worker":      {func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusBadRequest, errNotLeading) }, false},
		"never":         {nil, false},
		"nothing":       {func(http.ResponseWriter, *http.Request) {}, false},
		"more than enough": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, io.LimitReader(endless{}, 2*summaryLimit))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.register(peer{entry{"evil", "/election/x", 7}, b.stranger(c.do), ""})
			m := b.monitor()
			v := b.sees(m, func(v View) bool { return v.Coordinators == 1 && (v.Err == nil) == c.ok }, "it")
			require.Len(t, v.Rows, 1)
			assert.Equal(t, "evil", v.Rows[0].Name)
			if !c.ok {
				require.ErrorIs(t, v.Err, ErrSilent)
				assert.Equal(t, "leader?", v.Rows[0].Kind().Text)
			}
		})
	}
	t.Run("a redirect", func(t *testing.T) {
		b := newBed(t)
		other := b.stranger(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
		b.register(peer{entry{"evil", "/election/x", 7}, b.stranger(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+other+"/cluster/status", http.StatusTemporaryRedirect)
		}), ""})
		v := b.sees(b.monitor(), func(v View) bool { return v.Coordinators == 1 && v.Err != nil && strings.Contains(v.Problem, "307") }, "a redirect")
		require.ErrorIs(t, v.Err, ErrSilent)
		assert.Zero(t, elsewhere.Load())
	})
}

// endless is JSON without a beginning.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestOrdersGoWhereNodesAreRegistered: addresses of nodes from any other source
// do not count, not even from the leader.
func TestOrdersGoWhereNodesAreRegistered(t *testing.T) {
	b := newQuietBed(t)
	var asked atomic.Int32
	victim := b.stranger(func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	b.register(peer{entry{"evil", "/election/x", 7}, b.stranger(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, Summary{Leader: "evil", Token: 7, Nodes: []Status{
			{Name: "evil", Role: Leader, Token: 7, Znode: "/election/x", Address: victim}, {Name: "n1", Znode: "/election/y", Address: victim},
		}})
	}), ""})
	m := b.monitor()
	page := b.site(m, open)
	b.sees(m, func(v View) bool { return v.Err == nil && v.row("n1").Address == victim }, "what it says")
	assert.Equal(t, http.StatusNotFound, b.do("POST", page+"/nodes/n1/kill", withToken, nil).StatusCode, "the node is not registered")
	res := b.do("POST", page+"/nodes/evil/kill", withToken, nil)
	assert.Equal(t, http.StatusBadGateway, res.StatusCode)
	assert.Contains(t, res.text, "the node answers 200", "evil is asked at its registered address, and its answer is not valid for an order")
	assert.Zero(t, asked.Load())
}

// TestOutcomesOfOrders: an order was not received only if refused.
func TestOutcomesOfOrders(t *testing.T) {
	b := newQuietBed(t)
	m := NewMonitor(b.client())
	s := NewSite(m, nil, open)
	answers := func(code int) string {
		return b.stranger(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	for i, c := range []struct {
		address string
		err     error // nil: any
		pending bool
	}{
		{answers(http.StatusAccepted), nil, true},
		{answers(http.StatusConflict), errNotLeading, false},
		{answers(http.StatusForbidden), nil, false},
		{b.stranger(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), errUnsure, true},
		{"127.0.0.1:1", nil, false}, // no process listens
	} {
		m.mu.Lock()
		m.workers, m.history = []peer{{entry: entry{Name: "n1", Znode: "/election/x"}, address: c.address}}, history{}
		m.mu.Unlock()
		err := s.Give(b.ctx, "n1", Kill)
		name := fmt.Sprint(i, " ", err)
		if i == 0 {
			require.NoError(t, err)
		} else {
			require.Error(t, err, name)
		}
		if c.err != nil {
			require.ErrorIs(t, err, c.err, name)
		}
		orders := m.history.orders
		assert.Equal(t, c.pending, len(orders) == 1, name)
		if c.pending {
			assert.False(t, orders[0].done.IsZero(), "and can be got over: %s", name)
		}
	}
}
