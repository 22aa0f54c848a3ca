package workerctl

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	// ErrArgument: an argument is none; nothing was sent.
	ErrArgument = errors.New("invalid argument")
	// ErrRunning: a job of this name is running.
	ErrRunning = errors.New("the job is running")
	// ErrNoJob: there is no job of this name.
	ErrNoJob = errors.New("no such job")
	// ErrOver: the job is finished, or was killed or given up.
	ErrOver = errors.New("the job is over")
	// ErrFull: all ids of the job are given to others. Nothing was changed.
	ErrFull = errors.New("the job has all its workers")
	// ErrNotRemoved: what was asked for is done, but the job, which is over,
	// could not be removed completely. A [Janitor], [Job.Remove], or whoever
	// submits a job of the name does that.
	ErrNotRemoved = errors.New("the job was not removed completely")
	// ErrRecord: a znode's data is not what this package writes. It was left
	// alone.
	ErrRecord = errors.New("not a record of this package")
)

// MissingError says who has not come in time to where the others wait.
type MissingError struct {
	// IDs of the workers that were missing, in order.
	IDs []int
	// Workers is how many the job has.
	Workers int
	// Reason is why the waiting ended: an error that wraps
	// context.DeadlineExceeded as a rule.
	Reason error
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%d of %d workers are missing (%s): %v", len(e.IDs), e.Workers, ranges(e.IDs), e.Reason)
}

// Unwrap returns the reason.
func (e *MissingError) Unwrap() error { return e.Reason }

// InUseError says which workers must leave before a job can have fewer.
type InUseError struct {
	// IDs of workers that have joined and not left, whether they live or not.
	IDs []int
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("these workers must leave before: %s", ranges(e.IDs))
}

// ranges writes ids, which are in order, as "0-3, 7".
func ranges(ids []int) string {
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

// failure names operation and path. A context's error is there for errors.Is
// beside its cause.
func failure(ctx context.Context, op, path string, err error) error {
	if e := ctx.Err(); e != nil && !errors.Is(err, e) {
		return fmt.Errorf("workerctl: %s %s: %w: %w", op, path, e, err)
	}
	return fmt.Errorf("workerctl: %s %s: %w", op, path, err)
}
