package history

import (
	"cmp"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// part is the place of a client in a thing.
type part struct {
	znode, resource, name, as string
	session                   recognize.SessionID
	has                       bool
	token                     int64
	permits                   int
}

// partsOf are the clients in a thing.
func partsOf(t *recognize.Thing) (out []part) {
	as := t.Kind.MemberRole()
	for _, c := range t.Queue {
		out = append(out, contenderPart(t.Kind, c))
	}
	for _, m := range t.Members {
		out = append(out, memberPart(m, cmp.Or(as, "is in"), true))
	}
	if t.Meeting != nil {
		for _, m := range t.Meeting.Here {
			out = append(out, memberPart(m, as, false))
		}
		for _, m := range t.Meeting.Inside {
			out = append(out, memberPart(m, "is inside", true))
		}
	}
	if t.Job != nil {
		for _, w := range t.Job.Workers {
			if w.Live != "" {
				out = append(out, part{znode: w.Live, name: w.Name, as: as, session: w.Session, has: true, token: w.Token})
			}
		}
	}
	if t.Tasks != nil {
		for _, w := range t.Tasks.Workers {
			if !w.Gone {
				out = append(out, part{znode: w.Path, name: cmp.Or(w.Name, w.ID), as: as, session: w.Session, has: true})
			}
		}
	}
	if t.Shares != nil {
		out = append(out, ownersOf(t.Shares)...)
	}
	return out
}

func contenderPart(k recognize.Kind, c *recognize.Contender) part {
	return part{znode: c.Path, name: c.ID, as: c.RoleIn(k), session: c.Session, has: c.Holds, token: c.Token, permits: c.Permits}
}

func memberPart(m recognize.Member, as string, has bool) part {
	return part{znode: m.Path, name: m.ID, as: as, session: m.Session, has: has}
}

// ownersOf are the members of a rebalancer, and their resources.
func ownersOf(s *recognize.ShareState) (out []part) {
	for _, m := range s.Members {
		if m.Session == 0 {
			continue
		}
		out = append(out, part{znode: m.Path, name: m.ID, as: "is in", session: m.Session, has: true})
		for resource, cell := range m.Cells {
			if cell == recognize.Owns || cell == recognize.Leaves {
				out = append(out, part{znode: m.Path, resource: resource, name: m.ID, as: "owns", session: m.Session, has: true})
			}
		}
	}
	return out
}
