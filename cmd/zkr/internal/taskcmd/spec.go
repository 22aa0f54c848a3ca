package taskcmd

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

// taskSpec has the arguments that describe a task.
type taskSpec struct {
	spec     dispatch.Task
	data     string
	deadline string
	retries  int
}

// specFlags adds the flags, all but --deadline.
func (t *taskSpec) specFlags(f *pflag.FlagSet) {
	s := &t.spec
	f.StringVar(&t.data, "data", "", "`text` of the payload; default: read from stdin")
	f.IntVar(&s.Priority, "priority", 0, "tasks with a higher priority go first; of equal priority, tasks that were submitted earlier")
	f.DurationVar(&s.Delay, "delay", 0, "how long the task waits before its first attempt")
	f.IntVar(&t.retries, "retries", 4, "how many more attempts are made after the first; an attempt ends when it fails or its worker dies")
	f.DurationVar(&s.Backoff, "backoff", time.Second, "wait after the first failed attempt, which doubles with each further failure, up to 5m")
	f.StringArrayVar(&s.Labels, "label", nil, "`text`, such as gpu or zone=a, that a worker must have; may be repeated: all of them")
	f.DurationVar(&s.Retention, "retention", 24*time.Hour, "how long the task is kept when it has ended, unless it is collected")
	f.DurationVar(&s.DeadRetention, "dead-retention", 30*24*time.Hour, "how long a dead task is kept, unless it is collected")
}

// checkSpec checks the flags.
func (t *taskSpec) checkSpec() error {
	s := &t.spec
	if err := checkLabels(s.Labels); err != nil {
		return err
	}
	for _, flag := range []struct {
		name  string
		is    time.Duration
		least time.Duration
	}{{"delay", s.Delay, 0}, {"backoff", s.Backoff, time.Millisecond}, {"retention", s.Retention, time.Millisecond}, {"dead-retention", s.DeadRetention, time.Millisecond}} {
		if flag.is < flag.least {
			return exit.Usage("--%s is %v; it must be %v or more", flag.name, flag.is, flag.least)
		}
	}
	if t.retries < 0 {
		return exit.Usage("--retries is %d; it must be 0 (one attempt only) or more", t.retries)
	}
	s.MaxAttempts = t.retries + 1
	return nil
}

// readPayload reads the payload from stdin, unless it was given.
func (t *taskSpec) readPayload(a *app, given bool) (err error) {
	t.spec.Payload = []byte(t.data)
	if !given {
		if cli.IsTerminal(a.Stdin) {
			a.Note("reading the payload from stdin; Ctrl-D ends it")
		}
		if t.spec.Payload, err = io.ReadAll(io.LimitReader(a.Stdin, MaxPayload+1)); err != nil {
			return fmt.Errorf("cannot read stdin: %w", err)
		}
	}
	if len(t.spec.Payload) > MaxPayload {
		return exit.Usage("the payload has more than %d bytes; store it elsewhere, and submit a reference to it", MaxPayload)
	}
	return nil
}
