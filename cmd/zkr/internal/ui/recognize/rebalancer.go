package recognize

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// rebalancer tells groups of rebalanser: by their record and folders.
func rebalancer(l *looker, s *spot) *Thing {
	r, ok := read[shareGroup](s.Node)
	if !ok || r.Format != 1 || r.Mode != "resource" && r.Mode != "global" || s.child("resources") == nil || s.child("assignments") == nil {
		return nil
	}
	st := &ShareState{Mode: r.Mode, places: map[string]int{}}
	t := &Thing{Kind: Rebalancer, Path: s.Path, How: "a record of its mode, resources and assignments: rebalanser", Shares: st}
	for _, c := range s.children {
		if c.name == "clients" || c.name == "instances" {
			c.part = t.Path
			continue
		}
		c.claim(t)
	}
	s.claimed = t
	st.records(s)
	st.members(s.child("clients"))
	for _, c := range s.child("resources").children {
		st.Resources = append(st.Resources, c.name)
	}
	p := plan{target: map[string]assignment{}, owner: map[string]string{}, dark: map[string]bool{}}
	st.assigned(t, &p, s.child("assignments"))
	if r.Mode == "global" {
		st.stopped(s.child("stopped"))
		st.started(&p)
	} else {
		st.owned(t, &p, s.child("barriers"))
	}
	st.fill(&p)
	st.verdict(t, s)
	return t
}

func (st *ShareState) records(s *spot) {
	if c := s.child("config"); c != nil {
		r, _ := read[shareConfig](c.Node)
		st.Paused, st.PausedBy = r.Paused, Text([]byte(r.By), idWidth)
	}
	if c := s.child("status"); c != nil {
		r, _ := read[shareStatus](c.Node)
		st.Generation, st.Step = r.Generation, Text([]byte(r.State), idWidth)
	}
	if c := s.child("epoch"); c != nil {
		r, _ := read[shareEpoch](c.Node)
		st.Epoch = r.Epoch
	}
}

// members reads who is there, in the order of their coming.
func (st *ShareState) members(clients *spot) {
	if clients == nil {
		return
	}
	for i, e := range znode.Parse(clients.names(), markLatch).Entries {
		c := clients.child(e.Name)
		r, _ := read[shareMember](c.Node)
		m := ShareMember{
			Path: c.Path, ID: Text([]byte(r.ID), idWidth), Instance: Text([]byte(r.Instance), idWidth), Session: SessionID(c.Stat.EphemeralOwner),
			Coordinates: i == 0, Cells: map[string]Cell{},
		}
		if m.ID == "" {
			m.ID = nameOf(m.Instance, m.Session)
		}
		if i == 0 {
			st.Coordinator = m.ID
		}
		st.places[e.Name] = len(st.Members)
		st.Members = append(st.Members, m)
	}
}

// plan is who is to have resources, and who has them, by the names of clients'
// nodes. What cannot be read is not the same as what is not there.
type plan struct {
	target map[string]assignment
	owner  map[string]string
	dark   map[string]bool // whose owner cannot be read
	// partial: some of target is missing.
	partial bool
}

// assignment is a resource in a shard of a generation.
type assignment struct {
	client     string
	generation int64
}

// assigned reads to whom resources are assigned.
func (st *ShareState) assigned(t *Thing, p *plan, shards *spot) {
	p.partial = shards.Denied
	for _, c := range shards.children {
		r, ok := read[shareRecord](c.Node)
		if !ok {
			if p.partial = p.partial || c.Denied || c.Size > 0; c.Size > 0 {
				t.problem(Warn, c.Path, "the shard %s %s: what it has is not known", Text([]byte(c.name), idWidth), c.Node.unread())
			}
			continue
		}
		st.Generation = max(st.Generation, r.Generation)
		names, chunks := slices.Clone(r.Resources), 0
		for _, chunk := range c.children { // what did not fit: "<generation>-<i>"
			if !strings.HasPrefix(chunk.name, strconv.FormatInt(r.Generation, 10)+"-") {
				continue
			}
			more, ok := read[[]string](chunk.Node)
			if names, chunks = append(names, more...), chunks+bit(ok); !ok && chunk.Size > 0 {
				t.problem(Warn, chunk.Path, "a part of the shard %s %s: what it has is not known", Text([]byte(c.name), idWidth), chunk.Node.unread())
			}
		}
		p.partial = p.partial || chunks < r.Chunks // also while it is written anew
		for _, name := range names {
			if old, twice := p.target[name]; !twice || st.place(old.client) < 0 {
				p.target[name] = assignment{r.Client, r.Generation}
			}
		}
	}
}

