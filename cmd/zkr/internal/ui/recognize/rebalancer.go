package recognize

import (
	"maps"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/format/tableformat"
)

// recognizeRebalancer recognizes groups of rebalanser: by their record and folders.
func recognizeRebalancer(l *looker, s *spot) *Thing {
	resources, shards := s.child(shareformat.DirResources), s.child(shareformat.DirAssignments)
	if resources == nil || shards == nil {
		return nil
	}
	r, err := decodeNode(s.Node, shareformat.Decode[shareformat.Group])
	if !isNewer(err) && (err != nil || r.Format != shareformat.Format || r.Mode != shareformat.ModeResource && r.Mode != shareformat.ModeGlobal) {
		return nil
	}
	st := &ShareState{Mode: r.Mode, places: map[string]int{}}
	t := &Thing{Kind: Rebalancer, Path: s.Path, How: "a record of its mode, resources and assignments: rebalanser", Shares: st}
	for c := range s.children.all() {
		if c.name == shareformat.DirClients || c.name == shareformat.DirInstances {
			c.partOf(t.Path)
			continue
		}
		c.claimTree(t)
	}
	s.assignTo(t)
	if err != nil {
		t.State = notReadable
		t.addProblem(Warn, codeUnreadable, s.Path, "the group's record %s", s.unreadReason(err))
		return t
	}
	st.readRecords(t, s)
	st.readMembers(t, s.child(shareformat.DirClients))
	for c := range resources.children.all() {
		st.Resources = append(st.Resources, c.name)
	}
	p := plan{target: map[string]assignment{}, owner: map[string]string{}, dark: map[string]bool{}}
	st.readAssignments(t, &p, shards)
	if r.Mode == shareformat.ModeGlobal {
		st.readStopped(s.child(shareformat.DirStopped))
		st.setGlobalOwners(&p)
	} else {
		st.readOwners(t, &p, s.child(shareformat.DirBarriers))
	}
	st.fillMatrix(&p)
	st.setState(t, s)
	st.readFailing(t, s.child(shareformat.DirFailures))
	return t
}

// readFailing names the members that retry resources after failures.
func (st *ShareState) readFailing(t *Thing, folder *spot) {
	if folder == nil {
		return
	}
	for c := range folder.children.all() {
		r, err := decodeNode(c.Node, shareformat.Decode[shareformat.Failures])
		switch {
		case err != nil && !c.Denied:
			t.addProblem(Warn, codeUnreadable, c.Path, "the record of the failures of %s %s", Text([]byte(c.name), idWidth), c.unreadReason(err))
		case err == nil && len(r.Failures) > 0:
			member, first := Text([]byte(c.name), idWidth), r.Failures[0]
			if i := st.memberIndex(c.name); i >= 0 {
				member = st.Members[i].ID
			}
			t.addProblem(Warn, codeFailing, c.Path, "%s retries %s after failures, such as %s: %s", member, formatCount(r.Count, "resource"), Text([]byte(first.Resource), idWidth), Text([]byte(first.Err), 200))
		}
	}
}

// readRecords reads the single records of the group.
func (st *ShareState) readRecords(t *Thing, s *spot) {
	if r, ok := readSingle[shareformat.Config](t, s.child(shareformat.NodeConfig)); ok {
		st.Paused, st.PausedBy = r.Paused, Text([]byte(r.By), idWidth)
	}
	if r, ok := readSingle[shareformat.Status](t, s.child(shareformat.NodeStatus)); ok {
		st.Generation, st.Step = r.Generation, r.State
	}
	if r, ok := readSingle[shareformat.Epoch](t, s.child(shareformat.NodeEpoch)); ok {
		st.Epoch = r.Epoch
	}
}

// readSingle reads a single record of a group; it may not be written yet.
func readSingle[T shareformat.Config | shareformat.Status | shareformat.Epoch](t *Thing, c *spot) (T, bool) {
	if c == nil || c.Denied || c.Size == 0 {
		return *new(T), false
	}
	r, err := decodeNode(c.Node, shareformat.Decode[T])
	if err != nil {
		t.addProblem(Bad, codeUnreadable, c.Path, "the group's %s %s", c.name, c.unreadReason(err))
	}
	return r, err == nil
}

