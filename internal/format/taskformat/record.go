package taskformat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Format is that of all records. A newer version of this library may add fields to the
// records that are rewritten, all but [Counts], [Key], [Schedule] and [LastSlot]: a version that does not know
// them keeps them. A newer version that changes the meaning of the fields writes another
// format, which older ones refuse.
const Format = 1

// MaxPlaces is the most that Concurrency and Prefetch of a worker can be.
const MaxPlaces = 1 << 20

// State says how a task stands; dispatch.State describes the states.
type State string

// The states. They have no type, since package dispatch has one of its own.
const (
	Waiting  = "waiting"
	Assigned = "assigned"
	Done     = "done"
	Failed   = "failed"
	Canceled = "canceled"
	Dead     = "dead"
)

// States are all of them, in their order.
func States() []State { return []State{Waiting, Assigned, Done, Failed, Canceled, Dead} }

// Finished reports whether a task in this state has a result.
func (s State) Finished() bool { return s == Done || s == Failed || s == Canceled || s == Dead }

// Record is the data of a task's znode.
type Record struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	// Run is a part of a UUID of the submission.
	Run   string `json:"run"`
	State State  `json:"state"`
	// Attempt is the number of the present attempt, or, of a task that waits,
	// of the next one; from 1.
	Attempt     int `json:"attempt"`
	MaxAttempts int `json:"maxAttempts"`
	// Deaths counts the workers that have died while they had the task in hand.
	Deaths   int `json:"deaths,omitempty"`
	Priority int `json:"priority,omitempty"`
	// Labels that a worker must have.
	Labels []string `json:"labels,omitempty"`
	// Hash of the payload.
	Hash string `json:"hash"`
	// Owner is the node in clients that the task goes with, if it does.
	Owner string `json:"owner,omitempty"`
	// The times are by the clocks of their writers.
	Submitted time.Time `json:"submitted"`
	NotBefore time.Time `json:"notBefore,omitzero"`
	Deadline  time.Time `json:"deadline,omitzero"`
	// DeadlineAfter is the deadline as a time after the creation of the task's znode, by
	// the servers' clock. Deadline is then for people, and for former versions; without
	// a Deadline, which they remove when they requeue a task, DeadlineAfter means nothing.
	DeadlineAfter Millis `json:"deadlineAfterMs,omitempty"`
	// Delay is how long a task waits since its record was written, by the servers'
	// clock; NotBefore is for people, and for former versions.
	Delay     Millis `json:"delayMs,omitempty"`
	Backoff   Millis `json:"backoffMs"`
	Retention Millis `json:"retentionMs"`
	// DeadRetention is that of a dead task; 0: the default.
	DeadRetention Millis    `json:"deadRetentionMs,omitempty"`
	Worker        string    `json:"worker,omitempty"`
	Assignment    string    `json:"assignment,omitempty"`
	AssignedAt    time.Time `json:"assigned,omitzero"`
	FinishedAt    time.Time `json:"finished,omitzero"`
	LastFailure   string    `json:"lastFailure,omitempty"`
	// Unique is the key of a unique task, and UniqueUntil the end of the period in which
	// the key is unique; zero: until the task ends. Former versions keep both.
	Unique      string    `json:"unique,omitempty"`
	UniqueUntil time.Time `json:"uniqueUntil,omitzero"`
	// Requeued is a UUID of the last call that requeued the task.
	Requeued string `json:"requeued,omitempty"`
	// Canceled is a UUID of the last call that canceled the task, also when it
	// was requeued since then.
	Canceled string `json:"canceled,omitempty"`

	versioned.Kept // fields of a newer version
}

// Ending is the first line of a result's data; the handler's output follows it.
type Ending struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	Run    string `json:"run"`
	// Version of the task's znode.
	Version   int32     `json:"version"`
	State     State     `json:"state"`
	Attempt   int       `json:"attempt"`
	Worker    string    `json:"worker,omitempty"`
	Submitted time.Time `json:"submitted"`
	Assigned  time.Time `json:"assigned,omitzero"`
	Finished  time.Time `json:"finished"`
	Error     string    `json:"error,omitempty"`

	versioned.Kept // fields of a newer version
}

// Profile is the data of a worker's znode in DirAlive.
type Profile struct {
	Format      int      `json:"format"`
	Name        string   `json:"name"`
	Concurrency int      `json:"concurrency"`
	Prefetch    int      `json:"prefetch"`
	Labels      []string `json:"labels,omitempty"`
	Draining    bool     `json:"draining,omitempty"`
	// Recalled, in the worker's folder only, are the serials of the assignments that
	// the worker is to give back unless it has begun them. The master writes it.
	Recalled []string `json:"recalled,omitempty"`

	versioned.Kept // fields of a newer version
}

// Limits are the data of admission.
type Limits struct {
	Format   int `json:"format"`
	MaxTasks int `json:"maxTasks"`
	// Paused is the present pause of the queue; nil: masters assign tasks. Former versions
	// keep it, and assign nevertheless.
	Paused *Pause `json:"paused,omitempty"`
	// LastPause is a UUID of the call that has paused the queue last, also when the pause
	// has ended.
	LastPause string `json:"lastPause,omitempty"`

	versioned.Kept // fields of a newer version
}

// Millis is a duration that is written as milliseconds.
type Millis int64

// ToMillis is d, cut off to milliseconds.
func ToMillis(d time.Duration) Millis { return Millis(d / time.Millisecond) }

