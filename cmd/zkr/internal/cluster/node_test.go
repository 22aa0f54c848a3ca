//go:build unix

package cluster

import (
	"encoding/json"
	"net"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// TestNodesFindTheirPlaces: the leader is in the registry of the coordinators,
// the other nodes in the registry of the workers, and each node watches the
// node before.
//
// D1, D2, D3, D4, D6, D19
func TestNodesFindTheirPlaces(t *testing.T) {
	b := newQuietBed(t)
	nodes := b.nodes("n1", "n2", "n3")
	b.until(func() bool { return nodes[2].Status().Watched != "" && nodes[1].Status().Watched != "" }, "the others watch")
	b.until(func() bool { return len(b.watched(Election)) == 2 }, "and the server knows")

	for _, p := range []string{"/election", "/coordinators_service_registry", "/workers_service_registry"} {
		n, err := b.srv.Get(p)
		require.NoError(t, err)
		assert.Zero(t, n.EphemeralOwner)
		assert.False(t, n.Container, "%s is persistent", p)
	}
	first, second, third := nodes[0].Status(), nodes[1].Status(), nodes[2].Status()
	assert.Equal(t, []Role{Leader, Worker, Worker}, []Role{first.Role, second.Role, third.Role})
	assert.Regexp(t, `^/election/_c_[0-9a-f-]{36}-latch-0000000000$`, first.Znode)
	assert.Empty(t, first.Watched)
	assert.Equal(t, path.Base(first.Znode), second.Watched)
	assert.Equal(t, path.Base(second.Znode), third.Watched)
	watched := b.watched(Election) // by the two behind, and nothing else of the election
	assert.Len(t, watched, 2)
	assert.ElementsMatch(t, []int64{b.owner(second), b.owner(third)}, watched[first.Znode])
	assert.Equal(t, []int64{b.owner(third)}, watched[second.Znode])
	for i, s := range []Status{first, second, third} {
		assert.Equal(t, b.sessions.Milliseconds(), s.Timeout)
		assert.Equal(t, "connected", s.SessionState)
		assert.True(t, s.TrustedUntil.After(s.At), "%s trusts its session", s.Name)
		service := workers
		if i == 0 {
			service = coordinators
		}
		b.registered(service, s)
	}
	b.lone()
}

// owner is the session of a node's znode.
func (b *bed) owner(s Status) int64 {
	b.Helper()
	n, err := b.srv.Get(s.Znode)
	require.NoError(b, err)
	return n.EphemeralOwner
}

// watched has the sessions with a watch on the children of a path. A leader's
// watch on its own znode, for its deletion, does not count.
func (b *bed) watched(dir string) map[string][]int64 {
	out := map[string][]int64{}
	for p, sessions := range b.srv.Watches() {
		n, err := b.srv.Get(p)
		if err != nil || !strings.HasPrefix(p, dir+"/") {
			continue
		}
		for _, s := range sessions {
			if s != n.EphemeralOwner {
				out[p] = append(out[p], s)
			}
		}
	}
	return out
}

// registered asserts that a node is registered: ephemeral, sequential, in
// Curator's form.
func (b *bed) registered(service string, s Status) {
	b.Helper()
	names, err := b.srv.Children("/" + service)
	require.NoError(b, err)
	for _, name := range names {
		assert.Regexp(b, regexp.MustCompile(`^n_\d{10}$`), name)
		n, err := b.srv.Get("/" + service + "/" + name)
		require.NoError(b, err)
		var i struct {
			Name, Address, ServiceType string
			Port                       int
			Payload                    entry
		}
		require.NoError(b, json.Unmarshal(n.Data, &i))
		if i.Payload.Name != s.Name {
			continue
		}
		assert.NotZero(b, n.EphemeralOwner)
		assert.Equal(b, service, i.Name)
		assert.Equal(b, "DYNAMIC_SEQUENTIAL", i.ServiceType)
		assert.Equal(b, entry{Name: s.Name, Znode: s.Znode, Token: s.Token}, i.Payload)
		assert.Equal(b, s.Address, net.JoinHostPort(i.Address, strconv.Itoa(i.Port)))
		return
	}
	b.Errorf("%s is not in %s", s.Name, service)
}

// TestLostSessionIsTheEndOfALife: the next node leads, and the node with the
// lost session comes back behind all others, as a worker, and was never listed
// as coordinator together with the new one.
//
// D5, D7, D8, D16
func TestLostSessionIsTheEndOfALife(t *testing.T) {
	b := newQuietBed(t)
	nodes := b.nodes("n1", "n2", "n3")
	for turn := range 6 { // each of them twice
		old, next := nodes[turn%3], nodes[(turn+1)%3]
		before := old.Status()
		require.NoError(t, b.srv.ExpireSession(b.owner(before)))
		b.until(func() bool { return next.Leads() != nil }, "%s leads", next.name)
		b.until(func() bool { s := old.Status(); return s.Role == Worker && s.Watched != "" }, "%s is back", old.name)
		after := old.Status()
		assert.Equal(t, before.Life+1, after.Life)
		assert.NotEqual(t, before.Session, after.Session)
		assert.Regexp(t, "expired|trust ran out", after.Cause, "on a busy machine the second comes first")
		assert.Equal(t, path.Base(nodes[(turn+2)%3].Status().Znode), after.Watched, "last in the order")
		require.NotNil(t, after.Led)
		assert.Equal(t, before.Token, after.Led.Token)
		assert.Greater(t, next.Status().Token, before.Token)
		b.registered(workers, after)
		b.registered(coordinators, next.Status())
	}
	b.lone()
}

// TestDeletedPlaceIsTakenAgain: an administrator deletes candidates; the session
// lives on.
func TestDeletedPlaceIsTakenAgain(t *testing.T) {
	b := newQuietBed(t)
	nodes := b.nodes("n1", "n2")
	for _, n := range []*run{nodes[1], nodes[0]} {
		before := n.Status()
		require.NoError(t, b.srv.Delete(before.Znode))
		b.until(func() bool {
			s := n.Status()
			return s.Znode != "" && s.Znode != before.Znode && s.Role == Worker && s.Watched != ""
		}, "%s has another place", n.name)
		assert.Equal(t, before.Session, n.Status().Session)
	}
	b.until(func() bool { return nodes[1].Leads() != nil }, "n2 leads")
}

// TestResigningHandsOver: in milliseconds, and the former leader is last. The two
// leaders are never listed together.
func TestResigningHandsOver(t *testing.T) {
	b := newQuietBed(t)
	nodes := b.nodes("n1", "n2")
	session := nodes[0].Status().Session
	require.True(t, nodes[0].Resign())
	b.until(func() bool { return nodes[1].Leads() != nil }, "n2 leads")
	b.until(func() bool { return nodes[0].Status().Watched == path.Base(nodes[1].Status().Znode) }, "n1 is behind it")
	s := nodes[0].Status()
	assert.Equal(t, session, s.Session)
	assert.False(t, s.Led.Until.After(nodes[1].Status().Since), "the former leader had stopped")
	assert.False(t, nodes[0].Resign(), "a worker has nothing to resign from")
	b.lone()
}

// TestLeavingTakesAllAway: the registration and the place, at once.
func TestLeavingTakesAllAway(t *testing.T) {
	b := newQuietBed(t)
	nodes := b.nodes("n1", "n2")
	begin := time.Now()
	nodes[0].stop()
	b.until(func() bool { return nodes[1].Leads() != nil }, "n2 leads")
	assert.Less(t, time.Since(begin), b.sessions/2, "no session has to expire")
	nodes[1].stop()
	for _, p := range Paths() {
		b.until(func() bool { c, err := b.srv.Children(p); return err == nil && len(c) == 0 }, "%s is empty", p)
	}
	b.lone()
}

// TestCutOffLeaderStopsBeforeAnotherServes: the leader reports the end of its
// trust, stops then, refuses every request, and comes back last.
//
// D5, D14, D16, D19
func TestCutOffLeaderStopsBeforeAnotherServes(t *testing.T) {
	b := newBed(t)
	nodes := b.nodes("n1", "n2")
	m := b.monitor()
	b.sees(m, func(v View) bool { return v.Settled(2) }, "two nodes")
	assert.Equal(t, http.StatusOK, b.get(nodes[0].web.URL+"/cluster/status").StatusCode)

	id := m.ordered("n1", Cut)
	nodes[0].proxy.Cut()
	m.carried(id, nil)
	b.until(func() bool { return nodes[0].Leads() == nil }, "n1 stops")
	assert.Equal(t, http.StatusBadRequest, b.get(nodes[0].web.URL+"/cluster/status").StatusCode)
	v := b.sees(m, func(v View) bool { return v.Err == nil && v.Leading() == "n2" }, "n2 lead")
	led, serving := nodes[0].Status().Led, nodes[1].Status().Since
	require.NotNil(t, led)
	assert.True(t, led.Until.Before(serving), "n1 stopped at %v, n2 serves since %v", led.Until, serving)
	assert.Contains(t, led.Cause, session.ErrTrustRanOut.Error())
	first := func(v View) Failover { return v.Failovers[len(v.Failovers)-1] } // on a busy machine there may be more
	assert.Equal(t, Cut, first(v).Cause)

	nodes[0].proxy.Heal()
	v = b.sees(m, func(v View) bool { return v.Settled(2) && first(v).Stopped.Equal(led.Until) }, "n1 behind n2")
	assert.GreaterOrEqual(t, nodes[0].Status().Life, 2)
	gap, ok := first(v).Gap()
	assert.True(t, ok)
	assert.Positive(t, gap)
	b.lone()
}

// TestLeaderThatWakesLateHasStoppedInTime: cut off, and stopped before its
// trust runs out. The leader finds out when it runs again, and has served no
// request in between.
func TestLeaderThatWakesLateHasStoppedInTime(t *testing.T) {
	b := newBed(t)
	m := NewMonitor(b.client())
	c, _ := b.crew(tick.String())
	m.Watch(c)
	b.run(m)
	s := NewSite(m, c, open)
	b.add(c, running)
	b.sees(m, func(v View) bool { return v.Settled(1) }, "n1")
	b.add(c, running)
	b.sees(m, func(v View) bool { return v.Settled(2) && v.Leading() == "n1" }, "n1 and n2")
	require.NoError(t, s.Give(b.ctx, "n1", Cut))
	require.NoError(t, s.Give(b.ctx, "n1", Freeze))
	b.sees(m, func(v View) bool { return v.Err == nil && v.Leading() == "n2" }, "n2 lead")
	require.NoError(t, s.Give(b.ctx, "n1", Resume))
	first := func(v View) Failover { return v.Failovers[len(v.Failovers)-1] } // on a busy machine there may be more
	v := b.sees(m, func(v View) bool { return !first(v).Stopped.IsZero() }, "what n1 says")
	gap, ok := first(v).Gap()
	assert.True(t, ok, "%+v", first(v))
	assert.Positive(t, gap, "the leader was stopped when n2 began")
}

// TestNodeReportsAFatalError: an error that a further life would not repair ends
// Run.
func TestNodeReportsAFatalError(t *testing.T) {
	b := newBed(t)
	n, err := NewNode("n1", "127.0.0.1:1", connect("not a server list,,", calm, tick))
	require.NoError(t, err)
	require.ErrorIs(t, n.Run(b.ctx), session.ErrInvalidServers)
	for _, bad := range []struct{ name, address string }{
		{"", "127.0.0.1:1"}, {"a/b", "127.0.0.1:1"}, {"..", "127.0.0.1:1"}, {strings.Repeat("n", 64), "127.0.0.1:1"}, {"<b>", "127.0.0.1:1"},
		{"n1", ":1"}, {"n1", "host:1"}, {"n1", "127.0.0.1"}, {"n1", "127.0.0.1:0"}, {"n1", "127.0.0.1:65536"}, {"n1", "127.0.0.1:x"},
	} {
		_, err := NewNode(bad.name, bad.address, nil)
		assert.Error(t, err, "%+v", bad)
	}
}
