package taskcmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/records"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

const taskStatsHelp = `Shows the number of tasks of QUEUE in each state, the leading master, and the
workers with the tasks they have and the tasks they may have, and whether the queue is
paused.

The numbers of tasks are those that the leading master has published last. They may
lack the changes of about the last second. If no master publishes numbers, zkr
reads every task, and says so. In JSON, "published" is the time of the publication;
the field is missing if zkr has read every task. "zkr task ls" always reads every
task.

With --watch zkr shows a line whenever these numbers have changed. zkr reads the
queue once per --interval, and spends at most a third of its time reading.` + cli.UntilEnded

// taskStats is "zkr task stats".
func (a *app) taskStats() *cobra.Command {
	c := &taskCommand{app: a}
	var watch bool
	var interval time.Duration
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "stats QUEUE",
		Short:       "Show the tasks by state, the leader and the workers of a queue; with --watch, each change",
		Long:        taskStatsHelp,
		Example:     "  zkr task stats /queues/mail --watch",
		Args:        cli.Arguments("queue", "QUEUE"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			switch {
			case cmd.Flags().Changed("interval") && !watch:
				return exit.Usage("--interval needs --watch")
			case interval <= 0:
				return exit.Usage("--interval is %v; it must be above 0", interval)
			case watch:
				return c.app.Follow(cmd.Context(), c.on("", func(ctx context.Context, q *dispatch.Queue) error {
					return c.watchStats(ctx, q, interval)
				}))
			}
			var found dispatch.Stats
			if err := c.app.LongCall(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				found, err = dispatch.New(client, c.path, nil).Stats(ctx)
				return err
			}); err != nil {
				return err
			}
			return c.showStats(c.statsOf(found))
		}),
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "show each change")
	cmd.Flags().DurationVar(&interval, "interval", time.Second, "how often --watch looks")
	return cmd
}

// Stats is a dispatch.Stats in JSON.
type Stats struct {
	Queue    string         `json:"queue"`
	Open     bool           `json:"open"` // the queue takes tasks
	MaxTasks int            `json:"max_tasks"`
	Paused   *records.Pause `json:"paused,omitempty"` // missing: tasks are assigned
	Tasks    map[string]int `json:"tasks"`            // all states
	Oldest   time.Time      `json:"oldest,omitzero"`  // submission of the first waiting task
	// Unmatched counts the waiting tasks with labels that no worker has.
	Unmatched int `json:"unmatched"`
	// Published is when the master has published the numbers of tasks; without it, every
	// task was read.
	Published time.Time `json:"published,omitzero"`
	Master    string    `json:"master"` // the leader; "" for none
	Term      int64     `json:"term,string"`
	Token     int64     `json:"token,string"`
	Workers   []Worker  `json:"workers"`
}

// Worker is a dispatch.WorkerInfo in JSON.
type Worker struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Concurrency int      `json:"concurrency"`
	Prefetch    int      `json:"prefetch"`
	Labels      []string `json:"labels"`
	Draining    bool     `json:"draining"`
	State       string   `json:"state"` // active, draining or unreadable
	Assigned    int      `json:"assigned"`
}

// WorkerColumns are the columns of the table.
const WorkerColumns = "ID NAME STATE ASSIGNED CONCURRENCY PREFETCH LABELS"

func (c *taskCommand) statsOf(in dispatch.Stats) Stats {
	out := Stats{
		Queue: c.path, Open: in.Open, MaxTasks: in.MaxTasks, Tasks: map[string]int{}, Oldest: in.Oldest, Unmatched: in.Unmatched,
		Published: in.Published, Master: in.Master, Term: in.Term, Token: in.Token, Workers: []Worker{},
	}
	if in.Paused {
		out.Paused = &records.Pause{By: in.PausedBy, Reason: in.PauseReason, Since: in.PausedSince}
	}
	for _, state := range taskStates() {
		out.Tasks[state] = 0
	}
	for state, n := range in.Tasks {
		out.Tasks[string(state)] += n
	}
	for _, w := range in.Workers {
		labels := append([]string{}, w.Labels...)
		state := "active"
		switch {
		case w.Err != nil:
			state = "unreadable"
		case w.Draining:
			state = "draining"
		}
		out.Workers = append(out.Workers, Worker{w.ID, w.Name, w.Concurrency, w.Prefetch, labels, w.Draining, state, w.Assigned})
	}
	return out
}

