package workerctl

import (
	"context"
	"errors"
	"fmt"
	"github.com/zkrecipes/zkrecipes/session"
	"strconv"
	"strings"
)

var (
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
	// ErrRunning: a job of this name is running.
	ErrRunning = errors.New("the job is running")
	// ErrNoJob: there is no job of this name.
	ErrNoJob = errors.New("no such job")
	// ErrOver: the job is finished, or was killed or given up.
	ErrOver = errors.New("the job is over")
	// ErrFull: all ids of the job are given to others. Nothing was changed.
	ErrFull = errors.New("the job has all its workers")
	// ErrNotRemoved: the call has succeeded and the job is over, but the job could
	// not be removed completely. A [Janitor], [Job.Remove], or the next submission
	// of a job of the name removes the rest.
	ErrNotRemoved = errors.New("the job was not removed completely")
	// ErrRecord: a znode's data is not a record of this package, or a znode of a
	// running job was deleted. The job was left alone.
	ErrRecord = errors.New("not a record of this package")
)

// MissingError names the workers that did not come in time to the place where
// the other workers wait.
type MissingError struct {
	// IDs of the missing workers, in order.
	IDs []int
	// Dead are those of IDs whose workers have died and not come back; Failed
	// those that left by [Worker.Fail]; Left those that left by [Worker.Leave].
	// The other IDs run, or were not given out yet. If the servers did not
	// answer in time, all three are empty.
	Dead, Failed, Left []int
	// Failures has, by id, the reasons of the workers in Failed; see
	// [Member.Failure].
	Failures map[int]string
	// Workers is how many the job has.
	Workers int
	// Reason is the reason for the end of the wait. Usually Reason wraps
	// context.DeadlineExceeded. Otherwise, with Options.FailFast, workers of IDs
	// have died or failed.
	Reason error
}

func (e *MissingError) Error() string {
	missing := formatRanges(e.IDs)
	for _, part := range []struct {
		what string
		ids  []int
	}{{"dead", e.Dead}, {"failed", e.Failed}, {"left", e.Left}} {
		if len(part.ids) > 0 {
			missing += "; " + part.what + ": " + formatRanges(part.ids)
		}
	}
	if len(e.Failed) > 0 { // one reason, possibly of thousands
		missing += fmt.Sprintf("; %d failed: %q", e.Failed[0], e.Failures[e.Failed[0]])
	}
	return fmt.Sprintf("%d of %d workers are missing (%s): %v", len(e.IDs), e.Workers, missing, e.Reason)
}

// Unwrap returns the reason.
func (e *MissingError) Unwrap() error { return e.Reason }

// errFaulty is the reason why a wait with Options.FailFast ends.
var errFaulty = errors.New("a worker has died or failed")

// InUseError names the workers that must leave before the job can have fewer
// workers.
type InUseError struct {
	// IDs of workers that have joined and not left, alive or not.
	IDs []int
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("these workers must leave before: %s", formatRanges(e.IDs))
}

// formatRanges formats ids, which must be sorted, as "0-3, 7".
func formatRanges(ids []int) string {
	var out []string
	for i := 0; i < len(ids); {
		end := i
		for end+1 < len(ids) && ids[end+1] == ids[end]+1 {
			end++
		}
		text := strconv.Itoa(ids[i])
		if end > i {
			text += "-" + strconv.Itoa(ids[end])
		}
		out, i = append(out, text), end+1
	}
	return strings.Join(out, ", ")
}

// wrapError names operation and path. A context's error is there for errors.Is
// beside its cause.
func wrapError(ctx context.Context, op, path string, err error) error {
	if path != "" { // a zero value has none
		op += " " + path
	}
	if ctx != nil {
		if e := ctx.Err(); e != nil && !errors.Is(err, e) {
			return fmt.Errorf("workerctl: %s: %w: %w", op, e, err)
		}
	}
	return fmt.Errorf("workerctl: %s: %w", op, err)
}
