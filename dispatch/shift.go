package dispatch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/session"
)

// shift is a worker in one session. Its loop owns what it has; handlers run beside
// it.
type shift struct {
	*Worker
	s       *session.Session
	id      string
	profile profile
	hold    *session.Hold
	// stop ends when Run's context does.
	stop context.Context
	// handlers are waited for by Run.
	handlers *sync.WaitGroup

	jobs  map[string]*job // that are not over, by the name of the assignment
	queue []*job          // those that have not begun
	past  map[string]bool // jobs that are over, as long as the view shows their assignments
	junk  bool            // there is something in the folder that this worker does not remove
	// ended gets the jobs that are over, unless closed is.
	ended  chan *job
	closed chan struct{}
}

// serve works in s until that is lost, or until the worker's end.
func (w *Worker) serve(ctx context.Context, s *session.Session, handlers *sync.WaitGroup) (ended bool, err error) {
	sh := &shift{
		Worker: w, s: s, id: uniqueName(w.about.Name), stop: ctx, handlers: handlers, jobs: map[string]*job{}, past: map[string]bool{},
		profile: profile{
			Format: format, Name: w.about.Name, Concurrency: w.about.Concurrency, Prefetch: w.about.Prefetch, Labels: w.about.Labels,
		},
		ended: make(chan *job), closed: make(chan struct{}),
	}
	defer close(sh.closed)
	if err := sh.register(ctx); err != nil {
		return false, err
	}
	defer func() {
		sh.hold.End(nil)
		if !ended {
			sh.vanish()
		}
	}()
	while, end := sh.hold.Derive()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	events := make(chan cache.Event[assignment])
	view := cache.NewChildren(w.client, w.worker(sh.id), decodeAssignment, nil)
	// Waited for above; ends with while.
	watching.Go(func() { end(view.Run(while)) })
	// Waited for above; ends with while.
	watching.Go(func() { end(pass(while, view, events)) })
	return sh.loop(while, events)
}

func decodeAssignment(n session.Node) (assignment, error) { return decode[assignment](n.Data) }

