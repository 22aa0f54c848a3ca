package taskcmd

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/foreign"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

const scheduleHelp = `Periodic tasks. At each slot of a schedule, the leading master ("zkr task master")
submits a task to QUEUE. The id of the task is the name of the schedule, "@", and the
time of the slot, as in nightly@2026-01-02T03:00:00Z. Each slot has one task, whatever
fails, and slots go by the servers' clock. Of slots that pass while no master leads, or
while the queue is full, the last one is run.
`

const scheduleSetHelp = scheduleHelp + `
"zkr task schedule set" creates the schedule NAME, or replaces it. The payload of all
its tasks is stdin up to its end, or --data. Slots before the schedule was created are
not run. Setting the same schedule again changes nothing.
`

// schedule is "zkr task schedule".
func (a *app) schedule() *cobra.Command {
	return cli.CommandGroup(&cobra.Command{
		Use:   "schedule",
		Short: "Manage periodic tasks: set, list and delete schedules",
		Long:  scheduleHelp,
		Example: "  zkr task schedule set /queues/report nightly --every 24h --start 2026-01-01T03:00:00Z --data all\n" +
			"  zkr task schedule ls /queues/report\n" +
			"  zkr task schedule rm /queues/report nightly",
	}, a.scheduleSet(), a.scheduleList(), a.scheduleRemove())
}

// maxScheduleName is that of the package dispatch.
const maxScheduleName = 256

func checkScheduleName(name string) error {
	if name == "" || len(name) > maxScheduleName || !utf8.ValidString(name) {
		return exit.Usage("NAME is %.80q; it must be text of 1 to %d bytes", name, maxScheduleName)
	}
	return nil
}

// scheduleSetting has the arguments of "zkr task schedule set".
type scheduleSetting struct {
	taskCommand
	taskSpec
	wanted dispatch.Schedule
	start  string
}

// scheduleSet is "zkr task schedule set".
func (a *app) scheduleSet() *cobra.Command {
	t := &scheduleSetting{taskCommand: taskCommand{app: a}}
	cmd := &cobra.Command{
		Use:   "set QUEUE NAME",
		Short: "Create or replace a schedule",
		Long:  scheduleSetHelp,
		Example: "  zkr task schedule set /queues/report nightly --every 24h --start 2026-01-01T03:00:00Z --data all\n" +
			"  zkr task schedule set /queues/images sweep --every 10m --overlap --retention 1h < job.json",
		Args: cli.Arguments("queue", "QUEUE", "NAME"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := t.checkAll(cmd, args); err != nil {
				return err
			}
			return t.set(cmd.Context())
		}),
	}
	f := cmd.Flags()
	f.DurationVar(&t.wanted.Every, "every", 0, "the time between two slots, 1s or more")
	f.StringVar(&t.start, "start", "", "the `date` of the first slot, such as 2026-01-02T15:04:05Z; a date in the past says at which times the slots are; default: the multiples of --every, in UTC")
	f.BoolVar(&t.wanted.Overlap, "overlap", false, "run a slot even if the task of the former slot has not ended; default: skip the slot")
	f.StringVar(&t.deadline, "deadline", "", "the `duration` after its submission, such as 10m, by which a task must have ended, or fails")
	t.specFlags(f)
	return cmd
}

// checkAll checks the arguments as far as possible without a server, and reads the payload.
func (t *scheduleSetting) checkAll(cmd *cobra.Command, args []string) (err error) {
	if err := t.check(args[0]); err != nil {
		return err
	}
	if err := checkScheduleName(args[1]); err != nil {
		return err
	}
	f := cmd.Flags()
	switch {
	case !f.Changed("every"):
		return exit.Usage("--every is missing; it is the time between two slots, such as 1h")
	case t.wanted.Every < time.Second:
		return exit.Usage("--every is %v; it must be 1s or more", t.wanted.Every)
	}
	if t.start != "" {
		if t.wanted.Start, err = time.Parse(time.RFC3339, t.start); err != nil {
			return exit.Usage("--start is %q; it must be like 2026-01-02T15:04:05Z", t.start)
		}
		if year := t.wanted.Start.UTC().Year(); year < 1 || year > 9999 {
			return exit.Usage("--start is %q; it must be in the years 1 to 9999 of UTC", t.start)
		}
	}
	if t.deadline != "" {
		if t.spec.DeadlineAfter, err = time.ParseDuration(t.deadline); err != nil || t.spec.DeadlineAfter <= 0 {
			return exit.Usage("--deadline is %q; it must be a duration, such as 10m", t.deadline)
		}
	}
	if err := t.checkSpec(); err != nil {
		return err
	}
	if err := t.readPayload(t.app, f.Changed("data")); err != nil {
		return err
	}
	t.wanted.Name, t.wanted.Task = args[1], t.spec
	return nil
}

func (t *scheduleSetting) set(ctx context.Context) error {
	var found Schedule
	if err := t.app.Call(ctx, t.on("", func(ctx context.Context, q *dispatch.Queue) error {
		if err := q.SetSchedule(ctx, t.wanted); err != nil {
			return err
		}
		list, err := q.Schedules(ctx)
		for _, s := range list {
			if s.Name == t.wanted.Name {
				found = scheduleOf(s)
			}
		}
		return err
	})); err != nil {
		return err
	}
	if t.app.JSON() {
		return t.app.PrintJSON(struct {
			Queue    string   `json:"queue"`
			Schedule Schedule `json:"schedule"`
		}{t.path, found})
	}
	return t.app.Printf("next slot: %s\n", cli.LocalTime(found.Next))
}