// started says whose resources are, in global mode: shards that a generation leaves
// as they are stay with the one before, and who has them goes on while others stop.
func (st *ShareState) started(p *plan) {
	for name, a := range p.target {
		if a.generation < st.Generation || st.Step != "stop" {
			p.owner[name] = a.client
		}
	}
}

// owned says the same in resource mode, in which each resource has a barrier.
func (st *ShareState) owned(t *Thing, p *plan, barriers *spot) {
	if barriers == nil {
		return
	}
	for _, c := range barriers.children {
		r, ok := read[shareOwner](c.Node)
		switch {
		case ok && r.Client != "":
			p.owner[c.name] = r.Client
		case !ok && (c.Denied || c.Size > 0):
			if p.dark[c.name] = true; !c.Denied {
				t.problem(Warn, c.Path, "whose %s is %s", Text([]byte(c.name), idWidth), c.Node.unread())
			}
		}
	}
}

func (st *ShareState) stopped(folder *spot) {
	if folder == nil {
		return
	}
	for _, c := range folder.children {
		client, generation, _ := strings.Cut(c.name, ".")
		if i := st.place(client); i >= 0 && generation == strconv.FormatInt(st.Generation, 10) {
			st.Members[i].Stopped = true
		}
	}
}

// place finds the member whose node has that name, or -1.
func (st *ShareState) place(client string) int {
	if i, ok := st.places[client]; ok {
		return i
	}
	return -1
}

// fill fills the matrix in.
func (st *ShareState) fill(p *plan) {
	names := slices.Clone(st.Resources)
	for name := range p.owner {
		if _, ok := slices.BinarySearch(st.Resources, name); !ok {
			names = append(names, name) // removed, and not given up yet
		}
	}
	for _, name := range names {
		owner, target := st.place(p.owner[name]), st.place(p.target[name].client)
		if _, known := p.target[name]; !known && p.partial {
			target = owner
		}
		set := func(member int, c Cell) {
			if member >= 0 {
				st.Members[member].Cells[name] = c
			}
		}
		switch {
		case owner >= 0 && owner == target:
			set(owner, Owns)
			continue
		case p.dark[name] || owner < 0 && target < 0 && p.partial:
			continue
		case owner < 0 && target < 0:
			if _, there := slices.BinarySearch(st.Resources, name); there {
				st.Unowned = append(st.Unowned, name)
			}
			continue
		}
		set(owner, Leaves)
		set(target, Comes)
		move := ShareMove{Resource: name}
		if owner >= 0 {
			move.From = st.Members[owner].ID
		}
		if target >= 0 {
			move.To = st.Members[target].ID
		}
		st.Moves = append(st.Moves, move)
	}
	slices.Sort(names)
	st.Resources = names
}

// verdict says how the group stands.
func (st *ShareState) verdict(t *Thing, s *spot) {
	t.State = count(len(st.Resources), "resource") + " shared by " + count(len(st.Members), "member")
	if n := len(st.Moves); n > 0 {
		t.State += ", " + count(n, "move") + " under way"
	}
	if st.Mode == "global" && st.Step != "" && st.Step != "confirmed" {
		t.State += fmt.Sprintf(", generation %d: %s", st.Generation, st.Step)
	}
	if st.Paused {
		t.State = "paused: " + t.State
		by := ""
		if st.PausedBy != "" {
			by = " by " + st.PausedBy
		}
		t.problem(Hint, t.Path+"/config", "the group is paused%s: nothing is moved", by)
	}
	for _, name := range []string{"clients", "assignments", "barriers"} {
		if c := s.child(name); c != nil && c.Denied {
			return // what is not there may be what cannot be seen
		}
	}
	switch {
	case len(st.Members) == 0 && len(st.Resources) > 0:
		t.problem(Warn, t.Path, "nobody is there to take the resources")
	case len(st.Unowned) > 0:
		t.problem(Hint, t.Path, "%s nobody's yet: %s", several(len(st.Unowned), "resource is", "resources are"), Text([]byte(named(st.Unowned)), 3*idWidth))
	}
}
