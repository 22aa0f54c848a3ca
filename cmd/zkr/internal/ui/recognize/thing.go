package recognize

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of a thing.
type Kind string

// The kinds of things.
const (
	Mutex      Kind = "mutex"
	RWLock     Kind = "read/write lock"
	Semaphore  Kind = "semaphore"
	Election   Kind = "election"
	Gate       Kind = "gate"
	Barrier    Kind = "barrier"
	Double     Kind = "double barrier"
	Counter    Kind = "counter"
	Value      Kind = "value"
	Group      Kind = "group"
	Service    Kind = "service"
	Job        Kind = "job"
	Rebalancer Kind = "rebalancer"
	Tasks      Kind = "task queue"
	Queue      Kind = "queue"
)

// SessionID is a session; zero means no session.
type SessionID int64

// String is the number in the form of ZooKeeper's own tools.
func (s SessionID) String() string {
	if s == 0 {
		return ""
	}
	return fmt.Sprintf("%#x", int64(s))
}

// MarshalText writes the number as a text into JSON, whose numbers are too
// short.
func (s SessionID) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Thing is a lock, an election or another recipe's object, made of one or more
// znodes.
type Thing struct {
	Kind Kind   `json:"kind"`
	Path string `json:"path"`
	// How the thing was recognized: whose layout, by which sign.
	How string `json:"how"`
	// Guess is why the thing may be of another kind: another recipe has the same
	// layout, or only a name or a number identifies the thing. Empty for a
	// layout unique to one recipe.
	Guess string `json:"guess,omitempty"`
	// State describes the state in one line.
	State string `json:"state"`
	// Part is the path of the thing that this thing is a part of, if any.
	Part     string    `json:"part_of,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
	// Strangers is how many children do not belong to the thing.
	Strangers int `json:"strangers,omitempty"`

	// At most a few of these are set, by kind.

	Queue   []*Contender `json:"queue,omitempty"`
	Permits *Permits     `json:"permits,omitempty"`
	Meeting *Meeting     `json:"meeting,omitempty"`
	Number  *Number      `json:"number,omitempty"`
	Members []Member     `json:"members,omitempty"`
	Job     *JobState    `json:"job,omitempty"`
	Tasks   *TaskState   `json:"tasks,omitempty"`
	Shares  *ShareState  `json:"shares,omitempty"`
	// Entries is the length of a queue of another library.
	Entries int `json:"entries,omitempty"`

	// Breaks are the last times at which an operator has taken it away, the newest first.
	Breaks []Break `json:"breaks,omitempty"`

	// hint is the problem that appears with time (World.hintAt).
	hint string
}

// Level says how bad a problem is.
type Level string

// The levels, the worst first.
const (
	Bad  Level = "bad"
	Warn Level = "warn"
	Hint Level = "hint"
)

// Levels are all of them, the worst first.
func Levels() []Level { return []Level{Bad, Warn, Hint} }

// IsSerious reports whether a problem of the level must be looked at; a hint need not.
func (l Level) IsSerious() bool { return l != Hint }

// Problem is a certain or possible defect.
type Problem struct {
	Level Level  `json:"level"`
	Code  Code   `json:"code"`
	Text  string `json:"text"`
	// Path of the znode to inspect.
	Path string `json:"path"`
}

// Contender is a holder or a waiter.
type Contender struct {
	Path string `json:"path"`
	// ID is the contender's own name; may be empty.
	ID      string    `json:"id"`
	Seq     int32     `json:"number"`
	Session SessionID `json:"session"`
	Holds   bool      `json:"holds"`
	// Priority is that of a candidate in an election; 0 without one.
	Priority int `json:"priority,omitempty"`
	// Outside: it waits beside the queue until the queue is shorter, or until it is the next
	// by its priority.
	Outside bool `json:"outside,omitempty"`
	// Role is "read" or "write" at a read/write lock.
	Role string `json:"role,omitempty"`
	// Permits is the number of wanted or held permits; 0 without permits.
	Permits int `json:"permits,omitempty"`
	// Denied: the contender is unreadable; only its name is known.
	Denied bool `json:"denied,omitempty"`
	// Token is the fencing token; 0 if unknown.
	Token int64 `json:"token,omitempty,string"`
	// Entered is the creation time, Since the time of the grant, zero if
	// unobserved. In this case AtLeast is the first observation of the hold.
	Entered time.Time `json:"entered,omitzero"`
	Since   time.Time `json:"since,omitzero"`
	AtLeast time.Time `json:"at_least_since,omitzero"`
	// Watches are the places in the queue of the awaited contenders. Only the
	// first Shown contenders have Watches.
	Watches []int `json:"watches,omitempty"`
	// Value is what the leader of an election has proclaimed; nil if nothing.
	Value *string `json:"value,omitempty"`
	// Odd is the reason why its client may not know of the znode.
	Odd string `json:"odd,omitempty"`
}

// Break is a hold that an operator has taken away from its holder.
type Break struct {
	At     time.Time `json:"at"` // by the servers' clock
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	Holder string    `json:"holder"`
	Token  int64     `json:"token,string"`
}

// Shown is how many of a queue are looked at more closely.
const Shown = 64

// Tenure identifies the hold.
func (c *Contender) Tenure() Tenure { return Tenure{c.Path, c.Token} }

// Name is the name to show for a contender.
func (c *Contender) Name() string { return nameOf(c.ID, c.Session) }

func nameOf(id string, s SessionID) string {
	switch {
	case id != "":
		return id
	case s != 0:
		return s.String()
	}
	return "unknown"
}

// Permits counts the permits of a semaphore. Total is 0 if the layout does not have
// the number.
type Permits struct {
	Total int `json:"total"`
	Held  int `json:"held"`
}

// Free is the number of available permits; 0 if unknown.
func (p *Permits) Free() int { return max(0, p.Total-p.Held) }

// Meeting is the state of a barrier. Parties is 0 if the layout does not have the
// number.
type Meeting struct {
	Parties int   `json:"parties"`
	Round   int64 `json:"round,string"`
	// Here wait for the others; Inside were let through a double barrier, and
	// have not left.
	Here   []Member `json:"here"`
	Inside []Member `json:"inside,omitempty"`
	// Closed is for gates.
	Closed bool `json:"closed,omitempty"`
}

// Missing is how many parties are missing.
func (m *Meeting) Missing() int { return max(0, m.Parties-len(m.Here)) }

// Number is a counter, or a value of bytes.
type Number struct {
	// Value is null if unreadable, and for bytes.
	Value *int64 `json:"value,string"`
	// Format is the format of the value, Writers the number of writing sessions.
	Format   string    `json:"format"`
	Writers  int       `json:"writers"`
	Version  int32     `json:"version"`
	Modified time.Time `json:"modified"`
	Czxid    int64     `json:"czxid,string"`
}

// Member is a participant: of a group, a barrier or a service.
type Member struct {
	Path    string    `json:"path"`
	ID      string    `json:"id"`
	Session SessionID `json:"session,omitempty"`
	Since   time.Time `json:"since"`
	Data    string    `json:"data,omitempty"`
	// The rest is a service instance's.
	Address  string `json:"address,omitempty"`
	Type     string `json:"type,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
	Broken   string `json:"broken,omitempty"`
}

// Name is the name to show for a member.
func (m Member) Name() string { return nameOf(m.ID, m.Session) }

// addProblem adds a problem.
func (t *Thing) addProblem(level Level, code Code, path, format string, args ...any) {
	t.Problems = append(t.Problems, Problem{level, code, fmt.Sprintf(format, args...), path})
}

// Worst is the level of the worst problem; "" if there is none.
func (t *Thing) Worst() Level {
	for _, level := range Levels() {
		if slices.ContainsFunc(t.Problems, func(p Problem) bool { return p.Level == level }) {
			return level
		}
	}
	return ""
}

// Holders are the holders in the queue.
func (t *Thing) Holders() (out []*Contender) {
	for _, c := range t.Queue {
		if c.Holds {
			out = append(out, c)
		}
	}
	return out
}

// Waiting is how many of the queue wait.
func (t *Thing) Waiting() int { return len(t.Queue) - len(t.Holders()) }

// formatCount writes a number with its noun.
func formatCount(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// formatSeveral writes a number with the noun for the number.
func formatSeveral(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// joinNames writes a short list of names.
func joinNames(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + formatSeveral(len(names)-most, "other", "others")
	}
	return strings.Join(names, ", ")
}
