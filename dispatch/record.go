package dispatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// State says how a task stands. A task is "waiting" until it is given to a worker,
// then "assigned". It ends as "done"; as "failed", when its handler says that
// another attempt would be in vain, or its deadline has passed; as "canceled"; or
// as "dead", when its last attempt has failed: these stay until somebody collects
// them or has them tried anew by [Queue.Requeue].
type State string

// The states; [State] describes them.
const (
	waiting  State = "waiting"
	assigned State = "assigned"
	done     State = "done"
	failed   State = "failed"
	canceled State = "canceled"
	dead     State = "dead"
)

// Finished is true for a task that has a result.
func (s State) Finished() bool { return s == done || s == failed || s == canceled || s == dead }

// states are all of them.
func states() []State { return []State{waiting, assigned, done, failed, canceled, dead} }

// format is that of all records.
const format = 1

// record is the data of a task's znode.
type record struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	// Run is a part of a UUID of the submission.
	Run   string `json:"run"`
	State State  `json:"state"`
	// Attempt is the number of the present attempt, or, of a task that waits,
	// of the next one; from 1.
	Attempt     int `json:"attempt"`
	MaxAttempts int `json:"maxAttempts"`
	Priority    int `json:"priority,omitempty"`
	// Labels that a worker must have.
	Labels []string `json:"labels,omitempty"`
	// Hash of the payload.
	Hash string `json:"hash"`
	// Owner is the node in clients that the task goes with, if it does.
	Owner string `json:"owner,omitempty"`
	// The times are those of who wrote them.
	Submitted   time.Time `json:"submitted"`
	NotBefore   time.Time `json:"notBefore,omitzero"`
	Deadline    time.Time `json:"deadline,omitzero"`
	Backoff     millis    `json:"backoffMs"`
	Retention   millis    `json:"retentionMs"`
	Worker      string    `json:"worker,omitempty"`
	Assignment  string    `json:"assignment,omitempty"`
	AssignedAt  time.Time `json:"assigned,omitzero"`
	FinishedAt  time.Time `json:"finished,omitzero"`
	LastFailure string    `json:"lastFailure,omitempty"`
	// Requeued is a UUID of the last call that had the task tried anew.
	Requeued string `json:"requeued,omitempty"`
	// Canceled is a UUID of the last call that canceled the task, also when it
	// was requeued since then.
	Canceled string `json:"canceled,omitempty"`
}

// seen is a task as one request saw it.
type seen struct {
	record
	version      int32
	czxid, mzxid int64
	// orphan: it is assigned, but its assignment does not exist, since somebody
	// has deleted it by hand.
	orphan bool
}

// assignment is the data of an assignment's znode: the task as it is while the
// assignment exists, and the version that its znode has then.
type assignment struct {
	Format  int    `json:"format"`
	Task    record `json:"task"`
	Version int32  `json:"version"`
}

// ending is the first line of a result's data; the handler's output follows it.
type ending struct {
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
}

// profile is the data of a worker's node in alive.
type profile struct {
	Format      int      `json:"format"`
	Name        string   `json:"name"`
	Concurrency int      `json:"concurrency"`
	Prefetch    int      `json:"prefetch"`
	Labels      []string `json:"labels,omitempty"`
	Draining    bool     `json:"draining,omitempty"`
}

// limits are the data of admission.
type limits struct {
	Format   int `json:"format"`
	MaxTasks int `json:"maxTasks"`
}

// millis is a duration that is written as milliseconds.
type millis int64

func toMillis(d time.Duration) millis { return millis(d / time.Millisecond) }

func (m millis) duration() time.Duration {
	return time.Duration(min(m, math.MaxInt64/millis(time.Millisecond))) * time.Millisecond
}

// clock is t as it is written.
func clock(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// encode writes a record.
func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings, numbers and times
	}
	return data
}

// decode reads a record and checks what the rest relies on.
func decode[T record | assignment | ending | profile | limits](data []byte) (T, error) {
	var out T
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("%w: %.40q", ErrRecord, data)
	}
	ok := false
	switch r := any(out).(type) {
	case record:
		ok = r.valid()
	case assignment:
		ok = r.Format == format && r.Task.valid() && r.Task.State == assigned
	case ending:
		ok = r.Format == format && r.ID != "" && r.Run != "" && r.State.Finished()
	case profile:
		ok = r.Format == format && r.Concurrency > 0 && r.Concurrency <= maxPlaces && r.Prefetch >= 0 && r.Prefetch <= maxPlaces
	case limits:
		ok = r.Format == format && r.MaxTasks > 0
	}
	if !ok {
		return out, fmt.Errorf("%w: %.40q", ErrRecord, data)
	}
	return out, nil
}

func (r record) valid() bool {
	return r.Format == format && r.ID != "" && len(r.Run) == runLength && slices.Contains(states(), r.State) &&
		r.Attempt > 0 && r.MaxAttempts > 0 && r.Backoff >= 0 && r.Retention >= 0 &&
		(r.State == assigned) == (r.Assignment != "") && (r.State != assigned || r.Worker != "") &&
		isName(r.Run) && isName(r.Worker) && isName(r.Assignment) && isName(r.Owner)
}

// isName reports whether name can be a part of a path, or is nothing: what a record
// names is asked for.
func isName(name string) bool {
	return name == "" || !strings.Contains(name, "/") && session.ValidatePath("/"+name) == nil
}

// encodeResult writes a result.
func encodeResult(e ending, output []byte) []byte { return append(append(encode(e), '\n'), output...) }

// decodeResult reads a result.
func decodeResult(data []byte) (ending, []byte, error) {
	head, output, _ := bytes.Cut(data, []byte{'\n'})
	e, err := decode[ending](head)
	return e, output, err
}
