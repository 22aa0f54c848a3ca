package jobformat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Format is that of all records. A newer version of this library may add fields to the
// records that are rewritten, [Status] and [Member]: a version that does not know them
// keeps them. A newer version that changes the meaning of the fields writes another
// format, which older ones refuse. A Status or a Member without a format has format 1.
const Format = 1

// State says how a job or a worker stands; workerctl.State describes the states.
type State string

// The states. They have no type, since package workerctl has one of its own.
const (
	Submitted = "submitted"
	Running   = "running"
	Finished  = "finished"
	Killed    = "killed"
	Abandoned = "abandoned"
	Left      = "left"
	Failed    = "failed"
	Dead      = "dead"
)

// Over reports whether a job is finished, failed, killed or abandoned.
func (s State) Over() bool { return s.Complete() || s == Killed || s == Abandoned }

// Complete is true for a job all of whose workers have left.
func (s State) Complete() bool { return s == Finished || s == Failed }

// known is true for the states that a job can have.
func (s State) known() bool { return s == Submitted || s == Running || s.Over() }

// MaxWorkers is how many workers a job can have.
const MaxWorkers = 1 << 24

// Job is the data of a job's znode; it never changes.
type Job struct {
	Format   int               `json:"format"` // 1
	ID       string            `json:"id"`     // a UUID
	Name     string            `json:"name"`
	ReuseIDs bool              `json:"reuseIDs"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Created  time.Time         `json:"created"` // by the submitter's clock
}

// Status is the data of a run's NodeState.
type Status struct {
	State   State `json:"state"`
	Workers int   `json:"workers"`
	// Next is the lowest id that was not given out yet.
	Next int `json:"next"`
	// Left is the number of ids below Next whose workers have left; with
	// ReuseIDs these ids are free.
	Left int `json:"left"`
	// Failed is how many of the workers that left did so by Worker.Fail.
	Failed int `json:"failed,omitempty"`
	// Joins counts the joins, those of returning workers included, so that each
	// join changes the record.
	Joins int64 `json:"joins"`

	versioned.Kept // fields of a newer version
}

// Member is the data of a worker's znodes.
type Member struct {
	ID   int    `json:"id"`
	Name string `json:"name"` // the identity's
	// Incarnation counts how often the id was joined under, from 1.
	Incarnation int64 `json:"incarnation"`
	// Claim is a UUID of the call that joined.
	Claim string `json:"claim"`
	Left  bool   `json:"left"`
	// Failure is the text of Worker.Fail.
	Failure string `json:"failure,omitempty"`
	// Edition counts the changes that the incarnation made.
	Edition    int64             `json:"edition"`
	Addresses  []string          `json:"addresses,omitempty"`
	Node       string            `json:"node,omitempty"`
	Rack       string            `json:"rack,omitempty"`
	DataCenter string            `json:"dataCenter,omitempty"`
	KV         map[string]string `json:"kv,omitempty"`

	versioned.Kept // fields of a newer version
}

// State is how the worker stands: "left" or "failed" if it has left, else "running" if
// its znode in DirLive exists, else "dead".
func (m Member) State(alive bool) State {
	switch {
	case m.HasFailed():
		return Failed
	case m.Left:
		return Left
	case alive:
		return Running
	}
	return Dead
}

// HasFailed is true for a member that has left with a failure, and has not come back.
func (m Member) HasFailed() bool { return m.Left && m.Failure != "" }

// Ending is the data of a child of DirEnded.
type Ending struct {
	Format  int       `json:"format"` // 1
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	State   State     `json:"state"`
	Workers int       `json:"workers"`
	Joined  int       `json:"joined"`
	Left    int       `json:"left"`
	Failed  int       `json:"failed,omitempty"`
	Created time.Time `json:"created"` // by the submitter's clock
	Ended   time.Time `json:"ended"`   // by the servers' clock
}

// Encode writes a record.
func Encode(record any) []byte {
	data, err := json.Marshal(record)
	if err != nil {
		panic(err) // strings, numbers and times
	}
	return data
}

// Decode reads a record and checks all that readers rely on. The error of a record of a
// newer format wraps a [*versioned.FormatError].
func Decode[T Job | Status | Member | Ending](data []byte) (T, error) {
	var out T
	if err := CheckFormat(data); err != nil {
		return out, err
	}
	// A record with a method for JSON is read by it at once: the method checks the data.
	unmarshal := func(data []byte) error { return json.Unmarshal(data, &out) }
	if record, keeps := any(&out).(json.Unmarshaler); keeps {
		unmarshal = record.UnmarshalJSON
	}
	if unmarshal(data) != nil {
		return out, invalid(data)
	}
	ok := false
	switch r := any(out).(type) {
	case Job:
		ok = r.Format == Format && znode.IsUUID(r.ID) && r.Name != ""
	case Status:
		ok = r.State.known() && r.Workers > 0 && r.Workers <= MaxWorkers &&
			0 <= r.Failed && r.Failed <= r.Left && r.Left <= r.Next && r.Next <= r.Workers
	case Ending:
		ok = r.Format == Format && znode.IsUUID(r.ID) && r.Name != "" && r.State.Over()
	case Member:
		ok = r.ID >= 0 && r.ID < MaxWorkers && r.Incarnation > 0 && znode.IsUUID(r.Claim) && r.Name != ""
	}
	if !ok {
		return out, invalid(data)
	}
	return out, nil
}

func invalid(data []byte) error { return fmt.Errorf("%.40q", data) }

// CheckFormat refuses a record of a newer format, whatever else it has.
func CheckFormat(data []byte) error {
	var newer *versioned.FormatError
	if err := versioned.Check(data, Format); errors.As(err, &newer) {
		return err
	}
	return nil
}

// MemberOf reads the record of the member whose znode has that name.
func MemberOf(name string, data []byte) (Member, error) {
	m, err := Decode[Member](data)
	if err == nil && strconv.Itoa(m.ID) != name {
		return m, fmt.Errorf("member %s says that it is %d", name, m.ID)
	}
	return m, err
}

// JobOf reads the record of the job whose znode has that name.
func JobOf(name string, data []byte) (Job, error) {
	record, err := Decode[Job](data)
	if err == nil && znode.Escape(record.Name) != name {
		return record, fmt.Errorf("%s says that it is %q", name, record.Name)
	}
	return record, err
}

type (
	plainStatus Status
	plainMember Member
	// The stored records have the field for the format: a record without further unknown
	// fields is read in one pass.
	storedStatus struct {
		plainStatus
		Format json.RawMessage `json:"format"`
	}
	storedMember struct {
		plainMember
		Format json.RawMessage `json:"format"`
	}
)

// UnmarshalJSON reads a status, and keeps the fields that it does not know.
func (s *Status) UnmarshalJSON(data []byte) error {
	var stored storedStatus
	err := versioned.Unmarshal(data, &stored)
	*s = Status(stored.plainStatus)
	return err
}

// MarshalJSON writes a status, with its format and the fields that were kept.
func (s Status) MarshalJSON() ([]byte, error) {
	return versioned.Marshal((*plainStatus)(&s), Format)
}

// UnmarshalJSON reads a member, and keeps the fields that it does not know.
func (m *Member) UnmarshalJSON(data []byte) error {
	var stored storedMember
	err := versioned.Unmarshal(data, &stored)
	*m = Member(stored.plainMember)
	return err
}

// MarshalJSON writes a member, with its format and the fields that were kept.
func (m Member) MarshalJSON() ([]byte, error) {
	return versioned.Marshal((*plainMember)(&m), Format)
}