// Schedule is a dispatch.Schedule in JSON. Missing times are left out.
type Schedule struct {
	Name          string    `json:"name"`
	Every         string    `json:"every"` // as "24h0m0s"
	Start         time.Time `json:"start,omitzero"`
	Overlap       bool      `json:"overlap"`
	Last          time.Time `json:"last,omitzero"` // the last slot whose task was submitted
	LastTask      string    `json:"last_task,omitempty"`
	Next          time.Time `json:"next,omitzero"` // the first slot that was neither run nor skipped
	Payload       int       `json:"payload_bytes"`
	Priority      int       `json:"priority"`
	Labels        []string  `json:"labels"`
	MaxAttempts   int       `json:"max_attempts"`
	Delay         string    `json:"delay"`
	DeadlineAfter string    `json:"deadline_after,omitempty"`
	Backoff       string    `json:"backoff"`
	Retention     string    `json:"retention"`
	DeadKept      string    `json:"dead_retention"`
	Error         string    `json:"error,omitempty"` // why the schedule cannot be read
}

func scheduleOf(s dispatch.Schedule) Schedule {
	out := Schedule{
		Name: s.Name, Every: s.Every.String(), Start: s.Start, Overlap: s.Overlap, Last: s.Last, LastTask: s.LastTask, Next: s.Next,
		Payload: len(s.Task.Payload), Priority: s.Task.Priority, Labels: s.Task.Labels, MaxAttempts: s.Task.MaxAttempts, Delay: s.Task.Delay.String(),
		Backoff: s.Task.Backoff.String(), Retention: s.Task.Retention.String(), DeadKept: s.Task.DeadRetention.String(),
	}
	if out.Labels == nil {
		out.Labels = []string{}
	}
	if s.Task.DeadlineAfter > 0 {
		out.DeadlineAfter = s.Task.DeadlineAfter.String()
	}
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	return out
}

// scheduleList is "zkr task schedule ls".
func (a *app) scheduleList() *cobra.Command {
	c := &taskCommand{app: a}
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "ls QUEUE",
		Short:       "Show the schedules of a queue",
		Long: "Shows the schedules of QUEUE. LAST is the last slot whose task was submitted, and NEXT the\n" +
			"first slot that was neither run nor skipped: a NEXT in the past waits for a master, or for\n" +
			"room in the queue.",
		Example: "  zkr task schedule ls /queues/report",
		Args:    cli.Arguments("queue", "QUEUE"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			var found []Schedule
			var around foreign.Surroundings
			list := c.on("", func(ctx context.Context, q *dispatch.Queue) error {
				schedules, err := q.Schedules(ctx)
				found = make([]Schedule, 0, len(schedules))
				for _, s := range schedules {
					found = append(found, scheduleOf(s))
				}
				return err
			})
			if err := c.app.Call(cmd.Context(), c.inspectEmpty(&around, list, func() bool { return len(found) == 0 })); err != nil {
				return err
			}
			return c.showSchedules(found, around)
		}),
	}
}

func (c *taskCommand) showSchedules(list []Schedule, around foreign.Surroundings) error {
	switch {
	case c.app.JSON():
		return c.app.PrintJSON(struct {
			Queue     string     `json:"queue"`
			Exists    bool       `json:"exists"`
			Schedules []Schedule `json:"schedules"`
		}{c.path, !around.Missing, list})
	case len(list) == 0:
		return around.NoteEmptyList(c.app.App, c.path, "there are no schedules in %s")
	}
	rows := make([][]string, 0, len(list))
	for _, s := range list {
		if s.Error != "" {
			rows = append(rows, []string{cli.Readable([]byte(s.Name)), "invalid", "-", "-", cli.Preview([]byte(s.Error), 60)})
			continue
		}
		rows = append(rows, []string{
			cli.Readable([]byte(s.Name)), s.Every, cli.LocalTime(s.Last), cli.LocalTime(s.Next), cli.OrElse(cli.Readable([]byte(s.LastTask)), "-"),
		})
	}
	return c.app.Table("NAME EVERY LAST NEXT LAST-TASK", rows)
}

// scheduleRemove is "zkr task schedule rm".
func (a *app) scheduleRemove() *cobra.Command {
	c := &taskCommand{app: a}
	return &cobra.Command{
		Use:   "rm QUEUE NAME",
		Short: "Delete a schedule",
		Long: "Deletes the schedule NAME of QUEUE. Tasks that were submitted stay. The command exits with\n" +
			"1 if the schedule does not exist.",
		Example: "  zkr task schedule rm /queues/report nightly",
		Args:    cli.Arguments("queue", "QUEUE", "NAME"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			if err := checkScheduleName(args[1]); err != nil {
				return err
			}
			return c.app.Call(cmd.Context(), c.on("", func(ctx context.Context, q *dispatch.Queue) error {
				existed, err := q.DeleteSchedule(ctx, args[1])
				if err == nil && !existed {
					return &exit.Failure{
						Code: exit.CodeFailed, Err: fmt.Errorf("%s has no schedule %s", cli.Readable([]byte(c.path)), cli.Readable([]byte(args[1]))),
						Hint: c.call("task schedule ls", "") + " lists the schedules",
					}
				}
				return err
			}))
		}),
	}
}
