package workerctl

import (
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
)

// State is the state of a job or a worker. A job is "submitted" (no worker has joined
// yet), "running", "finished" (all its workers have left), "failed" (all have left, some
// of them by Worker.Fail), "killed" or "abandoned". A worker is "running", "left" (it has
// finished its part), "failed" (it has left by Worker.Fail) or "dead" (it has died, and
// may come back).
type State string

// The states; [State] describes them.
const (
	submitted = jobformat.Submitted
	running   = jobformat.Running
	finished  = jobformat.Finished
	killed    = jobformat.Killed
	abandoned = jobformat.Abandoned
	left      = jobformat.Left
	failed    = jobformat.Failed
	dead      = jobformat.Dead
)

// Over reports whether a job is finished, failed, killed or abandoned: no
// worker can join any more.
func (s State) Over() bool { return jobformat.State(s).Over() }

// isComplete is true for a job all of whose workers have left.
func (s State) isComplete() bool { return jobformat.State(s).Complete() }

// hasLeft is true for a worker that has left, with a failure or not.
func (s State) hasLeft() bool { return s == left || s == failed }

// The records, whose format package jobformat has.
type (
	job    = jobformat.Job
	member = jobformat.Member
	ending = jobformat.Ending
	// status is a type of its own, for the transitions.
	status jobformat.Status
)

// MarshalJSON writes a status, with its format and the unknown fields.
func (s status) MarshalJSON() ([]byte, error) { return jobformat.Status(s).MarshalJSON() }

// encode writes a record.
func encode(record any) []byte { return jobformat.Encode(record) }

// recordError is the error of an unreadable record; nil if err is nil.
func recordError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrRecord, err)
}

// spoiledError is err, the error of a record of a job on path, with the way out; nil if err
// is nil. A record of a newer format is not spoiled: a newer version can read it.
func spoiledError(path string, err error) error {
	var newer *versioned.FormatError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &newer):
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s: %w; Job.Kill (\"zkr job kill\") ends the job", path, err)
}

// checkFormat refuses a record of a newer format, regardless of its other
// content.
func checkFormat(data []byte) error { return recordError(jobformat.CheckFormat(data)) }

// decodeStatus reads the data of a run's state node.
func decodeStatus(data []byte) (status, error) {
	s, err := jobformat.Decode[jobformat.Status](data)
	return status(s), recordError(err)
}

// decodeEnding reads the record of a job's outcome.
func decodeEnding(data []byte) (ending, error) {
	e, err := jobformat.Decode[ending](data)
	return e, recordError(err)
}

// memberOf reads a member's record; name is the name of its node.
func memberOf(name string, data []byte) (member, error) {
	m, err := jobformat.MemberOf(name, data)
	return m, recordError(err)
}

// jobOf reads a job's record; name is the name of its node.
func jobOf(name string, data []byte) (job, error) {
	j, err := jobformat.JobOf(name, data)
	return j, recordError(err)
}

// parseID reads an id in the form of names and data.
func parseID(text string) (int, error) {
	id, err := jobformat.ParseID(text)
	return id, recordError(err)
}