// readMembers reads the members in the order of their arrival.
func (st *ShareState) readMembers(t *Thing, clients *spot) {
	if clients == nil {
		return
	}
	for i, e := range shareformat.Clients(clients.names()) {
		c := clients.child(e.Name)
		r, err := decodeNode(c.Node, func(data []byte) (shareformat.Member, error) { return shareformat.DecodeMember(st.Mode, data) })
		if err != nil && !c.Denied {
			t.addProblem(Warn, codeUnreadable, c.Path, "the record of member %s %s: the member gets no resources", Text([]byte(c.name), idWidth), c.unreadReason(err))
		}
		if st.hidden = st.hidden || c.Denied; err == nil {
			st.takes = append(st.takes, r.Subscription)
		}
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

// plan has the planned and the present owners of resources, by the names of
// clients' nodes. An unreadable node is distinguished from a missing node.
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

// readAssignments reads the assignments of resources to clients.
func (st *ShareState) readAssignments(t *Thing, p *plan, shards *spot) {
	p.partial = shards.Denied
	for c := range shards.children.all() {
		r, err := decodeNode(c.Node, shareformat.Decode[shareformat.Shard])
		if err != nil {
			if p.partial = p.partial || c.Denied || c.Size > 0; c.Size > 0 {
				t.addProblem(Warn, codeUnreadable, c.Path, "the shard %s %s: its resources are unknown", Text([]byte(c.name), idWidth), c.unreadReason(err))
			}
			continue
		}
		st.Generation = max(st.Generation, r.Generation)
		inChildren, chunks := []string{}, 0
		for chunk := range c.children.all() { // the continuation: "<generation>-<i>"
			if !strings.HasPrefix(chunk.name, strings.TrimSuffix(shareformat.ChunkName(r.ChunkGeneration(), 0), "0")) {
				continue
			}
			more, err := decodeNode(chunk.Node, shareformat.DecodeChunk)
			if inChildren, chunks = append(inChildren, more...), chunks+asBit(err == nil); err != nil && chunk.Size > 0 {
				t.addProblem(Warn, codeUnreadable, chunk.Path, "a part of the shard %s %s: its resources are unknown", Text([]byte(c.name), idWidth), chunk.unreadReason(err))
			}
		}
		p.partial = p.partial || chunks < r.Chunks // also while it is being rewritten
		for _, name := range r.Assemble(slices.Sorted(slices.Values(inChildren))) {
			if old, twice := p.target[name]; !twice || st.memberIndex(old.client) < 0 {
				p.target[name] = assignment{r.Client, r.Generation}
			}
		}
	}
}

// setGlobalOwners sets the owners in global mode: shards unchanged by a generation stay
// with the previous generation, and their owners continue while others stop.
func (st *ShareState) setGlobalOwners(p *plan) {
	for name, a := range p.target {
		if a.generation < st.Generation || st.Step != shareformat.Stop {
			p.owner[name] = a.client
		}
	}
}

// readOwners sets the owners in resource mode, where each resource has a barrier.
func (st *ShareState) readOwners(t *Thing, p *plan, barriers *spot) {
	if barriers == nil {
		return
	}
	for c := range barriers.children.all() {
		r, err := decodeNode(c.Node, func(data []byte) (tableformat.Lock, error) { return tableformat.Decode(data, shareformat.IsClient) })
		switch {
		case err == nil && r.Client != "":
			p.owner[c.name] = r.Client
		case err != nil && (c.Denied || c.Size > 0):
			if p.dark[c.name] = true; !c.Denied {
				t.addProblem(Warn, codeUnreadable, c.Path, "the owner of %s %s", Text([]byte(c.name), idWidth), c.unreadReason(err))
			}
		}
	}
}

func (st *ShareState) readStopped(folder *spot) {
	if folder == nil {
		return
	}
	for c := range folder.children.all() {
		client, generation, _ := shareformat.ParseStopped(c.name)
		if i := st.memberIndex(client); i >= 0 && generation == st.Generation {
			st.Members[i].Stopped = true
		}
	}
}

// memberIndex finds the member by the name of its node, or returns -1.
func (st *ShareState) memberIndex(client string) int {
	if i, ok := st.places[client]; ok {
		return i
	}
	return -1
}

// fillMatrix fills the matrix in.
func (st *ShareState) fillMatrix(p *plan) {
	names := slices.Clone(st.Resources)
	for _, name := range slices.Sorted(maps.Keys(p.owner)) {
		if _, ok := slices.BinarySearch(st.Resources, name); !ok {
			names = append(names, name) // removed, and not given up yet
		}
	}
	for _, name := range names {
		owner, target := st.memberIndex(p.owner[name]), st.memberIndex(p.target[name].client)
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
