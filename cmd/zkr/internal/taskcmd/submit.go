package taskcmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

const taskSubmitHelp = `Submits a task to QUEUE and shows the task's id. The payload is stdin up to its end,
or --data; up to 1,000,000 bytes. If a task with the same --id exists, in any state,
zkr changes nothing; if that task has another payload, zkr exits with 75. zkr also
exits with 75 if the queue is full; with --wait-for-room zkr waits instead, up to
--timeout, until the queue accepts tasks again.

With --unique KEY zkr submits no task while the key is taken, and shows the id of the
task that has it, with a note. A task has its key until the task ends. With --every
PERIOD, the key is taken for the rest of the period instead, even if the task has
ended: a period of 24h is a day, and of 1h an hour of the day, by the servers' clock
in UTC. So a cron job that runs on several machines submits one task. In JSON, "new"
tells whether the task is a new one.

With --wait zkr waits for the end of the task as "zkr task wait" does, and shows the
result instead of the id.
`

// taskSubmission has the arguments of "zkr task submit".
type taskSubmission struct {
	taskCommand
	taskSpec
	wait   bool
	unique string
	every  time.Duration
	waiting
}

// taskSubmit is "zkr task submit".
func (a *app) taskSubmit() *cobra.Command {
	t := &taskSubmission{taskCommand: taskCommand{app: a}}
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.CanBeBusy, cli.AwaitsTask),
		Use:         "submit QUEUE",
		Short:       "Submit a task, and show its id; with --wait its result",
		Long:        taskSubmitHelp,
		Example: "  id=$(zkr task submit /queues/mail < letter)\n" +
			"  zkr task submit /queues/images --id cat-7 --label gpu --deadline 1h --wait < cat.jpg > cat.png\n" +
			"  zkr task submit /queues/report --unique nightly --every 24h --data all\n" +
			"  zkr task submit /queues/report --data 2026-01 --delay 10m --retries 2 --retention 168h",
		Args: cli.Arguments("queue", "QUEUE"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := t.checkAll(cmd, args[0]); err != nil {
				return err
			}
			return t.submit(cmd.Context())
		}),
	}
	f, s := cmd.Flags(), &t.spec
	f.StringVar(&s.ID, "id", "", "`text` that identifies the task, up to 512 bytes; default: a UUID")
	t.specFlags(f)
	f.StringVar(&t.deadline, "deadline", "", "the `time` by which the task must have ended, or fails: a duration from now, such as 10m, or a date, such as 2026-01-02T15:04:05Z")
	f.BoolVar(&t.opts.WaitForRoom, "wait-for-room", false, "wait while the queue is full, instead of exiting with 75")
	f.StringVar(&t.unique, "unique", "", "`key`, text of up to 512 bytes: submit no task while another task has the key")
	f.DurationVar(&t.every, "every", 0, "with --unique: the period in which the key has one task; default: until the task ends")
	f.BoolVar(&t.wait, "wait", false, "wait for the end, and show the result")
	f.BoolVar(&s.Attached, "attached", false, "with --wait: cancel the task if zkr ends before the task, or loses its session")
	t.flags(cmd)
	return cmd
}

// checkAll checks the arguments as far as possible without a server, and reads
// the payload.
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
	if err := t.checkSpec(); err != nil {
		return err
	}
	if err := t.checkUnique(f.Changed("unique"), f.Changed("every")); err != nil {
		return err
	}
	if !t.wait {
		for _, flag := range []string{"attached", "collect"} {
			if f.Changed(flag) {
				return exit.Usage("--%s needs --wait", flag)
			}
		}
	}
	if !t.wait && !t.opts.WaitForRoom && f.Changed("timeout") {
		return exit.Usage("--timeout needs --wait or --wait-for-room")
	}
	if err := cli.CheckTimeout(t.timeout); err != nil {
		return err
	}
	if err := t.readDeadline(); err != nil {
		return err
	}
	return t.readPayload(t.app, f.Changed("data"))
}

// readDeadline reads a time, or a time from now on.
func (t *taskSubmission) readDeadline() (err error) {
	if t.deadline == "" {
		return nil
	}
	if d, bad := time.ParseDuration(t.deadline); bad == nil {
		if d <= 0 {
			return exit.Usage("--deadline is %v; it must be above 0", d)
		}
		t.spec.DeadlineAfter = d
		return nil
	}
	if t.spec.Deadline, err = time.Parse(time.RFC3339, t.deadline); err != nil {
		return exit.Usage("--deadline is %q; it must be like 10m, or like 2026-01-02T15:04:05Z", t.deadline)
	}
	return nil
}

// checkUnique checks the key and its period.
func (t *taskSubmission) checkUnique(unique, every bool) error {
	switch {
	case unique:
		if err := checkIDs("--unique", t.unique); err != nil {
			return err
		}
	case every:
		return exit.Usage("--every needs --unique")
	}
	if every && t.every < time.Second {
		return exit.Usage("--every is %v; it must be 1s or more", t.every)
	}
	return nil
}

// submitOnce submits the task, and returns the id of the task that exists then.
func (t *taskSubmission) submitOnce(ctx context.Context, q *dispatch.Queue) (id string, isNew bool, err error) {
	if t.unique == "" {
		id, err = q.Submit(ctx, t.spec)
		return id, true, err
	}
	id, isNew, err = q.SubmitUnique(ctx, t.spec, t.unique, t.every)
	if err == nil && !isNew {
		t.app.Note("no task was submitted: the task %s exists", cli.Readable([]byte(id)))
	}
	return id, isNew, err
}

func (t *taskSubmission) submit(ctx context.Context) error {
	if t.spec.ID == "" && t.unique == "" {
		t.spec.ID = session.NewID() // known even if the answer is lost
	}
	id, isNew := t.spec.ID, false
	if t.wait {
		return t.await(ctx, &t.taskCommand, id, func(ctx context.Context, q *dispatch.Queue) (string, error) {
			id, _, err := t.submitOnce(ctx, q)
			return id, err
		})
	}
	submit := t.on(id, func(ctx context.Context, q *dispatch.Queue) (err error) {
		id, isNew, err = t.submitOnce(ctx, q)
		return err
	})
	var err error
	if t.opts.WaitForRoom {
		err = t.app.Await(ctx, t.timeout, "room in "+cli.Readable([]byte(t.path)), submit)
	} else {
		err = t.app.Call(ctx, submit)
	}
	if err != nil {
		return err
	}
	if t.app.JSON() {
		out := struct {
			Queue string `json:"queue"`
			ID    string `json:"id"`
			New   *bool  `json:"new,omitempty"` // with --unique: the task did not exist before
		}{t.path, id, nil}
		if t.unique != "" {
			out.New = &isNew
		}
		return t.app.PrintJSON(out)
	}
	return t.app.Printf("%s\n", id)
}
