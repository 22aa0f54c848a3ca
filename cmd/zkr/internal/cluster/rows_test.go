package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRowsSayWhatIsKnown: by the leader, without it, and of processes alone. D13
func TestRowsSayWhatIsKnown(t *testing.T) {
	a := Status{Name: "a", PID: 1, Znode: "/e/x-0000000001", Role: Leader, Token: 9, Session: "0x1"}
	b := Status{Name: "b", PID: 2, Znode: "/e/x-0000000002", Role: Worker, Watched: "x-0000000001"}
	ghost := Status{Name: "c", Znode: "/e/x-0000000003", Role: Worker, Error: "refused"}
	pa, pb, pc := Process{Name: "a", PID: 1, State: running}, Process{Name: "b", PID: 2, State: running}, Process{Name: "c", PID: 3, State: exited}
	again := Process{Name: "c", PID: 4, State: running}
	names := func(list []Row) (out []string) {
		for _, r := range list {
			text := r.Name + " " + r.Source
			if r.Process != nil {
				text += " " + r.Process.State
			}
			out = append(out, text)
		}
		return out
	}
	summary := View{Summary: Summary{Leader: "a", Nodes: []Status{a, b, ghost}}}
	assert.Equal(t, []string{"a leader running", "b leader running", "c leader exited"},
		names(rows(summary, nil, nil, []Process{pa, pb, pc})), "a dead one stays until its session ends")
	back := Status{Name: "c", PID: 4, Znode: "/e/x-0000000004", Role: Worker}
	assert.Equal(t, []string{"a leader running", "b leader running", "c leader", "c node running"},
		names(rows(summary, nil, map[int]Status{4: back}, []Process{pa, pb, again})), "a restarted node is another node")

	registered := []peer{{entry: entry{Name: "b", Znode: b.Znode}}, {entry: entry{Name: "d", Znode: "/e/x-0000000009", Token: 12}}}
	summary.Err = ErrSilent
	without := rows(summary, registered, map[int]Status{1: {Name: "a", PID: 1, Role: Joining}}, []Process{pa, pb})
	assert.Equal(t, []string{"b registry running", "d registry", "a node running"}, names(without))
	assert.Equal(t, "x-0000000001", without[0].Watched, "the last known state")
	assert.Equal(t, Leader, without[1].Role)

	assert.Empty(t, rows(View{Err: ErrNoCoordinator}, nil, nil, nil))
}

// TestFormerLifeTakesNoOrders: a dead leader is registered still, and has been started
// again elsewhere. An order for its name reaches the next life.
func TestFormerLifeTakesNoOrders(t *testing.T) {
	life := func(name, znode string, token int64) peer {
		return peer{entry: entry{Name: name, Znode: "/e/x-000000000" + znode, Token: token}}
	}
	for _, r := range rows(View{Err: ErrSilent}, []peer{life("a", "1", 9), life("b", "2", 0), life("a", "3", 0)}, nil, nil) {
		assert.Equal(t, r.Name == "b", len(r.With("t").Orders()) > 0, "%+v", r)
	}
}