// counts is how many tasks there are, for people.
func (s Stats) counts() string {
	var parts []string
	for _, state := range taskStates() {
		parts = append(parts, fmt.Sprintf("%d %s", s.Tasks[state], state))
	}
	if n := s.Tasks[""]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d invalid", n))
	}
	return strings.Join(parts, ", ")
}

// master is the leader, for people.
func (s Stats) master() string {
	if s.Master == "" {
		return "no master leads"
	}
	return fmt.Sprintf("%s leads, term %d, token %d", cli.Readable([]byte(s.Master)), s.Term, s.Token)
}

// source is where the numbers of tasks are from, for people.
func (s Stats) source() string {
	switch {
	case !s.Published.IsZero():
		return "; the last change of the numbers was published at " + cli.Timestamp(s.Published)
	case s.Master != "":
		return "; the master publishes no numbers, or not yet: every task was read"
	}
	return "; every task was read"
}

// takes is whether the queue takes tasks, for people.
func (s Stats) takes() string {
	if s.Open {
		return fmt.Sprintf("takes tasks, up to %d", s.MaxTasks)
	}
	return fmt.Sprintf("takes no tasks: it is full at %d", s.MaxTasks)
}

func (c *taskCommand) showStats(s Stats) error {
	if c.app.JSON() {
		return c.app.PrintJSON(s)
	}
	text := fmt.Sprintf("%s %s\n%s", cli.Readable([]byte(s.Queue)), s.takes(), s.counts())
	if s.Paused != nil {
		text = fmt.Sprintf("%s %s\n%s\n%s", cli.Readable([]byte(s.Queue)), s.takes(), s.Paused.Text(), s.counts())
	}
	if !s.Oldest.IsZero() {
		text += "; the oldest waiting task is " + cli.Age(s.Oldest) + " old"
	}
	if s.Unmatched > 0 && len(s.Workers) > 0 {
		text += fmt.Sprintf("; no worker has the labels of %s", cli.Count(s.Unmatched, "waiting task"))
	}
	if err := c.app.Printf("%s\n%s%s\n", text, s.master(), s.source()); err != nil {
		return err
	}
	if len(s.Workers) == 0 {
		return c.app.Printf("There are no workers.\n")
	}
	rows := make([][]string, 0, len(s.Workers))
	for _, w := range s.Workers {
		rows = append(rows, []string{
			cli.Readable([]byte(w.ID)), cli.Readable([]byte(w.Name)), w.State, strconv.Itoa(w.Assigned), strconv.Itoa(w.Concurrency), strconv.Itoa(w.Prefetch),
			cli.OrElse(cli.Readable([]byte(strings.Join(w.Labels, ","))), "-"),
		})
	}
	return c.app.Table(WorkerColumns, rows)
}

// watchStats shows changes until ctx ends. Without published numbers the cost of a
// look grows with the queue, so the next look waits for at least twice as long as
// the last look took.
func (c *taskCommand) watchStats(ctx context.Context, q *dispatch.Queue, interval time.Duration) error {
	for last := ""; ; {
		begun := time.Now()
		found, err := q.Stats(ctx)
		if err != nil {
			return err
		}
		if last, err = c.showChange(last, c.statsOf(found)); err != nil {
			return err
		}
		if err := cli.SleepContext(ctx, max(interval, 2*time.Since(begun))); err != nil {
			return err
		}
	}
}

// showChange shows the stats if they differ from the last shown stats. A new publication of
// the same numbers is no change.
func (c *taskCommand) showChange(last string, s Stats) (string, error) {
	compared := s
	compared.Published = time.Time{}
	text, err := cli.Encode(compared)
	if err != nil || string(text) == last {
		return last, err
	}
	if c.app.JSON() {
		return string(text), c.app.PrintJSON(struct {
			Time time.Time `json:"time"`
			Stats
		}{time.Now(), s})
	}
	full := ""
	if !s.Open {
		full = s.takes() + "; "
	}
	if s.Paused != nil {
		full += s.Paused.Text() + "; "
	}
	busy, places := 0, 0
	for _, w := range s.Workers {
		busy, places = busy+w.Assigned, places+w.Concurrency+w.Prefetch
	}
	return string(text), c.app.Printf("%s  %s%s; %s with %d of %d tasks; %s\n", cli.Timestamp(time.Now()), full, s.counts(),
		cli.Count(len(s.Workers), "worker"), busy, places, s.master())
}
