//go:build unix

package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSettledIsNotSaidTooEarly(t *testing.T) {
	good := View{Coordinators: 1, Workers: 1, Summary: Summary{Nodes: []Status{{Role: Leader, Znode: "/e/x"}, {Role: Worker, Watched: "x"}}}}
	assert.True(t, good.Settled(2))
	for name, change := range map[string]func(*View){
		"one is missing":          func(v *View) { v.Summary.Nodes = v.Summary.Nodes[:1] },
		"two are registered":      func(v *View) { v.Coordinators = 2 },
		"a dead one is listed":    func(v *View) { v.Workers = 2 },
		"no node answers":         func(v *View) { v.Err = ErrSilent },
		"one does not answer":     func(v *View) { v.Summary.Nodes[1].Error = "x" },
		"one watches no node":     func(v *View) { v.Summary.Nodes[1].Watched = "" },
		"one watches a gone node": func(v *View) { v.Summary.Nodes[1].Watched = "w" },
		"the first does not lead": func(v *View) { v.Summary.Nodes[0].Role = Worker },
	} {
		bad := good
		bad.Summary.Nodes = slices.Clone(good.Summary.Nodes)
		change(&bad)
		assert.False(t, bad.Settled(2), name)
	}
}

// gathered is a crew of real nodes, in order, with its monitor and its site.
func (b *bed) gathered(nodes int) (*Crew, *Monitor, *Site) {
	b.Helper()
	m := NewMonitor(b.client())
	c, _ := b.crew(b.tick.String())
	m.Watch(c)
	b.run(m)
	require.NoError(b, c.Gather(b.ctx, m, nodes))
	b.sees(m, func(v View) bool { return v.Settled(nodes) }, "all of them")
	return c, m, NewSite(m, c, open)
}

// TestNodeThatDiesAtOnceIsNotWaitedFor: later nodes do not wait for a dead
// node, unlike for a slow node.
func TestNodeThatDiesAtOnceIsNotWaitedFor(t *testing.T) {
	b := newQuietBed(t)
	m := NewMonitor(b.client())
	c, _ := b.crewOf(b.srv.Addr(), 0, func(name, listen, servers string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], name, listen, servers)
		cmd.Env = append(os.Environ(), standInMode+"="+b.tick.String())
		if name == "n1" {
			cmd = exec.Command("false")
		}
		return cmd
	})
	m.Watch(c)
	b.run(m)
	begin := time.Now()
	require.NoError(t, c.Gather(b.ctx, m, 2))
	assert.Less(t, time.Since(begin), gatherLimit/2)
	b.sees(m, func(v View) bool { return v.Settled(1) && v.Leading() == "n2" }, "the other node leads")
}

// TestNodeThatIsSlowKeepsItsPlace: the names show the order of leaderships,
// even if a node takes longer to start than the next node takes to become
// leader.
func TestNodeThatIsSlowKeepsItsPlace(t *testing.T) {
	b := newQuietBed(t)
	m := NewMonitor(b.client())
	c, _ := b.crewOf(b.srv.Addr(), 0, func(name, listen, servers string) *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", `[ $1 != n2 ] || sleep 2; exec "$0" "$@"`, os.Args[0], name, listen, servers)
		cmd.Env = append(os.Environ(), standInMode+"="+b.tick.String())
		return cmd
	})
	m.Watch(c)
	b.run(m)
	require.NoError(t, c.Gather(b.ctx, m, 3))
	v := b.sees(m, func(v View) bool { return v.Settled(3) }, "all of them")
	for i, r := range v.Rows {
		assert.Equal(t, "n"+strconv.Itoa(i+1), r.Name)
	}
}

// TestKillsAreCountedThatDidIt: concurrent resignations of leaders are
// reported, but not counted as kills.
func TestKillsAreCountedThatDidIt(t *testing.T) {
	b := newBed(t)
	c, m, s := b.gathered(3)
	var names []string
	for _, r := range m.View().Rows {
		names = append(names, r.Name)
	}
	assert.Equal(t, []string{"n1", "n2", "n3"}, names, "gathered one after the other")

	ctx, stop := context.WithCancel(b.ctx)
	over := make(chan struct{})
	// Waited for below; ends with ctx.
	go func() {
		defer close(over)
		for every := time.NewTicker(1500 * time.Millisecond); ; {
			select {
			case <-every.C:
				_ = s.Give(ctx, m.View().Leading(), Resign) // the node may be dead
			case <-ctx.Done():
				every.Stop()
				return
			}
		}
	}()
	var told []Failover
	list, err := s.KillLeaders(b.ctx, 2, 3, func(f Failover) error { told = append(told, f); return nil })
	stop()
	<-over
	require.NoError(t, err)
	require.Len(t, list, 2)
	for _, f := range list {
		assert.Equal(t, Kill, f.Cause)
		assert.Greater(t, f.Took, 200.0, "a session has to expire")
		assert.Contains(t, told, f)
	}
	b.sees(m, func(v View) bool { return v.Settled(3) }, "all of them again")
	for _, p := range c.Processes() {
		assert.Equal(t, running, p.State)
	}
	b.lone()
}

// TestKillingEndsWhenItCannotGoOn, with the reason.
func TestKillingEndsWhenItCannotGoOn(t *testing.T) {
	b := newBed(t)
	_, _, s := b.gathered(2)
	enough := errors.New("enough")
	list, err := s.KillLeaders(b.ctx, 5, 2, func(Failover) error { return enough })
	require.ErrorIs(t, err, enough)
	assert.Len(t, list, 1)
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Millisecond)
	defer cancel()
	_, err = s.KillLeaders(ctx, 1, 7, func(Failover) error { return nil })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "expected 7 nodes")
}

// TestOrdersAreBlamedByWhatTheyDid: given through the site, to processes.
func TestOrdersAreBlamedByWhatTheyDid(t *testing.T) {
	b := newSteadyBed(t)
	_, m, s := b.gathered(2)
	give := func(name string, what Order) {
		t.Helper()
		require.NoError(t, s.Give(b.ctx, name, what), what)
	}
	next := func(name string, cause Order) {
		t.Helper()
		v := b.sees(m, func(v View) bool { return v.Err == nil && v.Leading() == name && len(v.Failovers) > 0 }, name+" lead")
		assert.Equal(t, cause, v.Failovers[0].Cause)
	}
	require.ErrorIs(t, s.Give(b.ctx, "n1", Resume), errNotNow)
	require.ErrorIs(t, s.Give(b.ctx, "n2", Resign), errNotLeading)
	give("n1", Cut) // the node survives the cut
	give("n1", Heal)
	b.until(func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.history.orders) == 0
	}, "all is forgotten")
	give("n1", Freeze)
	b.expire(m.View().row("n1").Status)
	next("n2", Freeze)
	give("n1", Resume)
	b.sees(m, func(v View) bool { return v.Settled(2) }, "both")
	give("n2", Resign)
	next("n1", Resign)
	b.sees(m, func(v View) bool { return v.Settled(2) }, "both")
	give("n1", Kill)
	b.expire(m.View().row("n1").Status)
	next("n2", Kill)
	f := Sum(m.View().Failovers)
	assert.Equal(t, 1, f.Kills.N)
	assert.Len(t, f.Others, 2)
	b.lone()
}
