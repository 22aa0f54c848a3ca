package dispatch

import (
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/session"
)

// State is the state of a task. A task is "waiting" until it is given to a worker,
// then "assigned". It ends as "done"; as "failed", when its handler says that
// another attempt would be in vain, or its deadline has passed; as "canceled"; or
// as "dead", when its last attempt has failed. Dead tasks stay for 30 days, unless
// Task.DeadRetention says otherwise, so that an operator can have them retried by
// [Queue.Requeue].
type State string

// The states; [State] describes them.
const (
	waiting  = taskformat.Waiting
	assigned = taskformat.Assigned
	done     = taskformat.Done
	failed   = taskformat.Failed
	canceled = taskformat.Canceled
	dead     = taskformat.Dead
)

// Finished reports whether a task in this state has a result.
func (s State) Finished() bool { return taskformat.State(s).Finished() }

// format is that of all records.
const format = taskformat.Format

// The records, whose format package taskformat has.
type (
	ending  = taskformat.Ending
	profile = taskformat.Profile
	limits  = taskformat.Limits
	counts  = taskformat.Counts
	// uniqueKey tells which task has a key.
	uniqueKey = taskformat.Key
	// definition is a schedule as it is stored, and lastSlot tells which slots are over.
	definition = taskformat.Schedule
	lastSlot   = taskformat.LastSlot
	// record is a type of its own, for the transitions.
	record taskformat.Record
	// millis is a duration that is written as milliseconds.
	millis = taskformat.Millis
)

func (r record) isValid() bool { return taskformat.Record(r).Valid() }

// MarshalJSON writes a record, with the fields that were kept.
func (r record) MarshalJSON() ([]byte, error) { return taskformat.Record(r).MarshalJSON() }

// seen is a task as one request saw it.
type seen struct {
	record
	version      int32
	czxid, mzxid int64
	// mtime is when the record was written, by the servers' clock; zero if unknown.
	mtime time.Time
	// orphan says that the task is assigned, but its assignment does not exist:
	// the assignment was deleted by hand.
	orphan bool
}

// seenAs is a record in a znode of that stat. A deadline after the submission, which the
// servers have dated, becomes a date; the next write of the record writes the date.
func seenAs(r record, stat session.Stat) seen {
	t := seen{record: r, version: stat.Version, czxid: stat.Czxid, mzxid: stat.Mzxid}
	if r.DeadlineAfter > 0 && stat.Ctime != 0 {
		if !r.Deadline.IsZero() {
			t.Deadline = truncateTime(time.UnixMilli(stat.Ctime).Add(r.DeadlineAfter.Duration()))
		}
		t.DeadlineAfter = 0
	}
	if stat.Mtime != 0 {
		t.mtime = time.UnixMilli(stat.Mtime)
	}
	return t
}

// assignment is a taskformat.Assignment: the task as it is while the assignment exists,
// and the version that its znode has then.
type assignment struct {
	Format  int
	Task    record
	Version int32

	// progress is what the handler has reported last; nil for none. kept are the fields
	// of a newer version.
	progress *taskformat.Progress
	kept     versioned.Kept
	// recalled is profile.Recalled of the worker's folder, which is not an
	// assignment.
	recalled []string
}

// MarshalJSON writes an assignment.
func (a assignment) MarshalJSON() ([]byte, error) {
	return taskformat.Assignment{
		Format: a.Format, Task: taskformat.Record(a.Task), Version: a.Version, Progress: a.progress, Kept: a.kept,
	}.MarshalJSON()
}

func toMillis(d time.Duration) millis { return taskformat.ToMillis(d) }

// truncateTime is t as it is written.
func truncateTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// encode writes a record.
func encode(value any) []byte { return taskformat.Encode(value) }

// decode reads a record and checks all parts that the package relies on.
func decode[T record | assignment | ending | profile | limits | counts | uniqueKey | lastSlot](data []byte) (T, error) {
	var out T
	var err error
	switch into := any(&out).(type) {
	case *record:
		var r taskformat.Record
		r, err = taskformat.Decode[taskformat.Record](data)
		*into = record(r)
	case *assignment:
		var a taskformat.Assignment
		a, err = taskformat.Decode[taskformat.Assignment](data)
		*into = assignment{Format: a.Format, Task: record(a.Task), Version: a.Version, progress: a.Progress, kept: a.Kept}
	case *ending:
		*into, err = taskformat.Decode[ending](data)
	case *profile:
		*into, err = taskformat.Decode[profile](data)
	case *limits:
		*into, err = taskformat.Decode[limits](data)
	case *counts:
		*into, err = taskformat.Decode[counts](data)
	case *uniqueKey:
		*into, err = taskformat.Decode[uniqueKey](data)
	case *lastSlot:
		*into, err = taskformat.Decode[lastSlot](data)
	}
	return out, wrapRecordError(err)
}

// wrapRecordError is the error of a record that cannot be read; nil if err is nil. The
// record may be of a newer format, which is not garbage: see isNewer.
func wrapRecordError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrRecord, err)
}

// isNewer reports whether a record cannot be read since a newer version of this package
// has written it: it is left alone, whatever happens.
func isNewer(err error) bool {
	var newer *versioned.FormatError
	return errors.As(err, &newer)
}

// encodeResult writes a result.
func encodeResult(e ending, output []byte) []byte { return taskformat.EncodeResult(e, output) }

// decodeResult reads a result.
func decodeResult(data []byte) (ending, []byte, error) {
	e, output, err := taskformat.DecodeResult(data)
	return e, output, wrapRecordError(err)
}
