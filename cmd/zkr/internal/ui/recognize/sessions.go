package recognize

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Session is a client's session as shown by its ephemeral nodes: a session
// without ephemeral nodes is invisible.
type Session struct {
	ID SessionID `json:"session"`
	// Names are the session's own names in various places.
	Names    []string  `json:"names"`
	Holdings []Holding `json:"holdings"`
	// Since is the creation of its oldest node: the session is at least as old.
	Since time.Time `json:"since"`
	// Trouble is how many of its nodes have problems.
	Trouble int `json:"trouble,omitempty"`
	// Connection is what a server has told of the client; nil if nothing.
	Connection *Connection `json:"connection,omitempty"`
}

// Connection is a session's connection to a server, when the servers were asked last.
type Connection struct {
	// Client is host:port of the client, and Server that of the server.
	Client string `json:"client"`
	Server string `json:"server"`
	// Since is when it was opened, by the server's clock.
	Since time.Time `json:"since"`
	// Timeout is that of the session, and Silent is for how long at least the server had not
	// heard of the client: both in milliseconds.
	Timeout int `json:"timeout_ms"`
	Silent  int `json:"silent_ms"`
}

// Name is the name to show for the session.
func (s *Session) Name() string {
	if len(s.Names) > 0 {
		return s.Names[0]
	}
	return s.ID.String()
}

// Holding is an ephemeral node.
type Holding struct {
	Path string `json:"path"`
	// Thing is the path of the node's thing, Kind its kind, and As the role of
	// the session: holds, waits, leads, reads, is inside, runs.
	Thing string    `json:"thing,omitempty"`
	Kind  Kind      `json:"kind,omitempty"`
	As    string    `json:"as"`
	Since time.Time `json:"since"`

	// who is the session's own name there; trouble: the node has problems.
	who     string
	trouble bool
}

// Session finds a session; nil if none of its nodes is known.
func (w *World) Session(id SessionID) *Session {
	i, ok := slices.BinarySearchFunc(w.Sessions, id, func(s *Session, id SessionID) int { return cmp.Compare(s.ID, id) })
	if !ok {
		return nil
	}
	return w.Sessions[i]
}

// newSession makes a session from its holdings, in the order of the paths; nil
// without holdings.
func newSession(id SessionID, holdings []Holding) *Session {
	if len(holdings) == 0 {
		return nil
	}
	out := &Session{ID: id, Holdings: holdings}
	for _, h := range holdings {
		if h.who != "" && len(out.Names) < 16 && !slices.Contains(out.Names, h.who) {
			out.Names = append(out.Names, h.who)
		}
		if out.Since.IsZero() || h.Since.Before(out.Since) {
			out.Since = h.Since
		}
	}
	slices.Sort(out.Names)
	return out
}

// describeHolding describes an ephemeral node for its session.
func (s *spot) describeHolding() Holding {
	h := Holding{Path: s.Path, As: "has", Since: s.Created(), who: s.who}
	if t := s.claimed; t != nil {
		h.Thing, h.Kind = t.Path, t.Kind
	}
	if s.as != "" {
		h.As = s.as
	}
	return h
}

// takeFromSession takes an ephemeral node from its session.
func (u *revision) takeFromSession(s *spot) {
	id := SessionID(s.Stat.EphemeralOwner)
	if id == 0 || u.r.OnlyThings {
		return
	}
	if u.lost[id] == nil {
		u.lost[id] = map[string]bool{}
	}
	u.lost[id][s.Path], u.touched[id] = true, true
}

// giveToSession gives an ephemeral node to its session, and closes it to all claims.
func (u *revision) giveToSession(s *spot) {
	s.open = false
	if id := SessionID(s.Stat.EphemeralOwner); id != 0 && !u.r.OnlyThings {
		u.won[id], u.touched[id] = append(u.won[id], s.describeHolding()), true
	}
}

// updateSessions applies the lost and won nodes of sessions to the world.
func (u *revision) updateSessions() {
	var gone, come []*Session
	ids := maps.Clone(u.touched)
	maps.DeleteFunc(ids, func(id SessionID, _ bool) bool { return u.lost[id] == nil && u.won[id] == nil })
	for id := range ids {
		old, holdings := u.w.Session(id), u.won[id]
		if old != nil {
			gone = append(gone, old)
			for _, h := range old.Holdings {
				if !u.lost[id][h.Path] {
					holdings = append(holdings, h)
				}
			}
		}
		slices.SortFunc(holdings, func(a, b Holding) int { return strings.Compare(a.Path, b.Path) })
		if s := newSession(id, holdings); s != nil {
			come = append(come, s)
		}
	}
	u.w.Sessions = spliceSorted(u.w.Sessions, gone, come, func(a, b *Session) int { return cmp.Compare(a.ID, b.ID) })
}

// countTroubles counts the nodes with problems by session.
func (u *revision) countTroubles() {
	for _, t := range u.come {
		for _, p := range t.Problems {
			n := u.find(p.Path)
			if n == nil || !u.touched[SessionID(n.Stat.EphemeralOwner)] {
				continue
			}
			s := u.w.Session(SessionID(n.Stat.EphemeralOwner))
			if i, ok := slices.BinarySearchFunc(s.Holdings, p.Path, func(h Holding, path string) int { return strings.Compare(h.Path, path) }); ok {
				s.Holdings[i].trouble = true
			}
		}
	}
	for id := range u.touched {
		if s := u.w.Session(id); s != nil {
			s.Trouble = 0
			for _, h := range s.Holdings {
				s.Trouble += asBit(h.trouble)
			}
		}
	}
}

// setRoles sets the roles of a thing's nodes, and their own names.
func (l *looker) setRoles(t *Thing) {
	is := func(path, as, who string) {
		if s := l.find(path); s != nil && s.open {
			s.as, s.who = as, who
		}
	}
	for _, c := range t.Queue {
		is(c.Path, c.RoleIn(t.Kind), c.ID)
	}
	as := t.Kind.MemberRole()
	for _, m := range t.Members {
		is(m.Path, as, m.ID)
	}
	if t.Meeting != nil {
		for _, m := range t.Meeting.Here {
			is(m.Path, as, m.ID)
		}
		for _, m := range t.Meeting.Inside {
			is(m.Path, "is inside", m.ID)
		}
	}
	if t.Job != nil {
		for _, worker := range t.Job.Workers {
			is(worker.Live, as, worker.Name)
		}
	}
}

// MemberRole is the role of members, workers and waiting parties in a thing of this kind; ""
// if the kind has none.
func (k Kind) MemberRole() string {
	switch k {
	case Barrier, Double:
		return "waits at"
	case Group:
		return "is in"
	case Service:
		return "serves"
	case Job, Tasks:
		return "works for"
	case Counter, Value:
		return "writes"
	}
	return ""
}

// RoleIn is the role of a contender in a thing.
func (c *Contender) RoleIn(k Kind) string {
	switch {
	case !c.Holds && k == Election:
		return "stands for"
	case !c.Holds:
		return "waits for"
	case k == Election:
		return "leads"
	case c.Role != "":
		return c.Role + "s"
	}
	return "holds"
}
