package recognize

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Session is somebody's session, as its ephemeral nodes show it: one without any
// cannot be seen.
type Session struct {
	ID SessionID `json:"session"`
	// Names are what it says of itself in various places.
	Names    []string  `json:"names"`
	Holdings []Holding `json:"holdings"`
	// Since is when the oldest of its nodes was made: it is at least that old.
	Since time.Time `json:"since"`
	// Trouble is how many of its nodes have problems.
	Trouble int `json:"trouble,omitempty"`
}

// Name is what to call it.
func (s *Session) Name() string {
	if len(s.Names) > 0 {
		return s.Names[0]
	}
	return s.ID.String()
}

// Holding is an ephemeral node.
type Holding struct {
	Path string `json:"path"`
	// Thing is the path of what it belongs to, Kind what that is, and As what
	// the session is there: holds, waits, leads, reads, is there, runs.
	Thing string    `json:"thing,omitempty"`
	Kind  Kind      `json:"kind,omitempty"`
	As    string    `json:"as"`
	Since time.Time `json:"since"`
}

// Session finds a session; nil if none of its nodes is known.
func (w *World) Session(id SessionID) *Session {
	i, ok := slices.BinarySearchFunc(w.Sessions, id, func(s *Session, id SessionID) int { return cmp.Compare(s.ID, id) })
	if !ok {
		return nil
	}
	return w.Sessions[i]
}

// sessions gathers what each session has, by their ids.
func (w *World) sessions() []*Session {
	w.parts()
	byID := map[SessionID]*Session{}
	for i := range w.all {
		s := &w.all[i]
		id := SessionID(s.Stat.EphemeralOwner)
		if id == 0 {
			continue
		}
		out := byID[id]
		if out == nil {
			out = &Session{ID: id}
			byID[id] = out
		}
		h := Holding{Path: s.Path, As: "has", Since: s.Created()}
		if t := s.claimed; t != nil {
			h.Thing, h.Kind = t.Path, t.Kind
		}
		if s.as != "" {
			h.As = s.as
		}
		out.Holdings = append(out.Holdings, h)
		if s.who != "" && len(out.Names) < 16 && !slices.Contains(out.Names, s.who) {
			out.Names = append(out.Names, s.who)
		}
		if out.Since.IsZero() || h.Since.Before(out.Since) {
			out.Since = h.Since
		}
	}
	all := make([]*Session, 0, len(byID))
	for _, s := range byID {
		slices.Sort(s.Names)
		byPath := func(a, b Holding) int { return strings.Compare(a.Path, b.Path) }
		if !slices.IsSortedFunc(s.Holdings, byPath) {
			slices.SortFunc(s.Holdings, byPath)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Session) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// troubles counts the nodes of sessions that have problems.
func (w *World) troubles() {
	known := map[string]bool{}
	for _, t := range w.Things {
		for _, p := range t.Problems {
			s := w.spots[p.Path]
			if s == nil || known[p.Path] || !s.ephemeral() {
				continue
			}
			known[p.Path] = true
			w.Session(SessionID(s.Stat.EphemeralOwner)).Trouble++
		}
	}
}

// parts says of the nodes of things what they stand for, and who they say that
// they are.
func (w *World) parts() {
	is := func(path, as, who string) {
		if s := w.spots[path]; s != nil {
			s.as, s.who = as, who
		}
	}
	for _, t := range w.Things {
		for _, c := range t.Queue {
			is(c.Path, c.part(t.Kind), c.ID)
		}
		as := map[Kind]string{Barrier: "waits at", Double: "waits at", Group: "is in", Service: "serves", Job: "works for", Tasks: "works for", Counter: "writes"}[t.Kind]
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
}

// part is what a contender is to a thing.
func (c *Contender) part(k Kind) string {
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