// pass hands on events.
func pass(ctx context.Context, view *cache.Children[assignment], events chan<- cache.Event[assignment]) error {
	for ev, err := range view.Events(ctx) {
		if err != nil {
			return err
		}
		select {
		case events <- ev:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

// register makes the worker's folder and the node that says that it lives, in one
// transaction, so that whoever sees the latter finds the former. After a lost answer
// the worker begins anew under another id: nobody ever had this one.
func (sh *shift) register(ctx context.Context) error {
	if err := sh.make(ctx, sh.s); err != nil {
		return err
	}
	_, err := sh.s.Txn(ctx,
		session.CreateOp(sh.worker(sh.id), nil, session.Persistent, sh.create),
		session.CreateOp(sh.alive(sh.id), encode(sh.profile), session.Ephemeral, sh.create))
	if err == nil {
		sh.hold, err = sh.s.Hold(ctx, sh.alive(sh.id), nil)
	}
	if err != nil {
		sh.vanish()
	}
	return err
}

// vanish deletes, in the background, the node that says that the worker lives. Its
// folder is the master's then.
func (sh *shift) vanish() {
	over, cancel := context.WithCancel(sh.s.Context())
	cancel()
	_ = sh.s.Discard(over, sh.alive(sh.id))
}

// loop does what is to be done, as long as while lasts, which ends with the hold.
func (sh *shift) loop(while context.Context, events <-chan cache.Event[assignment]) (left bool, err error) {
	drain, stop, draining := sh.drain, sh.stop.Done(), false
	for {
		var again <-chan time.Time
		if draining && len(sh.jobs) == 0 {
			if left, err := sh.leave(while); left || err != nil {
				return left, err
			}
			again = time.After(leavePause)
		}
		var slot chan<- struct{}
		if len(sh.queue) > 0 {
			slot = sh.slots
		}
		select {
		case slot <- struct{}{}:
			sh.begin(sh.queue[0])
			sh.queue = sh.queue[1:]
			continue
		case <-again:
		case ev := <-events:
			sh.see(ev)
		case j := <-sh.ended:
			sh.finish(j)
		case <-drain:
			draining, drain, err = true, nil, sh.announce(while)
		case <-stop:
			for _, j := range sh.jobs {
				j.cancel(context.Cause(sh.stop))
			}
			draining, stop, err = true, nil, sh.announce(while)
		case <-while.Done():
			err = context.Cause(while)
		}
		if lost := sh.hold.Err(); lost != nil {
			return false, lost // Run begins anew, if there is another session
		}
		if err != nil {
			return false, err
		}
		if draining {
			sh.giveBack()
		}
	}
}

// see takes notice of assignments that have come and gone.
func (sh *shift) see(ev cache.Event[assignment]) {
	switch ev.Kind {
	case cache.EventSnapshot:
		for e := range ev.Snapshot.All() {
			sh.take(e)
		}
		for name, j := range sh.jobs {
			if _, there := ev.Snapshot.Lookup(sh.assignment(sh.id, name)); !there {
				sh.lose(j)
			}
		}
		maps.DeleteFunc(sh.past, func(name string, _ bool) bool {
			_, there := ev.Snapshot.Lookup(sh.assignment(sh.id, name))
			return !there
		})
	case cache.EventAdded:
		sh.take(ev.New)
	case cache.EventRemoved:
		delete(sh.past, ev.Old.Name())
		if j := sh.jobs[ev.Old.Name()]; j != nil {
			sh.lose(j)
		}
	}
}

// take puts a new assignment into the queue.
func (sh *shift) take(e cache.Entry[assignment]) {
	if e.Err != nil || e.Value.Task.Worker != sh.id || e.Value.Task.Assignment != e.Name() {
		sh.junk = true
		return
	}
	if sh.jobs[e.Name()] != nil || sh.past[e.Name()] {
		return
	}
	j := &job{sh: sh, name: e.Name(), token: e.Stat.Czxid, assignment: e.Value}
	j.ctx, j.cancel = sh.hold.Derive()
	sh.jobs[j.name] = j
	sh.queue = append(sh.queue, j)
}

// finish takes notice of a job that is over. Its assignment is gone, but the view may
// show it once more, in a snapshot: it must not begin again.
func (sh *shift) finish(j *job) {
	delete(sh.jobs, j.name)
	if !j.gone {
		sh.past[j.name] = true
		sh.junk = sh.junk || j.left
	}
}

// lose ends a job whose assignment is gone.
func (sh *shift) lose(j *job) {
	j.gone = true
	j.cancel(errGone)
	if i := slices.Index(sh.queue, j); i >= 0 {
		sh.queue = slices.Delete(sh.queue, i, i+1)
		delete(sh.jobs, j.name)
	}
}

// errGone is the cause of the end of a handler's context.
var errGone = fmt.Errorf("the assignment is %w: %w", session.ErrLost, session.ErrNodeDeleted)

// begin runs a job, which has a slot.
func (sh *shift) begin(j *job) {
	// Waited for by Run; ends with the handler.
	sh.handlers.Go(func() {
		defer func() { <-sh.slots }()
		defer sh.end(j)
		j.run()
	})
}

// end tells the loop that a job is over.
func (sh *shift) end(j *job) {
	j.cancel(nil)
	select {
	case sh.ended <- j:
	case <-sh.closed:
	}
}

// giveBack gives back what has not begun.
func (sh *shift) giveBack() {
	for _, j := range sh.queue {
		// Waited for by Run; ends with the request, or the session.
		sh.handlers.Go(func() {
			defer sh.end(j)
			j.write(j.Task.returned(), nil)
		})
	}
	sh.queue = nil
}

// announce tells the master that the worker takes no more tasks.
func (sh *shift) announce(ctx context.Context) error {
	sh.profile.Draining = true
	return sh.s.Retry(ctx, func() error {
		_, err := sh.s.Set(ctx, sh.alive(sh.id), encode(sh.profile), -1)
		return err
	})
}

// leavePause is how long a worker waits that cannot leave since its folder is not
// empty. The view tells as a rule, but not of an assignment that comes before the
// attempt to leave, and is canceled before the view reads it: that makes no event.
const leavePause = time.Second

// leave removes the worker's folder and the node that says that it lives, together:
// not while it has an assignment.
func (sh *shift) leave(ctx context.Context) (left bool, err error) {
	if sh.junk {
		sh.vanish() // the folder is the master's
		return true, nil
	}
	err = sh.s.Retry(ctx, func() error {
		_, err := sh.s.Txn(ctx, session.DeleteOp(sh.worker(sh.id), -1), session.DeleteOp(sh.alive(sh.id), -1))
		return err
	})
	switch {
	case errors.Is(err, session.ErrNotEmpty):
		return false, nil
	case conflict(err):
		err = nil // a try whose answer was lost has done it
	}
	return err == nil, err
}
