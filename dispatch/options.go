package dispatch

import (
	"fmt"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// Defaults of [Options], [WorkerOptions] and [Task].
const (
	defaultMaxTasks  = 100_000
	defaultRetention = 24 * time.Hour
	// defaultDeadRetention also holds for tasks of former versions.
	defaultDeadRetention = 30 * 24 * time.Hour
	defaultMaxAttempts   = 5
	defaultBackoff       = time.Second
	defaultConcurrency   = 8
)

// Bounds of the parts of a task that are stored.
const (
	maxID     = 512
	maxLabels = 32
	maxLabel  = 64
	// maxPlaces is the most that Concurrency and Prefetch can be.
	maxPlaces = taskformat.MaxPlaces
	// maxPayload leaves room in a request for the task beside its payload.
	maxPayload = 1_000_000
)

// Options should be the same for all clients and masters of a queue; nil and the
// zero value mean all defaults.
type Options struct {
	// MaxTasks bounds the number of unfinished tasks in the queue; default: the
	// number that the queue was made with, or 100,000. As many finished tasks are
	// kept with their results; beyond that number the tasks that ended first are
	// removed, dead tasks last. A master with another number changes the queue's
	// number.
	MaxTasks int
	// WaitForRoom makes Submit wait, within its context, while the queue accepts
	// no tasks. Default: Submit returns ErrFull.
	WaitForRoom bool
	// ID describes a master to other clients; default: host name, colon, process id.
	ID string
	// ACL of the znodes; default: the client's. All roles must be allowed
	// everything.
	ACL []session.ACL
}

// WorkerOptions describe a worker; nil and the zero value mean all defaults.
type WorkerOptions struct {
	// Name describes the worker to other clients; several workers may have the
	// same name. Default: host name, colon, process id.
	Name string
	// Concurrency is the number of handlers that run at once, up to 1,048,576;
	// default: 8.
	Concurrency int
	// Prefetch is the number of additional tasks for the worker, so that the next
	// task is present when a task ends. If the worker dies, the attempts of
	// prefetched tasks do not count. Tasks that have not begun are given back
	// when another worker has nothing to do. Default: equal to Concurrency.
	// Negative: none.
	Prefetch int
	// Grace is the time for which handlers may continue after the context of
	// Worker.Run has ended; then their contexts end. Default: 0.
	Grace time.Duration
	// Labels of the worker: it is given tasks whose labels are all among these.
	Labels []string
	// Middleware wraps the handler with what every attempt needs, such as a trace, a
	// time limit or metrics. The first element is the outermost. NewWorker calls each
	// element once, with the next handler; the returned handler runs around every
	// attempt, and may change the context, the payload, the output and the error. See
	// [Handler] for panics.
	Middleware []func(next Handler) Handler
	// ACL of the znodes; default: the client's.
	ACL []session.ACL
}

// Task is a task that a client submits. The package never reads the payload.
type Task struct {
	// ID of the task, up to 512 bytes of UTF-8; default: a UUID. A task that was
	// submitted under the same ID is the same task: submitting it again does
	// nothing.
	ID string
	// Payload is the input of the handler; up to 1,000,000 bytes.
	Payload []byte
	// Priority of the task: of the tasks that a worker could take, a task of the
	// highest priority goes first, and among these the task that was submitted
	// first.
	Priority int
	// Labels that a worker must have to be given the task, all of them.
	Labels []string
	// Delay is the wait before the first attempt.
	Delay time.Duration
	// Deadline is the time at which an unfinished task fails; the handler's
	// context ends then. It is measured by the servers' clock. Zero: none.
	Deadline time.Time
	// DeadlineAfter sets the Deadline to this time after the submission, by the
	// servers' clock, whatever the client's clock says. Zero: as Deadline says.
	// Only one of the two can be set.
	DeadlineAfter time.Duration
	// MaxAttempts bounds the number of attempts; default: 5. An attempt counts
	// when its handler fails, and when its worker dies after the handler began.
	MaxAttempts int
	// Backoff is the wait after the first failed attempt; the wait doubles with
	// each further failure, up to five minutes. Default: 1 s. The wait after the
	// death of a worker is the same.
	Backoff time.Duration
	// Retention is the time for which the finished task is kept, with its result,
	// unless it is collected; default: 24 hours.
	Retention time.Duration
	// DeadRetention is the Retention of a dead task; default: 30 days.
	DeadRetention time.Duration
	// Attached tasks go with the session of the client: if the session ends
	// before the task is finished, the task is canceled. Default: false.
	Attached bool
}

func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.ACL = slices.Clone(out.ACL) // the caller may change it
	if out.MaxTasks < 0 {
		return out, fmt.Errorf("%w: MaxTasks is %d; it must be 0 or more", ErrInvalidArgument, out.MaxTasks)
	}
	if out.ID == "" {
		out.ID = processID()
	}
	return out, checkText("ID", out.ID)
}

