package cluster

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// processLimit bounds the answer of a process of this machine.
const processLimit = 150 * time.Millisecond

// askProcesses asks the processes missing in the leader's answers, for instance
// those cut off from ZooKeeper, which are in no registry. The result is by
// process id.
func askProcesses(ctx context.Context, client *http.Client, processes []Process, heard []Status) map[int]Status {
	known := map[int]bool{}
	for _, s := range heard {
		known[s.PID] = s.Error == ""
	}
	// mu guards out.
	var mu sync.Mutex
	out := map[int]Status{}
	var all sync.WaitGroup
	for _, p := range processes {
		if p.State != running || p.Address == "" || known[p.PID] {
			continue
		}
		// Waited for below; ends with the answer, or its limit.
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, processLimit)
			defer cancel()
			var s Status
			if err := fetchJSON(ctx, client, p.Address, "/status", statusLimit, &s); err != nil || s.PID != p.PID {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out[p.PID] = s
		})
	}
	all.Wait()
	return out
}

// rows combines the sources: the leader's answer or, without a leader, the
// registry; then the answers of other processes.
func rows(v View, registered []peer, itself map[int]Status, processes []Process) []Row {
	out := make([]Row, 0, len(v.Summary.Nodes)+len(processes))
	if v.Err == nil {
		for _, s := range v.Summary.Nodes {
			out = append(out, Row{Status: s, Source: byLeader})
		}
	} else {
		out = append(out, fromRegistry(registered, v, itself)...)
	}
	taken := map[int]bool{}
	for i := range out {
		for j, p := range processes {
			if out[i].Name == p.Name && !taken[j] && (out[i].PID == p.PID || out[i].PID == 0 && p.State != running && p.State != starting) {
				out[i].Process, taken[j], out[i].twin = &processes[j], true, false
				break
			}
			out[i].twin = out[i].twin || out[i].Name == p.Name
		}
	}
	for j, p := range processes {
		if taken[j] {
			continue
		}
		row := Row{Status: Status{Name: p.Name, PID: p.PID, Address: p.Address, Role: Joining}, Process: &processes[j], Source: byProcess}
		if s, ok := itself[p.PID]; ok {
			row.Status, row.Source = s, byItself
		}
		out = append(out, row)
	}
	namesakes := map[string]int{}
	for _, r := range out {
		namesakes[r.Name]++
	}
	for i := range out {
		if r := &out[i]; r.Process == nil && r.Source == byRegistry && namesakes[r.Name] > 1 {
			r.twin = true // the present node of the two is unknown
		}
	}
	slices.SortStableFunc(out, func(a, b Row) int { return inOrder(a.Status, b.Status) })
	return out
}

// fromRegistry are the rows without a leader: the registered nodes, with their
// own answers, or the last leader's knowledge and its time.
func fromRegistry(registered []peer, v View, itself map[int]Status) []Row {
	out := make([]Row, 0, len(registered))
	for _, p := range registered {
		row := Row{Source: byRegistry, Status: Status{Name: p.Name, Address: p.address, Znode: p.Znode, Role: Worker, Token: p.Token}}
		if p.Token != 0 {
			row.Role = Leader
		}
		for _, s := range v.Summary.Nodes {
			if s.Znode == p.Znode && s.Error == "" {
				row.PID, row.Session, row.Watched, row.Since, row.Timeout = s.PID, s.Session, s.Watched, s.Since, s.Timeout
				row.Heard = v.Heard
			}
		}
		for _, s := range itself {
			if s.Znode == p.Znode {
				row.Status, row.Source = s, byItself
			}
		}
		out = append(out, row)
	}
	return out
}
