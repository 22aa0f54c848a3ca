package shareformat

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/versioned"
)

// Format is that of all records. A newer version of this library may add fields to a
// record: a version that does not know them keeps them when it rewrites the record. A
// newer version that changes the meaning of the fields writes another format: an older
// version refuses such a record, and never replaces it. Records without a format have
// format 1; former versions wrote such ones.
const Format = 1

// The modes of groups.
const (
	ModeResource = "resource"
	ModeGlobal   = "global"
)

// Bounds of records.
const (
	// MaxNumber is more than any epoch or generation gets to.
	MaxNumber = math.MaxInt64 / 2
	// MaxWeight is the highest weight of a member.
	MaxWeight = 1_000_000
	// MaxChunk is how long a record of names may be, in bytes. A name alone is shorter.
	MaxChunk = 256 << 10
	// maxChunks bounds the reads for a record that claims to go on: more than any
	// member can own.
	maxChunks = 10_000
)

// Group is the data of a group's znode. It never changes.
type Group struct {
	Format int    `json:"format"`
	Mode   string `json:"mode"` // "resource" or "global"
}

// Member is the data of a client's node. It never changes.
type Member struct {
	Format       int      `json:"format"`
	Mode         string   `json:"mode"`
	ID           string   `json:"id"`                 // Options.ID
	Instance     string   `json:"instance,omitempty"` // of a static member
	Assignor     string   `json:"assignor"`           // that it would use as the coordinator
	Weight       int      `json:"weight,omitempty"`
	Zone         string   `json:"zone,omitempty"`
	Subscription []string `json:"subscription,omitempty"`
	// StartWhenComplete says how to read the member's barriers; see Options.
	StartWhenComplete bool `json:"startWhenComplete,omitempty"`
	// Shards is the newest format of shards that the member reads; 0 means 1.
	Shards int `json:"shards,omitempty"`
}

// Epoch names the coordinator.
type Epoch struct {
	Format int       `json:"format"`
	Epoch  int64     `json:"epoch"`
	Client string    `json:"client"`
	Since  time.Time `json:"since"` // by the coordinator's clock

	versioned.Kept
}

// Status says how far the generation is, in global mode.
type Status struct {
	Format     int    `json:"format"`
	Generation int64  `json:"generation"`
	State      string `json:"state"` // "stop", "assigned" or "confirmed"
	Epoch      int64  `json:"epoch"`

	versioned.Kept
}

// Config has the settings of an operator for a whole group.
type Config struct {
	Format int       `json:"format"`
	Paused bool      `json:"paused"`
	By     string    `json:"by,omitempty"`
	Since  time.Time `json:"since,omitzero"` // by the clock of the client that did so

	versioned.Kept
}

// Failures lists the resources that a client retries.
type Failures struct {
	Format   int       `json:"format"`
	Count    int       `json:"count"` // also of those that are not listed
	Failures []Failure `json:"failures"`
}

// Failure is a resource that a client retries.
type Failure struct {
	Resource string    `json:"resource"`
	Err      string    `json:"error"`
	Failures int       `json:"failures"`
	Since    time.Time `json:"since"`
	Next     time.Time `json:"next"`
}

// The states of a generation, as Status has them, in their order.
const (
	Stop      = "stop"
	Assigned  = "assigned"
	Confirmed = "confirmed"
)

// States are the states of a generation.
func States() []string { return []string{Stop, Assigned, Confirmed} }

// Encode writes a record, which it is given a pointer to, or another value.
func Encode(value any) []byte {
	data, err := versioned.Marshal(value, 0)
	if err != nil {
		panic(err) // strings, numbers, times, and JSON
	}
	return data
}

// ErrGarbage: the data is not a record in any format.
var ErrGarbage = errors.New("not a record")

// Decode reads a record and checks all that readers rely on. Empty data, which a znode has
// before it is first written, is a record without anything. The error is [ErrGarbage], or
// gives the reason; of a newer format, it is a [*versioned.FormatError].
func Decode[T Group | Epoch | Status | Config | Shard | Failures](data []byte) (T, error) {
	var out T
	if len(data) == 0 {
		return out, nil
	}
	newest := Format
	if _, is := any(out).(Shard); is {
		newest = FormatDelta
	}
	if err := checkFormat(data, newest); err != nil {
		return out, err
	}
	if err := versioned.Unmarshal(data, &out); err != nil {
		return *new(T), ErrGarbage
	}
	switch r := any(out).(type) {
	case Epoch:
		if r.Epoch < 0 || r.Epoch > MaxNumber {
			return *new(T), ErrGarbage
		}
	case Status:
		if !slices.Contains(States(), r.State) || r.Generation < 0 || r.Generation > MaxNumber {
			return *new(T), ErrGarbage
		}
	case Shard:
		return out, r.check()
	}
	return out, nil
}

// checkFormat refuses a record of a format that this version does not know, and data
// that is not a record in any format.
func checkFormat(data []byte, newest int) error {
	err := versioned.Check(data, newest)
	var newer *versioned.FormatError
	if err != nil && !errors.As(err, &newer) {
		return ErrGarbage
	}
	return err
}

// DecodeMember reads the record of a member of a group of that mode, no matter which
// client wrote it: a record that such a member does not write is an error.
func DecodeMember(mode string, data []byte) (Member, error) {
	var m Member
	if err := checkFormat(data, Format); err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, ErrGarbage
	}
	switch {
	case m.Format != Format:
		return m, fmt.Errorf("it has format %d", m.Format)
	case m.Mode != mode:
		return m, fmt.Errorf("it has mode %.60q", m.Mode)
	case m.Weight < 0 || m.Weight > MaxWeight:
		return m, fmt.Errorf("it has weight %d", m.Weight)
	case m.Instance != "":
		if err := ValidInstance(m.Instance); err != nil {
			return m, fmt.Errorf("its Instance %w", err)
		}
	}
	for _, pattern := range m.Subscription {
		if !ValidPattern(pattern) {
			return m, fmt.Errorf("its Subscription has %.60q", pattern)
		}
	}
	return m, nil
}

// ValidPattern reports whether pattern can be one of a subscription, a pattern of
// path.Match.
func ValidPattern(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil && pattern != "" && utf8.ValidString(pattern)
}

// Uncovered returns the names that none of the subscriptions takes; an empty subscription
// takes all. Without subscriptions the result is nil.
func Uncovered(names []string, subscriptions [][]string) (out []string) {
	var patterns []string
	for _, one := range subscriptions {
		if len(one) == 0 {
			return nil
		}
		patterns = append(patterns, one...)
	}
	if len(patterns) == 0 {
		return nil
	}
	slices.Sort(patterns)
	patterns = slices.Compact(patterns)
	for _, name := range names {
		covered := slices.ContainsFunc(patterns, func(p string) bool {
			matches, err := path.Match(p, name)
			return err == nil && matches
		})
		if !covered {
			out = append(out, name)
		}
	}
	return out
}
