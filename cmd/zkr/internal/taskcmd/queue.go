package taskcmd

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

const taskHelp = `Queues of tasks. A task is submitted with a payload of any bytes. A master ("zkr
task master") assigns the task to a worker ("zkr task worker"), which runs a command
for the task. Several masters may run; one of them leads. If the worker dies or the
command fails, the queue makes another attempt, as far as the task allows. A task
ends once, with one result, which is kept until a client collects the result or the
retention has passed. Tasks wait while no master or no worker runs.

A task is waiting, then assigned, and ends in one of four states: done; failed, if
another attempt would fail too or the deadline has passed; canceled; or dead, if the
last attempt has failed. "zkr task ls QUEUE --state dead" is the dead-letter list.

Programs take part through the package dispatch. QUEUE is a path, such as
/queues/mail, and is created with its first use.
`

// Bounds of the package dispatch. zkr checks the bounds before connecting.
const (
	maxTaskID  = 512
	MaxPayload = 1_000_000
	maxLabels  = 32
	maxLabel   = 64
)

// taskStates are the states of a task, in the order of its life.
func taskStates() []string {
	return []string{"waiting", "assigned", "done", "failed", "canceled", "dead"}
}

// taskCommand is shared by the commands for a queue.
type taskCommand struct {
	app  *app
	path string
	opts dispatch.Options
}

// task is "zkr task".
func (a *app) task() *cobra.Command {
	return cli.CommandGroup(&cobra.Command{
		Use:   "task",
		Short: "Manage queues of tasks: submit, schedule, assign, run, wait for results, inspect, cancel, retry, remove",
		Long:  taskHelp,
		Example: "  zkr task master /queues/mail &\n" +
			"  zkr task worker /queues/mail -- ./send &\n" +
			"  zkr task submit /queues/mail --wait < letter\n" +
			"  zkr task stats /queues/mail --watch",
	}, a.taskSubmit(), a.taskWait(), a.taskList(), a.taskShow(), a.taskCancel(), a.taskRequeue(), a.taskRemove(), a.taskPurge(), a.schedule(), a.taskPause(), a.taskResume(), a.taskStats(), a.taskMaster(), a.taskWorker())
}

// check checks the queue's path.
func (c *taskCommand) check(queue string) error {
	if err := cli.CheckPath(queue); err != nil {
		return err
	}
	if queue == "/" {
		return exit.Usage("QUEUE is /; it must be a path below it")
	}
	c.path = queue
	return nil
}

// checkIDs checks ids of tasks.
func checkIDs(what string, ids ...string) error {
	for _, id := range ids {
		if id == "" || len(id) > maxTaskID || !utf8.ValidString(id) {
			return exit.Usage("%s is %.80q; it must be text of 1 to %d bytes", what, id, maxTaskID)
		}
	}
	return nil
}

// checkLabels checks the labels of tasks and workers.
func checkLabels(labels []string) error {
	if len(labels) > maxLabels {
		return exit.Usage("--label is given %d times; at most %d are allowed", len(labels), maxLabels)
	}
	for _, l := range labels {
		if l == "" || len(l) > maxLabel || !utf8.ValidString(l) {
			return exit.Usage("--label is %.80q; it must be text of 1 to %d bytes", l, maxLabel)
		}
	}
	return nil
}

// call is a command line for people.
func (c *taskCommand) call(sub, id string) string {
	line := "zkr " + sub + " " + cli.Readable([]byte(c.path))
	if id != "" {
		line += " " + cli.Readable([]byte(id))
	}
	return `"` + line + `"`
}

// advised adds advice to an error.
func (c *taskCommand) advised(id string, err error) error {
	var hint string
	switch {
	case err == nil, errors.As(err, new(*exit.Failure)):
		return err
	case errors.Is(err, dispatch.ErrNoTask):
		hint = c.call("task ls", "") + " lists the tasks; a task is removed when it is collected, or when its retention is over"
	case errors.Is(err, dispatch.ErrFull):
		hint = c.call("task stats", "") + " shows the tasks; tasks that end make room"
	case errors.Is(err, dispatch.ErrConflict):
		hint = c.call("task show", id) + " shows the existing task"
	case errors.Is(err, dispatch.ErrRecord) && id != "":
		hint = c.call("task rm", id) + " removes a task with an invalid record; a record of a newer version needs a zkr of that version"
	case errors.Is(err, session.ErrUnknownOutcome) && id != "":
		hint = c.call("task show", id) + " shows whether the task exists; submitting it again with the same --id has no effect if it exists"
	default:
		return err
	}
	return &exit.Failure{Code: exit.Classify(err).Code, Err: err, Hint: hint}
}

// Task is a dispatch.Info in JSON. Missing times are left out.
type Task struct {
	ID          string         `json:"id"`
	State       dispatch.State `json:"state"`   // "" if the znode's data is not a task
	Attempt     int            `json:"attempt"` // the present attempt, the next, or the last
	MaxAttempts int            `json:"max_attempts"`
	Priority    int            `json:"priority"`
	Labels      []string       `json:"labels"`
	Worker      string         `json:"worker"` // the present or the last worker; "" for none
	Submitted   time.Time      `json:"submitted,omitzero"`
	Assigned    time.Time      `json:"assigned,omitzero"`
	NotBefore   time.Time      `json:"not_before,omitzero"` // when the next attempt may begin
	Deadline    time.Time      `json:"deadline,omitzero"`
	Finished    time.Time      `json:"finished,omitzero"`
	Retention   string         `json:"retention"` // as "24h0m0s"
	DeadKept    string         `json:"dead_retention"`
	LastFailure string         `json:"last_failure"`
	Key         string         `json:"unique,omitempty"`      // the key of a unique task
	KeyUntil    time.Time      `json:"unique_until,omitzero"` // the end of the key's period; missing: the end of the task
	Progress    *Progress      `json:"progress,omitempty"`    // if the handler has reported any
	WaitsFor    string         `json:"waits_for,omitempty"`   // "show" only: why no worker can be given the task
	Error       string         `json:"error,omitempty"`       // why the znode's data is not a task
}

// Columns are the columns of the table.
const Columns = "ID STATE ATTEMPT PRIORITY WORKER SUBMITTED AGE PROGRESS LAST-FAILURE"

func taskOf(in dispatch.Info) Task {
	out := Task{
		ID: in.ID, State: in.State, Attempt: in.Attempt, MaxAttempts: in.MaxAttempts, Priority: in.Priority, Labels: in.Labels,
		Worker: in.Worker, Submitted: in.Submitted, Assigned: in.Assigned, NotBefore: in.NotBefore, Deadline: in.Deadline,
		Finished: in.Finished, Retention: in.Retention.String(), DeadKept: in.DeadRetention.String(), LastFailure: in.LastFailure,
		Key: in.Key, KeyUntil: in.KeyUntil,
	}
	if out.Labels == nil {
		out.Labels = []string{}
	}
	if in.Err != nil {
		out.Error = in.Err.Error()
	}
	return out
}

// attempts is "2/5" for people.
func (t Task) attempts() string { return fmt.Sprintf("%d/%d", t.Attempt, t.MaxAttempts) }

// on makes an action on the queue.
func (c *taskCommand) on(id string, do func(context.Context, *dispatch.Queue) error) cli.Action {
	return func(ctx context.Context, client *session.Client) error {
		return c.advised(id, do(ctx, dispatch.New(client, c.path, &c.opts)))
	}
}
