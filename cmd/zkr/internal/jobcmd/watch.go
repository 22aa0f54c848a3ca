package jobcmd

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// jobWatch shows the changes of a job's workers.
type jobWatch struct {
	app    *app
	states map[int]workerctl.State // as they were shown last
	status workerctl.Info          // Workers is 0 until the job is read
	ready  bool                    // the workers that had joined are shown
}

// Event is a change in JSON.
type Event struct {
	Time   time.Time  `json:"time"`
	Event  string     `json:"event"`
	Worker *Worker    `json:"worker,omitempty"`
	Job    *jobCounts `json:"job,omitempty"` // with ready and resized
	// Missing are ids as "0-3, 7": with thousands of workers, a full list in
	// each line would be long. nil before the first status.
	Missing *string `json:"missing,omitempty"`
}

// jobCounts is how many of a job's workers have joined, left and failed.
type jobCounts struct {
	Workers int `json:"workers"`
	Joined  int `json:"joined"`
	Left    int `json:"left"` // without Failed
	Failed  int `json:"failed"`
}

// run shows changes until the job is over.
func (w *jobWatch) run(ctx context.Context, _ *session.Client, job *workerctl.Job) error {
	ctx, cancel := context.WithCancel(ctx)
	var sources sync.WaitGroup
	defer sources.Wait()
	defer cancel()
	statuses, changes := make(chan workerctl.Info), make(chan workerctl.Change)
	ended, told := make(chan error, 1), make(chan error, 1)
	// Waited for above; ends with ctx, or with the job.
	sources.Go(func() {
		var last error
		for in, err := range job.States(ctx) {
			if last = err; err == nil {
				last = send(ctx, statuses, in)
			}
			if last != nil {
				break
			}
		}
		ended <- last
	})
	roster := job.Roster()
	// Waited for above; ends with ctx, or with an error of the list of members,
	// which the changes then have.
	sources.Go(func() { _ = roster.Run(ctx) })
	// Waited for above; ends with ctx, or with the job.
	sources.Go(func() {
		for c, err := range roster.Changes(ctx) {
			if err == nil {
				err = send(ctx, changes, c)
			}
			if err != nil {
				told <- err
				return
			}
		}
	})
	return w.show(statuses, changes, ended, told)
}

func send[T any](ctx context.Context, to chan<- T, v T) error {
	select {
	case to <- v:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// show shows the changes of all sources until both have told the end of the
// job. The size of the job comes first: the missing workers depend on the size.
func (w *jobWatch) show(statuses <-chan workerctl.Info, changes <-chan workerctl.Change, ended, told <-chan error) error {
	over := false
	for {
		next := changes
		if w.status.Workers == 0 && !over {
			next = nil
		}
		var err error
		select {
		case s := <-statuses:
			err = w.resize(s)
		case c := <-next:
			err = w.change(c)
		case err = <-told:
			if !errors.Is(err, workerctl.ErrOver) {
				return err
			}
			if told, err = nil, nil; over {
				return w.end()
			}
		case err = <-ended:
			if err != nil && !errors.Is(err, workerctl.ErrOver) {
				return err
			}
			if over, err = true, nil; told == nil {
				return w.end()
			}
		}
		if err != nil {
			return err
		}
	}
}

// resize records the status of the job.
func (w *jobWatch) resize(in workerctl.Info) error {
	before := w.status
	if w.status = in; w.ready && before.Workers != in.Workers && !in.State.Over() {
		return w.say("resized", progressOf(in)+"; ", Event{Job: countsOf(in)})
	}
	return w.showReady()
}

// showReady prints "ready" once all joined workers are shown.
func (w *jobWatch) showReady() error {
	if w.ready || w.status.Workers == 0 || len(w.states) < w.status.Joined {
		return nil
	}
	w.ready = true
	return w.say("ready", progressOf(w.status)+"; ", Event{Job: countsOf(w.status)})
}

func countsOf(in workerctl.Info) *jobCounts {
	return &jobCounts{in.Workers, in.Joined, in.Left - in.Failed, in.Failed}
}

func (w *jobWatch) change(c workerctl.Change) error {
	if w.ready && c.What == "present" {
		// The members were read after the status of the job: this member had not
		// joined then.
		c.What = map[workerctl.State]string{"running": "joined"}[c.Member.State]
		if c.What == "" {
			c.What = string(c.Member.State) // the worker has come and gone
		}
	}
	w.states[c.Member.ID] = c.Member.State
	one := workerOf(c.Member)
	text := one.text() + "  "
	if c.What == "present" {
		text += string(one.State)
	}
	if err := w.say(c.What, text, Event{Worker: &one}); err != nil {
		return err
	}
	return w.showReady()
}

// end prints the outcome of the job, if the outcome is known.
func (w *jobWatch) end() error {
	if !w.status.State.Over() {
		return w.say("over", "removed; the outcome is unknown", Event{})
	}
	return w.say(string(w.status.State), "the job is over", Event{})
}

// say prints an event, followed by the missing workers, as far as they are
// known.
func (w *jobWatch) say(event, text string, e Event) error {
	e.Time, e.Event = time.Now(), event
	if w.ready && (e.Worker != nil || e.Job != nil) && event != "present" {
		ids := missing(w.status.Workers, w.states)
		list := formatRanges(ids)
		e.Missing = &list
		text += missingText(ids)
	}
	if w.app.JSON() {
		return w.app.PrintJSON(e)
	}
	return w.app.Printf("%s  %-9s  %s\n", cli.Timestamp(e.Time), event, text)
}
