package recognize

import (
	"net/netip"
	"strings"
)

// bookDouble recognizes double barriers of Curator and Kazoo, which do not
// store their number of parties. Before all parties have arrived, and while
// they leave, only the parties' znodes exist: then only a name distinguishes
// the barrier from a group.
func bookDouble(_ *looker, s *spot) *Thing {
	ready := s.child(nodeReady)
	if ready != nil && (!ready.persistent() || ready.children.size() > 0) || ready == nil && !hasWord(s.Path, barrierWords) {
		return nil
	}
	t := &Thing{Kind: Double, Path: s.Path, How: "UUIDs and ready, as Curator's and Kazoo's", Meeting: &Meeting{}}
	there := &t.Meeting.Inside
	if ready == nil {
		there = &t.Meeting.Here
		t.How = "UUIDs below a name with barrier in it, as Curator's and Kazoo's"
		t.Guess = looksLike(Double, "of its name, and because its children are named by UUIDs alone: those of a group may be too")
	}
	for c := range s.children.all() {
		switch {
		case c == ready:
		case !c.ephemeral() || !memberName.MatchString(c.name):
			return nil
		default:
			*there = append(*there, Member{
				Path: c.Path, ID: Text(c.Data, idWidth), Session: SessionID(c.Stat.EphemeralOwner), Since: c.Created(),
			})
		}
	}
	if len(*there) == 0 {
		return nil // a lone "ready" may belong to any program
	}
	s.claimTree(t)
	t.State = t.Meeting.state()
	if ready == nil {
		t.State = formatSeveral(len(*there), "comes or leaves", "come or leave")
	}
	return t
}

// recognizeGate recognizes a gate, which is a single node, by its own name alone. A node
// with data is no gate, except for the libraries' own default data.
func recognizeGate(_ *looker, s *spot) *Thing {
	if s.children.size() > 0 || !s.persistent() || !endsInNoun(s.name, gateWords) || s.Path == "/" || !s.hasDefaultData() {
		return nil
	}
	return &Thing{
		Kind: Gate, Path: s.Path, How: "an empty leaf with gate or barrier for a name, as ours, Curator's and Kazoo's, which are closed while they exist",
		Guess: looksLike(Gate, "of its name, which is all that a gate has"),
		State: "closed", Meeting: &Meeting{Closed: true},
	}
}

// hasDefaultData reports whether a node has only default data: none, an IP address as
// from Curator, or our own default, host and process id.
func (n *Node) hasDefaultData() bool {
	if n.Size == 0 || n.Size > keptOther {
		return n.Size == 0
	}
	host, pid, both := strings.Cut(string(n.Data), ":")
	_, err := netip.ParseAddr(string(n.Data))
	_, not := netip.ParseAddr(host)
	return err == nil || both && not != nil && allDigits(pid) && hostName.MatchString(host)
}
