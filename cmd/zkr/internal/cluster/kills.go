package cluster

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"
)

// SettleLimit bounds the time until a leader serves and all nodes are present:
// the same as for a failover, "under a minute".
const SettleLimit = time.Minute

// Settled reports whether a leader has heard from all nodes, each node watches
// the node before, and no other node is registered.
func (v View) Settled(nodes int) bool {
	if v.Err != nil || len(v.Summary.Nodes) != nodes || v.Coordinators != 1 || v.Workers != nodes-1 {
		return false
	}
	before := ""
	for i, n := range v.Summary.Nodes {
		if n.Error != "" || i == 0 != (n.Role == Leader) || n.Watched != before {
			return false
		}
		before = path.Base(n.Znode)
	}
	return true
}

// awaitSettled waits until the view is settled.
func (m *Monitor) awaitSettled(ctx context.Context, nodes int) (View, error) {
	ctx, cancel := context.WithTimeout(ctx, SettleLimit)
	defer cancel()
	v, err := m.Await(ctx, func(v View) bool { return v.Settled(nodes) })
	if err != nil {
		now := m.View()
		return v, fmt.Errorf("expected %d nodes with one leader within %v; found %d nodes, and the problem %q: %w",
			nodes, SettleLimit, len(now.Rows), now.Problem, err)
	}
	return v, nil
}

// errRestless: leaders go by themselves more often than by being killed.
var errRestless = errors.New("leaders go by themselves before they can be killed")

// KillLeaders kills the leader of nodes nodes repeatedly, and starts the killed
// node again each time. KillLeaders passes each failover to tell, and returns
// the failovers in order. A leader that went by itself before the kill does not
// count.
func (s *Site) KillLeaders(ctx context.Context, kills, nodes int, tell func(Failover) error) ([]Failover, error) {
	var out []Failover
	for attempt := 0; len(out) < kills; attempt++ {
		if attempt > 2*kills {
			return out, errRestless
		}
		v, err := s.monitor.awaitSettled(ctx, nodes)
		if err != nil {
			return out, err
		}
		f, err := s.killLeader(ctx, v)
		if err != nil {
			return out, err
		}
		if f.Cause == Kill && f.From == v.Leading() && !f.OutOfTurn {
			out = append(out, f)
		}
		if err := tell(f); err != nil {
			return out, err
		}
		if err := s.again(ctx, v.Leading()); err != nil {
			return out, err
		}
	}
	return out, nil
}

// killLeader kills the leader of a view, and waits until another node serves.
func (s *Site) killLeader(ctx context.Context, v View) (Failover, error) {
	if err := s.Give(ctx, v.Leading(), Kill); err != nil {
		return Failover{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, SettleLimit)
	defer cancel()
	next, err := s.monitor.Await(ctx, func(n View) bool { return n.Err == nil && n.Summary.Token > v.Summary.Token })
	if err != nil {
		return Failover{}, fmt.Errorf("no node leads %v after %s was killed: %w", SettleLimit, v.Leading(), err)
	}
	return next.Failovers[0], nil
}

// Leading is the name of the leader.
func (v View) Leading() string { return v.Summary.Leader }

// again starts a killed node, as soon as its process has ended.
func (s *Site) again(ctx context.Context, name string) error {
	_, err := s.monitor.Await(ctx, func(View) bool {
		for _, p := range s.crew.Processes() {
			if p.Name == name {
				return p.State == exited
			}
		}
		return false
	})
	if err != nil {
		return err
	}
	return s.Give(ctx, name, Start)
}
