package workerctl

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// Defaults of [Options]; the first two are Twister2's.
const (
	defaultWait      = 100 * time.Second
	defaultAbandoned = 10 * time.Minute
	defaultRetention = 24 * time.Hour
)

// Options should be the same for all clients of a job; nil and the zero value
// mean all defaults.
type Options struct {
	// Root is the path above all jobs; default: "/twister2", as in the project
	// whose worker controller this package replaces (docs/workerctl.md).
	Root string
	// JoinWait bounds Job.WaitAll; default: 100 s. Negative: only the context
	// bounds it.
	JoinWait time.Duration
	// BarrierWait bounds Worker.Barrier and Worker.Phase; default: 100 s.
	// Negative: only the context bounds them.
	BarrierWait time.Duration
	// FailFast ends a wait of Job.WaitAll, Job.Wait, Worker.Barrier and
	// Worker.Phase as soon as a worker of the job is known to have died or
	// failed, and has not come back: the error is a MissingError that does not
	// wrap context.DeadlineExceeded. Each waiting process then lists the running
	// workers once, gets an event for each change of them, and reads the record of
	// each worker that goes. Default: the wait continues, because the worker may
	// come back.
	FailFast bool
	// Abandoned is the time without a live worker after which a job counts as
	// abandoned, and a [Janitor], or the next submission of a job of its name,
	// removes it; default: 10 minutes. The servers' clock measures the time, from
	// the first check by a janitor or a submitting client on.
	Abandoned time.Duration
	// Retention is the time for which the outcome of a removed job is kept
	// (Job.Info, Job.Wait, Janitor.Ended); default: 24 hours. Negative: no time.
	// Older records are deleted when other jobs end, and by janitors.
	Retention time.Duration
	// ACL of the znodes; default: the client's. All clients of a job must be
	// allowed everything.
	ACL []session.ACL
}

// OptionsFromEnv reads Options from environment variables, through getenv
// (usually os.Getenv): ZKR_JOB_ROOT, and, in Go's form of durations ("100s"),
// ZKR_JOB_JOIN_WAIT, ZKR_JOB_BARRIER_WAIT and ZKR_JOB_ABANDONED. An empty
// variable means the default. The error wraps ErrInvalidArgument and names the variable.
// The servers' addresses are not read.
func OptionsFromEnv(getenv func(name string) string) (*Options, error) {
	o := &Options{Root: getenv("ZKR_JOB_ROOT")}
	if o.Root != "" {
		if err := validateRoot(o.Root); err != nil {
			return nil, fmt.Errorf("workerctl: ZKR_JOB_ROOT: %w", err)
		}
	}
	for name, field := range map[string]*time.Duration{
		"ZKR_JOB_JOIN_WAIT": &o.JoinWait, "ZKR_JOB_BARRIER_WAIT": &o.BarrierWait, "ZKR_JOB_ABANDONED": &o.Abandoned,
	} {
		text := getenv(name)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d == 0 || d < 0 && field == &o.Abandoned {
			return nil, fmt.Errorf("workerctl: %w: %s is %q; it must be a duration such as 100s", ErrInvalidArgument, name, text)
		}
		*field = d
	}
	return o, nil
}

// withDefaults checks o and fills in defaults.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.ACL = slices.Clone(out.ACL) // the caller may change its slice
	if out.Root == "" {
		out.Root = jobformat.DefaultRoot
	}
	if out.JoinWait == 0 {
		out.JoinWait = defaultWait
	}
	if out.BarrierWait == 0 {
		out.BarrierWait = defaultWait
	}
	if out.Retention == 0 {
		out.Retention = defaultRetention
	}
	if out.Abandoned == 0 {
		out.Abandoned = defaultAbandoned
	}
	if out.Abandoned < 0 {
		return out, fmt.Errorf("%w: Abandoned is %v; it must be 0 or more", ErrInvalidArgument, out.Abandoned)
	}
	return out, validateRoot(out.Root)
}

// createOptions are the options for created znodes.
func (o Options) createOptions() *session.CreateOptions { return &session.CreateOptions{ACL: o.ACL} }

// checkText checks a value for storage as JSON, which would change invalid UTF-8.
func checkText(field, value string) error {
	if !utf8.ValidString(value) {
		return fmt.Errorf("%w: %s is %q; it must be valid UTF-8", ErrInvalidArgument, field, value)
	}
	return nil
}

// checkTexts is checkText for keys and values.
func checkTexts(field string, values map[string]string) error {
	for k, v := range values {
		if err := checkText(field, k); err != nil {
			return err
		}
		if err := checkText(field, v); err != nil {
			return err
		}
	}
	return nil
}
