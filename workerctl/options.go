package workerctl

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/session"
)

// Defaults of [Options]; the first two are Twister2's.
const (
	defaultWait      = 100 * time.Second
	defaultAbandoned = 10 * time.Minute
)

// Options are what all who have to do with a job should agree on; nil and the
// zero value mean all defaults.
type Options struct {
	// Root is the path that all jobs are below; default: "/twister2", as in the
	// project whose worker controller this replaces (docs/workerctl.md).
	Root string
	// JoinWait bounds Job.WaitAll; default: 100 s. Negative: only the context
	// does.
	JoinWait time.Duration
	// BarrierWait bounds Worker.Barrier and Worker.Phase; default: 100 s.
	// Negative: only the context does.
	BarrierWait time.Duration
	// Abandoned is how long no worker of a job may live before it counts as
	// abandoned, so that a [Janitor], or the next one to submit a job of its
	// name, removes it; default: 10 minutes. The time is the servers', and
	// begins when a janitor, or somebody who submits, first looks.
	Abandoned time.Duration
	// ACL of the znodes; default: the client's. All who have to do with a job
	// must be allowed everything.
	ACL []session.ACL
}

// OptionsFromEnv reads Options from environment variables, of which getenv
// (os.Getenv as a rule) tells the values: ZKR_JOB_ROOT, and, as Go writes
// durations ("100s"), ZKR_JOB_JOIN_WAIT, ZKR_JOB_BARRIER_WAIT and
// ZKR_JOB_ABANDONED. One that is empty means the default. The error wraps
// ErrArgument and names the variable. Where the servers are is the business of
// whoever connects.
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
			return nil, fmt.Errorf("workerctl: %w: %s is %q; it must be a duration such as 100s", ErrArgument, name, text)
		}
		*field = d
	}
	return o, nil
}

// withDefaults checks o and fills in what it leaves open.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.ACL = slices.Clone(out.ACL) // the caller may change it
	if out.Root == "" {
		out.Root = defaultRoot
	}
	if out.JoinWait == 0 {
		out.JoinWait = defaultWait
	}
	if out.BarrierWait == 0 {
		out.BarrierWait = defaultWait
	}
	if out.Abandoned == 0 {
		out.Abandoned = defaultAbandoned
	}
	if out.Abandoned < 0 {
		return out, fmt.Errorf("%w: Abandoned is %v; it must be 0 or more", ErrArgument, out.Abandoned)
	}
	return out, validateRoot(out.Root)
}

// create are the options of what is created.
func (o Options) create() *session.CreateOptions { return &session.CreateOptions{ACL: o.ACL} }

// text checks something that is stored as JSON, which would change what is no
// UTF-8.
func text(field, value string) error {
	if !utf8.ValidString(value) {
		return fmt.Errorf("%w: %s is %q; it must be valid UTF-8", ErrArgument, field, value)
	}
	return nil
}

// texts is text for keys and values.
func texts(field string, values map[string]string) error {
	for k, v := range values {
		if err := text(field, k); err != nil {
			return err
		}
		if err := text(field, v); err != nil {
			return err
		}
	}
	return nil
}