func (o *WorkerOptions) withDefaults() (WorkerOptions, error) {
	var out WorkerOptions
	if o != nil {
		out = *o
	}
	out.ACL = slices.Clone(out.ACL) // the caller may change it
	if out.Name == "" {
		out.Name = processID()
	}
	if out.Concurrency == 0 {
		out.Concurrency = defaultConcurrency
	}
	switch {
	case out.Concurrency < 0 || out.Concurrency > maxPlaces:
		return out, fmt.Errorf("%w: Concurrency is %d; it must be 0 to %d", ErrInvalidArgument, out.Concurrency, maxPlaces)
	case out.Prefetch > maxPlaces:
		return out, fmt.Errorf("%w: Prefetch is %d; it must be at most %d", ErrInvalidArgument, out.Prefetch, maxPlaces)
	case out.Grace < 0:
		return out, fmt.Errorf("%w: Grace is %v; it must be 0 or more", ErrInvalidArgument, out.Grace)
	case out.Prefetch == 0:
		out.Prefetch = out.Concurrency
	case out.Prefetch < 0:
		out.Prefetch = 0
	}
	var err error
	if out.Labels, err = sortLabels(out.Labels); err != nil {
		return out, err
	}
	return out, checkText("Name", out.Name)
}

// newRecord is the task's record, as it is submitted now.
func (t Task) newRecord(now time.Time) (record, error) {
	r := record{
		Format: format, ID: t.ID, Run: uniqueName(""), State: waiting, Attempt: 1,
		MaxAttempts: t.MaxAttempts, Priority: t.Priority, Hash: payloadHash(t.Payload),
		Deadline: truncateTime(t.Deadline), Backoff: toMillis(t.Backoff), Retention: toMillis(t.Retention),
	}
	if r.ID == "" {
		r.ID = session.NewID()
	}
	if r.MaxAttempts == 0 {
		r.MaxAttempts = defaultMaxAttempts
	}
	if t.Backoff == 0 {
		r.Backoff = toMillis(defaultBackoff)
	}
	if t.Retention == 0 {
		r.Retention = toMillis(defaultRetention)
	}
	r.DeadRetention = toMillis(t.DeadRetention)
	if t.DeadlineAfter > 0 {
		r.DeadlineAfter = toMillis(max(t.DeadlineAfter, time.Millisecond)) // 0 would mean none
	}
	r.Delay = toMillis(t.Delay)
	r = r.submittedAt(now)
	if err := t.checkTask(); err != nil {
		return r, err
	}
	var err error
	r.Labels, err = sortLabels(t.Labels)
	return r, err
}

// checkTask returns an error for an invalid task.
func (t Task) checkTask() error {
	for _, n := range []struct {
		field string
		is    time.Duration
	}{{"DeadlineAfter", t.DeadlineAfter}, {"Delay", t.Delay}, {"Backoff", t.Backoff}, {"Retention", t.Retention}, {"DeadRetention", t.DeadRetention}} {
		if n.is < 0 {
			return fmt.Errorf("%w: %s is %v; it must be 0 or more", ErrInvalidArgument, n.field, n.is)
		}
	}
	year := truncateTime(t.Deadline).Year()
	switch {
	case year < 0 || year > 9999: // JSON has no others
		return fmt.Errorf("%w: Deadline is in the year %d; it must be 0 to 9999", ErrInvalidArgument, year)
	case t.DeadlineAfter > 0 && !t.Deadline.IsZero():
		return fmt.Errorf("%w: Deadline and DeadlineAfter are set; only one can be", ErrInvalidArgument)
	case t.MaxAttempts < 0:
		return fmt.Errorf("%w: MaxAttempts is %d; it must be 0 or more", ErrInvalidArgument, t.MaxAttempts)
	case len(t.ID) > maxID:
		return fmt.Errorf("%w: ID has %d bytes; at most %d", ErrInvalidArgument, len(t.ID), maxID)
	case len(t.Payload) > maxPayload:
		return fmt.Errorf("%w: Payload has %d bytes; at most %d: %w", ErrInvalidArgument, len(t.Payload), maxPayload, session.ErrTooLarge)
	}
	return checkText("ID", t.ID)
}

// sortLabels checks labels, and sorts them without repetitions.
func sortLabels(list []string) ([]string, error) {
	if len(list) > maxLabels {
		return nil, fmt.Errorf("%w: Labels are %d; at most %d", ErrInvalidArgument, len(list), maxLabels)
	}
	for _, l := range list {
		if l == "" || len(l) > maxLabel || !utf8.ValidString(l) {
			return nil, fmt.Errorf("%w: Labels has %.80q; it must be 1 to %d bytes of UTF-8", ErrInvalidArgument, l, maxLabel)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(list))), nil
}

// checkID checks the id of a task that is asked for.
func checkID(id string) error {
	if id == "" || len(id) > maxID {
		return fmt.Errorf("%w: id has %d bytes; it must have 1 to %d", ErrInvalidArgument, len(id), maxID)
	}
	return checkText("id", id)
}

// checkText checks a text that is stored as JSON: JSON would change invalid UTF-8.
func checkText(field, value string) error {
	if !utf8.ValidString(value) {
		return fmt.Errorf("%w: %s is %q; it must be valid UTF-8", ErrInvalidArgument, field, value)
	}
	return nil
}

// validatePath checks the queue's path.
func validatePath(path string) error {
	if err := session.ValidatePath(path); err != nil || path == "/" {
		return fmt.Errorf("%w: path is %q; it must be a path below /", ErrInvalidArgument, path)
	}
	return nil
}

// processID is the default name of a process: host name, colon, process id.
func processID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
