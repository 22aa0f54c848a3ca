package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// lastWords is how long a watch waits, when a job is over, for what is still to
// be told of its workers.
const lastWords = time.Second

// jobWatch shows what becomes of a job's workers.
type jobWatch struct {
	app    *app
	states map[int]workerctl.State // as they were shown last
	status jobStatus               // Workers is 0 before it is known
	ready  bool                    // those who had joined are shown
}

// jobEvent is a change as "-o json" shows it.
type jobEvent struct {
	Time   time.Time  `json:"time"`
	Event  string     `json:"event"`
	Worker *jobWorker `json:"worker,omitempty"`
	Job    *jobCounts `json:"job,omitempty"` // ready and resized say that
	// Missing are ids as "0-3, 7": with thousands of workers a list of all, in
	// the line of each that joins, would be long. nil before it is known.
	Missing *string `json:"missing,omitempty"`
}

// jobCounts is how many of a job's workers have joined and left.
type jobCounts struct {
	Workers int `json:"workers"`
	Joined  int `json:"joined"`
	Left    int `json:"left"`
}

// run shows changes until the job is over.
func (w *jobWatch) run(ctx context.Context, client *session.Client, job *workerctl.Job) error {
	ctx, cancel := context.WithCancel(ctx)
	var sources sync.WaitGroup
	defer sources.Wait()
	defer cancel()
	statuses, changes := make(chan jobStatus), make(chan workerctl.Change)
	ended, told := make(chan error, 1), make(chan error, 1)
	// Waited for above; ends with ctx, or with the job.
	sources.Go(func() {
		ended <- followStatus(ctx, client, job, func(s jobStatus) (bool, error) { return s.State.Over(), send(ctx, statuses, s) })
	})
	roster := job.Roster()
	// Waited for above; ends with ctx, or when the roster cannot go on, of which
	// its changes then tell.
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

// show shows what the sources say. The size of the job comes first: whoever is
// missing depends on it.
func (w *jobWatch) show(statuses <-chan jobStatus, changes <-chan workerctl.Change, ended, told <-chan error) error {
	var late <-chan time.Time
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
			var stop func() bool
			late, stop = timer(lastWords)
			defer stop()
		case <-late:
			return w.end()
		}
		if err != nil {
			return err
		}
	}
}

// resize takes in how the job stands.
func (w *jobWatch) resize(s jobStatus) error {
	before := w.status
	if w.status = s; w.ready && before.Workers != s.Workers && !s.State.Over() {
		return w.say("resized", s.text()+"; ", jobEvent{Job: s.counts()})
	}
	return w.begin()
}

// begin says "ready" once as many are shown as have joined.
func (w *jobWatch) begin() error {
	if w.ready || w.status.Workers == 0 || len(w.states) < w.status.Joined {
		return nil
	}
	w.ready = true
	return w.say("ready", w.status.text()+"; ", jobEvent{Job: w.status.counts()})
}

func (s jobStatus) counts() *jobCounts { return &jobCounts{s.Workers, s.Joined, s.Left} }

func (w *jobWatch) change(c workerctl.Change) error {
	if w.ready && c.What == "present" {
		// The roster was read later than how the job stood: this one was not among
		// those who had joined then.
		c.What = map[workerctl.State]string{"running": "joined"}[c.Member.State]
		if c.What == "" {
			c.What = string(c.Member.State) // it has come and gone
		}
	}
	w.states[c.Member.ID] = c.Member.State
	one := workerOf(c.Member)
	text := one.text() + "  "
	if c.What == "present" {
		text += string(one.State)
	}
	if err := w.say(c.What, text, jobEvent{Worker: &one}); err != nil {
		return err
	}
	return w.begin()
}

// end says how the job has ended, if that was seen.
func (w *jobWatch) end() error {
	if !w.status.State.Over() {
		return w.say("over", "removed before it could be seen how it ended", jobEvent{})
	}
	return w.say(string(w.status.State), "the job is over", jobEvent{})
}

// say prints an event, and behind it who is missing, as far as that is known.
func (w *jobWatch) say(event, text string, e jobEvent) error {
	e.Time, e.Event = time.Now(), event
	if w.ready && (e.Worker != nil || e.Job != nil) && event != "present" {
		ids := missing(w.status.Workers, w.states)
		list := spans(ids)
		e.Missing = &list
		text += missingText(ids)
	}
	if w.app.json() {
		return w.app.line(e)
	}
	return w.app.printf("%s  %-9s  %s\n", moment(e.Time), event, text)
}
