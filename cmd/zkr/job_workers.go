package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// jobWorker is a workerctl.Member as "-o json" shows it.
type jobWorker struct {
	ID          int               `json:"id"`
	Identity    string            `json:"identity"`
	Incarnation int64             `json:"incarnation"`
	State       workerctl.State   `json:"state"` // running, left, failed
	Addresses   []string          `json:"addresses"`
	Node        string            `json:"node"`
	Rack        string            `json:"rack"`
	DataCenter  string            `json:"data_center"`
	KV          map[string]string `json:"kv"`
	Joined      time.Time         `json:"joined"`  // the id was given out; by the servers' clock
	Changed     time.Time         `json:"changed"` // came back, left or was updated last
}

// jobWorkerColumns are those that tables show.
const jobWorkerColumns = "ID IDENTITY INCARNATION STATE ADDRESSES NODE JOINED AGE"

func workerOf(m workerctl.Member) jobWorker {
	who := m.Identity
	if who.Addresses == nil {
		who.Addresses = []string{}
	}
	if who.KV == nil {
		who.KV = map[string]string{}
	}
	return jobWorker{
		ID: m.ID, Identity: who.Name, Incarnation: m.Incarnation, State: m.State, Addresses: who.Addresses,
		Node: who.Node, Rack: who.Rack, DataCenter: who.DataCenter, KV: who.KV, Joined: m.Joined, Changed: m.Changed,
	}
}

// addresses are the worker's for people.
func (w jobWorker) addresses() string {
	return or(readable([]byte(strings.Join(w.Addresses, ","))), "-")
}

// missing are those of a job's ids that nobody has joined under, or whose workers
// have died. states are the workers' who have joined.
func missing(workers int, states map[int]workerctl.State) (ids []int) {
	for id := range workers {
		if state, ok := states[id]; !ok || state == "failed" {
			ids = append(ids, id)
		}
	}
	return ids
}

// missingText is missing for people.
func missingText(ids []int) string {
	if len(ids) == 0 {
		return "nobody is missing"
	}
	return "missing: " + spans(ids)
}

const workersHelp = `Shows the workers of the job NAME who ever joined, in the order of their ids, and says
who is missing: the ids that nobody has joined under yet, and those of workers that
have died and may come back. JOINED is when a worker joined first.

With --watch it shows each change as well, with the time at which zkr saw it: lines
say present (had joined already), joined, restarted (came back under its identity),
updated, left (has finished its part), failed (has died), or resized (the job has
another number of workers now); "ready" stands behind those who had joined. When
the job is over the last line says finished, killed or abandoned, or "over" if it
could not be seen which, and zkr exits with 0. Changes of one worker that follow
each other at once may be shown as one.

Otherwise --watch goes on over lost connections and sessions until it is ended: by
INT (Ctrl-C) or TERM with the exit code 0. With -o json each line is an object,
which says who is missing in the form "0-3, 7".
`

// workers is "zkr job workers".
func (c *jobCommand) workers() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "workers NAME",
		Short: "Show the workers of a job, and who is missing; with --watch each change",
		Long:  workersHelp,
		Example: "  zkr job workers words\n" +
			"  zkr job workers words --watch -o json | jq -r 'select(.event == \"failed\") | .worker.identity'",
		Args: arguments("job", "NAME"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd, args[0]); err != nil {
				return err
			}
			if watch {
				w := &jobWatch{app: c.app, states: map[int]workerctl.State{}}
				return c.app.follow(cmd.Context(), c.on(args[0], w.run))
			}
			var info workerctl.Info
			var found []workerctl.Member
			if err := c.app.visit(cmd.Context(), c.on(args[0], func(ctx context.Context, _ *session.Client, job *workerctl.Job) (err error) {
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

func (c *jobCommand) showWorkers(job jobInfo, found []workerctl.Member) error {
	list, states := make([]jobWorker, 0, len(found)), map[int]workerctl.State{}
	tally := map[workerctl.State]int{}
	for _, m := range found {
		list = append(list, workerOf(m))
		states[m.ID] = m.State
		tally[m.State]++
	}
	gone := missing(job.Workers, states)
	if c.app.json() {
		return c.app.line(struct {
			Job     jobInfo     `json:"job"`
			Workers []jobWorker `json:"workers"`
			Missing string      `json:"missing"` // as in a jobEvent
		}{job, list, spans(gone)})
	}
	if err := c.app.printf("%s is %s: %d of %s joined, %d running, %d left, %d failed; %s\n", readable([]byte(job.Name)), job.State,
		len(list), count(job.Workers, "worker"), tally["running"], tally["left"], tally["failed"], missingText(gone)); err != nil || len(list) == 0 {
		return err
	}
	rows := make([][]string, 0, len(list))
	for _, w := range list {
		rows = append(rows, []string{
			strconv.Itoa(w.ID), readable([]byte(w.Identity)), strconv.FormatInt(w.Incarnation, 10), string(w.State), w.addresses(),
			or(readable([]byte(w.Node)), "-"), clock(w.Joined), age(w.Joined),
		})
	}
	return c.app.table(jobWorkerColumns, rows)
}

// text is the worker in a line.
func (w jobWorker) text() string {
	return fmt.Sprintf("%d  %s  incarnation %d  %s", w.ID, readable([]byte(w.Identity)), w.Incarnation, w.addresses())
}
