package recognize

import "maps"

// ShareState is how a group of rebalanser shares its resources.
type ShareState struct {
	Mode        string `json:"mode"` // resource or global
	Paused      bool   `json:"paused,omitempty"`
	PausedBy    string `json:"paused_by,omitempty"`
	Epoch       int64  `json:"epoch"`
	Coordinator string `json:"coordinator,omitempty"`
	// Generation and Step are of the newest assignment, in global mode.
	Generation int64  `json:"generation,omitempty"`
	Step       string `json:"step,omitempty"`
	// Members by their places; the first coordinates.
	Members []ShareMember `json:"members"`
	// Resources by name, as it is: not as text to be shown. Moves are under way,
	// Unowned are nobody's.
	Resources []string    `json:"resources"`
	Moves     []ShareMove `json:"moves,omitempty"`
	Unowned   []string    `json:"unowned,omitempty"`

	places map[string]int // of members, by the names of their nodes
}

// ShareMember is a member with what it has.
type ShareMember struct {
	Path        string    `json:"path"`
	ID          string    `json:"id"`
	Instance    string    `json:"instance,omitempty"`
	Session     SessionID `json:"session"`
	Coordinates bool      `json:"coordinates,omitempty"`
	Stopped     bool      `json:"stopped,omitempty"`
	// Cells says of resources, by name, what they are to the member.
	Cells map[string]Cell `json:"resources"`
}

// Cell is what a resource is to a member.
type Cell string

// The cells: owned and to stay so, owned and to be given up, to be acquired.
const (
	Owns   Cell = "owns"
	Leaves Cell = "leaves"
	Comes  Cell = "comes"
)

// ShareMove is a resource on its way. From is empty if nobody has it.
type ShareMove struct {
	Resource string `json:"resource"`
	From     string `json:"from,omitempty"`
	To       string `json:"to,omitempty"`
}

type shareGroup struct {
	Format int    `json:"format"`
	Mode   string `json:"mode"`
}

type shareRecord struct {
	Client     string   `json:"client"`
	Generation int64    `json:"generation"`
	Chunks     int      `json:"chunks"`
	Resources  []string `json:"resources"`
}

type shareMember struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
}

type shareStatus struct {
	Generation int64  `json:"generation"`
	State      string `json:"state"`
}

type shareConfig struct {
	Paused bool   `json:"paused"`
	By     string `json:"by"`
}

type shareEpoch struct {
	Epoch  int64  `json:"epoch"`
	Client string `json:"client"`
}

type shareOwner struct {
	Client string `json:"client"`
}

// Counts is how many resources each kind of cell has, for a member.
func (m ShareMember) Counts() map[Cell]int {
	out := map[Cell]int{}
	for c := range maps.Values(m.Cells) {
		out[c]++
	}
	return out
}
