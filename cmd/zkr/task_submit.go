package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

const taskSubmitHelp = `Submits a task to QUEUE and shows its id. The payload is what stdin has, to its end, or
--data; up to 1,000,000 bytes. A task of the same --id is the same task, in whatever
state, and nothing is changed; if it has another payload zkr exits with 75, and so it
does if the queue is full.

With --wait zkr waits for the end of the task as "zkr task wait" does, and shows the
result instead of the id.
`

// taskSubmission is what "zkr task submit" is asked to do.
type taskSubmission struct {
	taskCommand
	spec     dispatch.Task
	data     string
	deadline string
	retries  int
	wait     bool
	waiting
}

// taskSubmit is "zkr task submit".
func (a *app) taskSubmit() *cobra.Command {
	t := &taskSubmission{taskCommand: taskCommand{app: a}}
	cmd := &cobra.Command{
		Use:   "submit QUEUE",
		Short: "Submit a task, and show its id; with --wait its result",
		Long:  taskSubmitHelp,
		Example: "  id=$(zkr task submit /queues/mail < letter)\n" +
			"  zkr task submit /queues/images --id cat-7 --label gpu --deadline 1h --wait < cat.jpg > cat.png\n" +
			"  zkr task submit /queues/report --data 2026-01 --delay 10m --retries 2 --retention 168h",
		Args: arguments("queue", "QUEUE"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := t.checkAll(cmd, args[0]); err != nil {
				return err
			}
			return t.submit(cmd.Context())
		}),
	}
	f, s := cmd.Flags(), &t.spec
	f.StringVar(&s.ID, "id", "", "`text` that tells the task from others, up to 512 bytes; default: a UUID")
	f.StringVar(&t.data, "data", "", "`text` that is the payload; default: what stdin has")
	f.IntVar(&s.Priority, "priority", 0, "the tasks with the highest go first, and of those the one that was submitted first")
	f.DurationVar(&s.Delay, "delay", 0, "how long the task waits at first")
	f.StringVar(&t.deadline, "deadline", "", "the `time` by which the task must have ended, or has failed: from now on, as 10m, or a date, as 2026-01-02T15:04:05Z")
	f.IntVar(&t.retries, "retries", 4, "how many attempts are made after the first one; one is over when it fails, and when its worker dies")
	f.DurationVar(&s.Backoff, "backoff", time.Second, "the wait after the first attempt that fails; it doubles with each, up to 5m")
	f.StringArrayVar(&s.Labels, "label", nil, "`text`, such as gpu or zone=a, that a worker must have; may be repeated: all of them")
	f.DurationVar(&s.Retention, "retention", 24*time.Hour, "how long the task is kept when it has ended, unless it is collected; a dead one stays")
	f.BoolVar(&t.wait, "wait", false, "wait for the end, and show the result")
	f.BoolVar(&s.Attached, "attached", false, "with --wait: the task is canceled when zkr ends before it, or loses its session")
	t.flags(cmd)
	return cmd
}

// checkAll checks what can be checked without a server, and reads the payload.
func (t *taskSubmission) checkAll(cmd *cobra.Command, queue string) error {
	if err := t.check(queue); err != nil {
		return err
	}
	f, s := cmd.Flags(), &t.spec
	if f.Changed("id") {
		if err := checkIDs("--id", s.ID); err != nil {
			return err
		}
	}
	if err := checkLabels(s.Labels); err != nil {
		return err
	}
	for _, flag := range []struct {
		name  string
		is    time.Duration
		least time.Duration
	}{{"delay", s.Delay, 0}, {"backoff", s.Backoff, time.Millisecond}, {"retention", s.Retention, time.Millisecond}} {
		if flag.is < flag.least {
			return usage("--%s is %v; it must be %v or more", flag.name, flag.is, flag.least)
		}
	}
	if t.retries < 0 {
		return usage("--retries is %d; it must be 0 (one attempt only) or more", t.retries)
	}
	s.MaxAttempts = t.retries + 1
	if !t.wait {
		for _, flag := range []string{"attached", "collect", "timeout"} {
			if f.Changed(flag) {
				return usage("--%s needs --wait", flag)
			}
		}
	}
	if err := checkTimeout(t.timeout); err != nil {
		return err
	}
	if err := t.readDeadline(); err != nil {
		return err
	}
	return t.readPayload(f.Changed("data"))
}

// readDeadline reads a time, or a time from now on.
func (t *taskSubmission) readDeadline() (err error) {
	if t.deadline == "" {
		return nil
	}
	if d, bad := time.ParseDuration(t.deadline); bad == nil {
		if d <= 0 {
			return usage("--deadline is %v; it must be above 0", d)
		}
		t.spec.Deadline = time.Now().Add(d)
		return nil
	}
	if t.spec.Deadline, err = time.Parse(time.RFC3339, t.deadline); err != nil {
		return usage("--deadline is %q; it must be like 10m, or like 2026-01-02T15:04:05Z", t.deadline)
	}
	return nil
}

func (t *taskSubmission) readPayload(given bool) (err error) {
	t.spec.Payload = []byte(t.data)
	if !given {
		if isTerminal(t.app.stdin) {
			t.app.note("reading the payload from stdin; Ctrl-D ends it")
		}
		if t.spec.Payload, err = io.ReadAll(io.LimitReader(t.app.stdin, maxPayload+1)); err != nil {
			return fmt.Errorf("cannot read stdin: %w", err)
		}
	}
	if len(t.spec.Payload) > maxPayload {
		return usage("the payload has more than %d bytes; put it elsewhere, and a reference to it into the task", maxPayload)
	}
	return nil
}

func (t *taskSubmission) submit(ctx context.Context) error {
	if t.spec.ID == "" {
		t.spec.ID = session.NewID() // known, whatever becomes of the answer
	}
	id := t.spec.ID
	if t.wait {
		return t.await(ctx, &t.taskCommand, id, func(ctx context.Context, q *dispatch.Queue) error {
			_, err := q.Submit(ctx, t.spec)
			return err
		})
	}
	if err := t.app.visit(ctx, t.on(id, func(ctx context.Context, q *dispatch.Queue) error {
		_, err := q.Submit(ctx, t.spec)
		return err
	})); err != nil {
		return err
	}
	if t.app.json() {
		return t.app.line(struct {
			Queue string `json:"queue"`
			ID    string `json:"id"`
		}{t.path, id})
	}
	return t.app.printf("%s\n", id)
}