// Duration is m, or as much of it as a Duration can say.
func (m Millis) Duration() time.Duration {
	return time.Duration(min(m, math.MaxInt64/Millis(time.Millisecond))) * time.Millisecond
}

// Encode writes a record.
func Encode(record any) []byte {
	var data []byte
	var err error
	if own, ok := record.(json.Marshaler); ok {
		data, err = own.MarshalJSON() // json.Marshal would check and copy it
	} else {
		data, err = json.Marshal(record)
	}
	if err != nil {
		panic(err) // strings, numbers and times
	}
	return data
}

// Decode reads a record and checks all that readers rely on. The error of a record of a
// newer format wraps a [*versioned.FormatError].
func Decode[T Record | Assignment | Ending | Profile | Limits | Counts | Key | Schedule | LastSlot](data []byte) (T, error) {
	var out T
	var err error
	if own, ok := any(&out).(json.Unmarshaler); ok {
		err = own.UnmarshalJSON(data) // json.Unmarshal would scan the data twice more
	} else {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return out, unreadable(data)
	}
	ok := false
	switch r := any(out).(type) {
	case Record:
		ok = r.Valid()
	case Assignment:
		ok = r.Format == Format && r.Task.Valid() && r.Task.State == Assigned
	case Ending:
		ok = r.Format == Format && r.ID != "" && r.Run != "" && r.State.Finished()
	case Profile:
		ok = r.Format == Format && r.Concurrency > 0 && r.Concurrency <= MaxPlaces && r.Prefetch >= 0 && r.Prefetch <= MaxPlaces
	case Limits:
		ok = r.Format == Format && r.MaxTasks > 0
	case Counts:
		ok = r.Valid()
	case Key:
		ok = r.Valid()
	case Schedule:
		ok = r.Valid()
	case LastSlot:
		ok = r.Valid()
	}
	if !ok {
		return out, unreadable(data)
	}
	return out, nil
}

// unreadable returns why a record is invalid. A record of a newer format is not
// garbage.
func unreadable(data []byte) error {
	var newer *versioned.FormatError
	if err := versioned.Check(data, Format); errors.As(err, &newer) {
		return err
	}
	return fmt.Errorf("%.40q", data)
}

// Valid reports whether a queue writes such a record.
func (r Record) Valid() bool {
	return r.Format == Format && r.ID != "" && len(r.Run) == RunLength && slices.Contains(States(), r.State) &&
		r.Attempt > 0 && r.MaxAttempts > 0 && r.DeadlineAfter >= 0 && r.Delay >= 0 && r.Backoff >= 0 && r.Retention >= 0 && r.DeadRetention >= 0 &&
		(r.State == Assigned) == (r.Assignment != "") && (r.State != Assigned || r.Worker != "") &&
		isName(r.Run) && isName(r.Worker) && isName(r.Assignment) && isName(r.Owner)
}

// isName reports whether name is empty, or can be a part of a path: the names in a
// record become parts of paths.
func isName(name string) bool {
	return name == "" || znode.IsName(name)
}

// EncodeResult writes a result.
func EncodeResult(e Ending, output []byte) []byte { return encodeHead(e, output) }

// DecodeResult reads a result.
func DecodeResult(data []byte) (Ending, []byte, error) { return decodeHead[Ending](data) }

// encodeHead writes a record in a line, and behind it bytes that this library does not read.
func encodeHead(record any, rest []byte) []byte {
	return slices.Concat(Encode(record), []byte{'\n'}, rest)
}

// decodeHead reads a record, and returns the bytes behind its line.
func decodeHead[T Ending | Schedule](data []byte) (T, []byte, error) {
	head, rest, _ := bytes.Cut(data, []byte{'\n'})
	record, err := Decode[T](head)
	return record, rest, err
}

type (
	plainRecord  Record
	plainLimits  Limits
	plainEnding  Ending
	plainProfile Profile
)

// UnmarshalJSON reads a record, and keeps the fields that it does not know.
func (r *Record) UnmarshalJSON(data []byte) error {
	return versioned.Unmarshal(data, (*plainRecord)(r))
}

// MarshalJSON writes a record, with the fields that were kept.
func (r Record) MarshalJSON() ([]byte, error) {
	return versioned.Marshal((*plainRecord)(&r), 0)
}

// UnmarshalJSON reads limits, and keeps the fields that it does not know.
func (l *Limits) UnmarshalJSON(data []byte) error {
	return versioned.Unmarshal(data, (*plainLimits)(l))
}

// MarshalJSON writes limits, with the fields that were kept.
func (l Limits) MarshalJSON() ([]byte, error) {
	return versioned.Marshal((*plainLimits)(&l), 0)
}

// UnmarshalJSON reads an ending, and keeps the fields that it does not know.
func (e *Ending) UnmarshalJSON(data []byte) error {
	return versioned.Unmarshal(data, (*plainEnding)(e))
}

// MarshalJSON writes an ending, with the fields that were kept.
func (e Ending) MarshalJSON() ([]byte, error) {
	return versioned.Marshal((*plainEnding)(&e), 0)
}

// UnmarshalJSON reads a profile, and keeps the fields that it does not know.
func (p *Profile) UnmarshalJSON(data []byte) error {
	return versioned.Unmarshal(data, (*plainProfile)(p))
}

// MarshalJSON writes a profile, with the fields that were kept.
func (p Profile) MarshalJSON() ([]byte, error) {
	return versioned.Marshal((*plainProfile)(&p), 0)
}
