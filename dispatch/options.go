package dispatch

import (
	"fmt"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/session"
)

// Defaults of [Options], [WorkerOptions] and [Task].
const (
	defaultMaxTasks    = 100_000
	defaultRetention   = 24 * time.Hour
	defaultMaxAttempts = 5
	defaultBackoff     = time.Second
	defaultConcurrency = 8
)

// Bounds of what is stored with each task.
const (
	maxID     = 512
	maxLabels = 32
	maxLabel  = 64
	// maxPlaces is the most that Concurrency and Prefetch can be.
	maxPlaces = 1 << 20
	// maxPayload leaves room in a request for the task beside its payload.
	maxPayload = 1_000_000
)

// Options are what clients and masters of a queue should agree on; nil and the
// zero value mean all defaults.
type Options struct {
	// MaxTasks is how many tasks the queue holds, those included that are
	// finished and that nobody has collected yet; default: what the queue was
	// made with, or 100,000. A master that is told another number changes it.
	MaxTasks int
	// ID says to others who a master is; default: host name, colon, process id.
	ID string
	// ACL of the znodes; default: the client's. All roles must be allowed
	// everything.
	ACL []session.ACL
}

// WorkerOptions are what a worker says of itself; nil and the zero value mean all
// defaults.
type WorkerOptions struct {
	// Name says to others who the worker is; several may have the same. Default:
	// host name, colon, process id.
	Name string
	// Concurrency is how many handlers run at once, up to 1,048,576; default: 8.
	Concurrency int
	// Prefetch is how many tasks more the worker is given, so that the next is
	// there when one ends; if the worker dies, their attempts count. Default:
	// as many as Concurrency. Negative: none.
	Prefetch int
	// Labels that the worker has: it is given tasks that ask for none but these.
	Labels []string
	// ACL of the znodes; default: the client's.
	ACL []session.ACL
}

// Task is what a client submits. Only the payload is never looked at.
type Task struct {
	// ID of the task, up to 512 bytes of UTF-8; default: a UUID. A task that
	// was submitted under the same ID is the same task: submitting it again
	// does nothing.
	ID string
	// Payload is what the handler gets; up to 1,000,000 bytes.
	Payload []byte
	// Priority: of the tasks that a worker could take, one with the highest is
	// given to it, and among these the one that was submitted first.
	Priority int
	// Labels that a worker must have to be given the task, all of them.
	Labels []string
	// Delay is how long the task waits at first.
	Delay time.Duration
	// Deadline is when the task has failed unless it is finished: the
	// handler's context ends then. Zero: none.
	Deadline time.Time
	// MaxAttempts is how many attempts are made; default: 5. An attempt counts
	// when its handler fails, and when its worker dies.
	MaxAttempts int
	// Backoff is the wait after the first attempt that fails; it doubles with
	// each, up to five minutes. Default: 1 s. After the death of a worker there
	// is none.
	Backoff time.Duration
	// Retention is how long the finished task is kept, with its result, unless
	// it is collected; default: 24 hours. A dead task stays until it is
	// collected.
	Retention time.Duration
	// Attached tasks go with the session of the client: if it ends before the
	// task is finished, the task is canceled. Default: they do not.
	Attached bool
}

func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.ACL = slices.Clone(out.ACL) // the caller may change it
	if out.MaxTasks < 0 {
		return out, fmt.Errorf("%w: MaxTasks is %d; it must be 0 or more", ErrArgument, out.MaxTasks)
	}
	if out.ID == "" {
		out.ID = processID()
	}
	return out, text("ID", out.ID)
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
		return out, fmt.Errorf("%w: Concurrency is %d; it must be 0 to %d", ErrArgument, out.Concurrency, maxPlaces)
	case out.Prefetch > maxPlaces:
		return out, fmt.Errorf("%w: Prefetch is %d; it must be at most %d", ErrArgument, out.Prefetch, maxPlaces)
	case out.Prefetch == 0:
		out.Prefetch = out.Concurrency
	case out.Prefetch < 0:
		out.Prefetch = 0
	}
	var err error
	if out.Labels, err = labels(out.Labels); err != nil {
		return out, err
	}
	return out, text("Name", out.Name)
}

// record is the task's record, as it is submitted now.
func (t Task) record(now time.Time) (record, error) {
	r := record{
		Format: format, ID: t.ID, Run: uniqueName(""), State: waiting, Attempt: 1,
		MaxAttempts: t.MaxAttempts, Priority: t.Priority, Hash: digest(t.Payload), Submitted: clock(now),
		Deadline: clock(t.Deadline), Backoff: toMillis(t.Backoff), Retention: toMillis(t.Retention),
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
	if t.Delay > 0 {
		r.NotBefore = clock(now.Add(t.Delay))
	}
	if err := t.check(); err != nil {
		return r, err
	}
	var err error
	r.Labels, err = labels(t.Labels)
	return r, err
}

// check says what is wrong with a task.
func (t Task) check() error {
	for _, n := range []struct {
		field string
		is    time.Duration
	}{{"Delay", t.Delay}, {"Backoff", t.Backoff}, {"Retention", t.Retention}} {
		if n.is < 0 {
			return fmt.Errorf("%w: %s is %v; it must be 0 or more", ErrArgument, n.field, n.is)
		}
	}
	year := clock(t.Deadline).Year()
	switch {
	case year < 0 || year > 9999: // JSON has no others
		return fmt.Errorf("%w: Deadline is in the year %d; it must be 0 to 9999", ErrArgument, year)
	case t.MaxAttempts < 0:
		return fmt.Errorf("%w: MaxAttempts is %d; it must be 0 or more", ErrArgument, t.MaxAttempts)
	case len(t.ID) > maxID:
		return fmt.Errorf("%w: ID has %d bytes; at most %d", ErrArgument, len(t.ID), maxID)
	case len(t.Payload) > maxPayload:
		return fmt.Errorf("%w: Payload has %d bytes; at most %d: %w", ErrArgument, len(t.Payload), maxPayload, session.ErrTooLarge)
	}
	return text("ID", t.ID)
}

// labels checks labels, and makes one list of all that mean the same.
func labels(list []string) ([]string, error) {
	if len(list) > maxLabels {
		return nil, fmt.Errorf("%w: Labels are %d; at most %d", ErrArgument, len(list), maxLabels)
	}
	for _, l := range list {
		if l == "" || len(l) > maxLabel || !utf8.ValidString(l) {
			return nil, fmt.Errorf("%w: Labels has %.80q; it must be 1 to %d bytes of UTF-8", ErrArgument, l, maxLabel)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(list))), nil
}

// checkID checks the id of a task that is asked for.
func checkID(id string) error {
	if id == "" || len(id) > maxID {
		return fmt.Errorf("%w: id has %d bytes; it must have 1 to %d", ErrArgument, len(id), maxID)
	}
	return text("id", id)
}

// text checks something that is stored as JSON, which would change what is no
// UTF-8.
func text(field, value string) error {
	if !utf8.ValidString(value) {
		return fmt.Errorf("%w: %s is %q; it must be valid UTF-8", ErrArgument, field, value)
	}
	return nil
}

// validatePath checks the queue's path.
func validatePath(path string) error {
	if err := session.ValidatePath(path); err != nil || path == "/" {
		return fmt.Errorf("%w: path is %q; it must be a path below /", ErrArgument, path)
	}
	return nil
}

// processID is what a process calls itself: host name, colon, process id.
func processID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
