package jobcmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// Worker is a workerctl.Member in JSON.
type Worker struct {
	ID          int               `json:"id"`
	Identity    string            `json:"identity"`
	Incarnation int64             `json:"incarnation,string"`
	State       workerctl.State   `json:"state"`   // running, left, failed, dead
	Failure     string            `json:"failure"` // the message of a failed worker
	Addresses   []string          `json:"addresses"`
	Node        string            `json:"node"`
	Rack        string            `json:"rack"`
	DataCenter  string            `json:"data_center"`
	KV          map[string]string `json:"kv"`
	Joined      time.Time         `json:"joined"`  // the id was given out; by the servers' clock
	Changed     time.Time         `json:"changed"` // came back, left or was updated last
}

// WorkerColumns are the columns of the table.
const WorkerColumns = "ID IDENTITY INCARNATION STATE FAILURE ADDRESSES NODE JOINED AGE"

func workerOf(m workerctl.Member) Worker {
	identity := m.Identity
	if identity.Addresses == nil {
		identity.Addresses = []string{}
	}
	if identity.KV == nil {
		identity.KV = map[string]string{}
	}
	return Worker{
		ID: m.ID, Identity: identity.Name, Incarnation: m.Incarnation, State: m.State, Failure: m.Failure, Addresses: identity.Addresses,
		Node: identity.Node, Rack: identity.Rack, DataCenter: identity.DataCenter, KV: identity.KV, Joined: m.Joined, Changed: m.Changed,
	}
}

// addresses are the worker's for people.
func (w Worker) addresses() string {
	return cli.OrElse(cli.Readable([]byte(strings.Join(w.Addresses, ","))), "-")
}

// missing are the ids of a job without a worker, or with a dead worker. states
// are the states of the joined workers.
func missing(workers int, states map[int]workerctl.State) (ids []int) {
	for id := range workers {
		if state, ok := states[id]; !ok || state == "dead" {
			ids = append(ids, id)
		}
	}
	return ids
}

// missingText is missing for people.
func missingText(ids []int) string {
	if len(ids) == 0 {
		return "no worker is missing"
	}
	return "missing: " + formatRanges(ids)
}

const workersHelp = `Shows all workers that have ever joined the job NAME, in the order of their ids, and
the missing ids: those under which no worker has joined yet, and those of workers that
have died and may come back. STATE is running, left (has finished its part), failed
(has left with a failure, which FAILURE shows) or dead. JOINED is when the worker
joined first.

With --watch zkr also shows each change, with the time at which zkr observed it: lines
say present (had joined already), joined, restarted (came back under its identity),
updated, left (has finished its part), failed (has left with a failure), dead (has
died, and may come back), or resized (the job has another number of workers now).
"ready" follows the workers that had joined already. When the job is over, the last
line says finished, failed, killed or abandoned, and zkr exits with 0; the line is
"over" if the outcome of the job is unknown. zkr may show several changes of one worker
that follow each other immediately as one.

Until the job is over, --watch continues over lost connections and sessions. INT (Ctrl-C)
and TERM end it with the exit code 0. With -o json each line is an object, which has the
missing ids in the form "0-3, 7".
`

// workers is "zkr job workers".
func (c *jobCommand) workers() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "workers NAME",
		Short:       "Show the workers of a job and the missing ids; with --watch each change",
		Long:        workersHelp,
		Example: "  zkr job workers words\n" +
			"  zkr job workers words --watch -o json | jq -r 'select(.event == \"dead\") | .worker.identity'",
		Args: cli.Arguments("job", "NAME"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd, args[0]); err != nil {
				return err
			}
			if watch {
				w := &jobWatch{app: c.app, states: map[int]workerctl.State{}}
				return c.app.Follow(cmd.Context(), c.on(args[0], w.run))
			}
			var info workerctl.Info
			var found []workerctl.Member
			if err := c.app.Call(cmd.Context(), c.on(args[0], func(ctx context.Context, _ *session.Client, job *workerctl.Job) (err error) {
				if found, err = job.Members(ctx); err == nil {
					info, err = job.Info(ctx)
				}
				return err
			})); err != nil {
				return err
			}
			return c.showWorkers(jobOf(info), found)
		}),
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "show each change until the job is over")
	return cmd
}

func (c *jobCommand) showWorkers(job Info, found []workerctl.Member) error {
	list, states := make([]Worker, 0, len(found)), map[int]workerctl.State{}
	tally := map[workerctl.State]int{}
	for _, m := range found {
		list = append(list, workerOf(m))
		states[m.ID] = m.State
		tally[m.State]++
	}
	gone := missing(job.Workers, states)
	if c.app.JSON() {
		return c.app.PrintJSON(struct {
			Job     Info     `json:"job"`
			Workers []Worker `json:"workers"`
			Missing string   `json:"missing"` // as in Event
		}{job, list, formatRanges(gone)})
	}
	if err := c.app.Printf("%s is %s: %d of %s joined, %d running, %d left, %d failed, %d dead; %s\n", cli.Readable([]byte(job.Name)), job.State,
		len(list), cli.Count(job.Workers, "worker"), tally["running"], tally["left"], tally["failed"], tally["dead"], missingText(gone)); err != nil || len(list) == 0 {
		return err
	}
	rows := make([][]string, 0, len(list))
	for _, w := range list {
		rows = append(rows, []string{
			strconv.Itoa(w.ID), cli.Readable([]byte(w.Identity)), strconv.FormatInt(w.Incarnation, 10), string(w.State), cli.OrElse(cli.Readable([]byte(w.Failure)), "-"), w.addresses(),
			cli.OrElse(cli.Readable([]byte(w.Node)), "-"), cli.LocalTime(w.Joined), cli.Age(w.Joined),
		})
	}
	return c.app.Table(WorkerColumns, rows)
}

// text is the worker in a line.
func (w Worker) text() string {
	text := fmt.Sprintf("%d  %s  incarnation %d  %s", w.ID, cli.Readable([]byte(w.Identity)), w.Incarnation, w.addresses())
	if w.State == "failed" {
		text += "  " + cli.Readable([]byte(w.Failure))
	}
	return text
}
