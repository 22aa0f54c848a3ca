package recognize

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// ShareState is how a group of rebalanser shares its resources.
type ShareState struct {
	Mode        string `json:"mode"` // resource or global
	Paused      bool   `json:"paused,omitempty"`
	PausedBy    string `json:"paused_by,omitempty"`
	Epoch       int64  `json:"epoch,string"`
	Coordinator string `json:"coordinator,omitempty"`
	// Generation and Step are of the newest assignment, in global mode.
	Generation int64  `json:"generation,omitempty,string"`
	Step       string `json:"step,omitempty"`
	// Members by their places; the first coordinates.
	Members []ShareMember `json:"members"`
	// Resources are the raw names, not display texts. Moves are the moves in
	// progress, Unowned are resources without an owner.
	Resources []string    `json:"resources"`
	Moves     []ShareMove `json:"moves,omitempty"`
	Unowned   []string    `json:"unowned,omitempty"`

	places map[string]int // of members, by the names of their nodes
	// takes are the subscriptions of the members; hidden: the record of a member may not
	// be read.
	takes  [][]string
	hidden bool
}

// ShareMember is a member with its resources.
type ShareMember struct {
	Path        string    `json:"path"`
	ID          string    `json:"id"`
	Instance    string    `json:"instance,omitempty"`
	Session     SessionID `json:"session"`
	Coordinates bool      `json:"coordinates,omitempty"`
	Stopped     bool      `json:"stopped,omitempty"`
	// Cells has, by resource name, the resource's relation to the member.
	Cells map[string]Cell `json:"resources"`
}

// Cell is the relation of a resource to a member.
type Cell string

// The cells: owned and to stay so, owned and to be given up, to be acquired.
const (
	Owns   Cell = "owns"
	Leaves Cell = "leaves"
	Comes  Cell = "comes"
)

// ShareMove is a resource in transit. From is empty without a present owner.
type ShareMove struct {
	Resource string `json:"resource"`
	From     string `json:"from,omitempty"`
	To       string `json:"to,omitempty"`
}

// Counts is how many resources each kind of cell has, for a member.
func (m ShareMember) Counts() map[Cell]int {
	out := map[Cell]int{}
	for c := range maps.Values(m.Cells) {
		out[c]++
	}
	return out
}

// setState sets the state of the group.
func (st *ShareState) setState(t *Thing, s *spot) {
	t.State = formatCount(len(st.Resources), "resource") + " shared by " + formatCount(len(st.Members), "member")
	if n := len(st.Moves); n > 0 {
		t.State += ", " + formatCount(n, "move") + " in progress"
	}
	if st.Mode == shareformat.ModeGlobal && st.Step != "" && st.Step != shareformat.Confirmed {
		t.State += fmt.Sprintf(", generation %d: %s", st.Generation, st.Step)
	}
	if st.Paused {
		t.State = "paused: " + t.State
		by := ""
		if st.PausedBy != "" {
			by = " by " + st.PausedBy
		}
		t.addProblem(Hint, codePaused, znode.Join(t.Path, shareformat.NodeConfig), "the group is paused%s: no resource moves", by)
	}
	for _, name := range []string{shareformat.DirClients, shareformat.DirAssignments, shareformat.DirBarriers} {
		if c := s.child(name); c != nil && c.Denied {
			return // a missing node may just be unreadable
		}
	}
	switch {
	case len(st.Members) == 0 && len(st.Resources) > 0:
		t.addProblem(Warn, codeNoMember, t.Path, "no member is present: the resources have no owner")
	default:
		st.reportUnowned(t)
	}
}

// reportUnowned distinguishes resources that no member subscribes to, which stay without
// an owner, from resources that have no owner yet.
func (st *ShareState) reportUnowned(t *Thing) {
	var uncovered []string
	if !st.hidden {
		uncovered = shareformat.Uncovered(st.Unowned, st.takes)
	}
	if n := len(uncovered); n > 0 {
		t.addProblem(Warn, codeUncovered, t.Path, "no member subscribes to %s: %s", formatCount(n, "resource"), Text([]byte(joinNames(uncovered)), 3*idWidth))
	}
	left := map[string]bool{}
	for _, name := range uncovered {
		left[name] = true
	}
	unowned := slices.DeleteFunc(slices.Clone(st.Unowned), func(name string) bool { return left[name] })
	if n := len(unowned); n > 0 {
		t.addProblem(Hint, codeUnowned, t.Path, "%s no owner yet: %s", formatSeveral(n, "resource has", "resources have"), Text([]byte(joinNames(unowned)), 3*idWidth))
	}
}
