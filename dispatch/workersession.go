package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// workerSession is a worker in one session. Its loop owns its fields; handlers run
// concurrently.
type workerSession struct {
	*Worker
	s       *session.Session
	id      string
	profile profile
	clock   workerClock
	hold    *session.Hold
	// stop ends when Run's context does.
	stop context.Context
	// handlers are waited for by Run.
	handlers *sync.WaitGroup
	// begun has the handlers of this session.
	begun sync.WaitGroup

	held  map[string]*heldTask // that are not over, by the name of the assignment
	queue []*heldTask          // those that have not begun
	over  map[string]bool      // tasks that are over, as long as the view shows their assignments
	// recalled are serials of assignments that the master wants back unless they have
	// begun. The view may show them before the assignments.
	recalled []string
	progress progress // of the tasks that have begun
	// unreturned is the reason why the first task could not be given back.
	unreturned error
	junk       bool // there is something in the folder that this worker does not remove
	// ended gets the tasks that are over, unless closed is.
	ended  chan *heldTask
	closed chan struct{}
}

// workInSession works in s until that is lost, or until the worker's end.
func (w *Worker) workInSession(ctx context.Context, s *session.Session, handlers *sync.WaitGroup) (ended bool, err error) {
	ws := &workerSession{
		Worker: w, s: s, id: uniqueName(w.about.Name), stop: ctx, handlers: handlers, held: map[string]*heldTask{}, over: map[string]bool{},
		profile: profile{
			Format: format, Name: w.about.Name, Concurrency: w.about.Concurrency, Prefetch: w.about.Prefetch, Labels: w.about.Labels,
		},
		ended: make(chan *heldTask), closed: make(chan struct{}),
	}
	defer close(ws.closed)
	switch registered, err := ws.registerWorker(ctx); {
	case err != nil && !registered && w.mustEnd(ctx, err):
		return true, nil
	case err != nil:
		return false, err
	}
	defer func() {
		ws.hold.End(err)
		if !ended {
			ws.deleteAlive()
		}
	}()
	while, end := ws.hold.Derive()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	events := make(chan cache.Event[assignment])
	view := cache.NewTree(w.client, w.workerPath(ws.id), ws.decodeAssignment, &cache.Options{MaxDepth: 1, EventPath: w.at(workersDir)})
	// Waited for above; ends with while.
	watching.Go(func() { end(view.Run(while)) })
	// Waited for above; ends with while.
	watching.Go(func() { end(forwardEvents(while, view, events)) })
	return ws.runLoop(while, events)
}

// decodeAssignment decodes an assignment, or the list of tasks that the master wants
// back, which is in the worker's folder.
func (ws *workerSession) decodeAssignment(n session.Node) (assignment, error) {
	if n.Path == ws.workerPath(ws.id) {
		p, err := decode[profile](n.Data)
		return assignment{recalled: p.Recalled}, err
	}
	return decode[assignment](n.Data)
}

// forwardEvents hands on events.
func forwardEvents(ctx context.Context, view *cache.Tree[assignment], events chan<- cache.Event[assignment]) error {
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

// registerWorker creates the worker's folder and its alive node in one transaction, so that
// a master that sees the alive node finds the folder. After a lost reply the worker begins
// again under another id, since ids are never used twice. If registerWorker fails,
// registered reports whether the nodes may exist.
func (ws *workerSession) registerWorker(ctx context.Context) (registered bool, err error) {
	if err := ws.ensureCreated(ctx, ws.s); err != nil {
		return false, err
	}
	err = session.ErrNoNode
	for tries := 0; errors.Is(err, session.ErrNoNode) && tries < maxWrites; tries++ {
		if tries > 0 { // a folder is missing
			if err = ws.ensureFolders(ctx); err != nil {
				return false, err
			}
		}
		err = ws.applyIn(ctx, ws.s, func(tx *stm.Tx) error {
			if err := tx.Create(ws.workerPath(ws.id), encode(ws.profile), session.Persistent, ws.create); err != nil {
				return err
			}
			return tx.Create(ws.alivePath(ws.id), encode(ws.profile), session.Ephemeral, ws.create)
		})
	}
	registered = err == nil || errors.Is(err, session.ErrUnknownOutcome)
	if err == nil {
		ws.hold, err = ws.s.Hold(ctx, ws.alivePath(ws.id), nil)
	}
	if err != nil {
		optimistic.DeleteLater(ws.s, ws.alivePath(ws.id))
	}
	return registered, err
}

// runLoop takes assignments and finishes tasks, as long as while lasts, which ends
// with the hold.
func (ws *workerSession) runLoop(while context.Context, events <-chan cache.Event[assignment]) (left bool, err error) {
	drain, stop, draining := ws.drain, ws.stop.Done(), false
	for {
		var again <-chan time.Time
		if draining && len(ws.held) == 0 {
			if left, err := ws.deregister(ws.s.Context()); left || err != nil {
				return left, err
			}
			again = time.After(leavePause)
		}
		var slot chan<- struct{}
		if len(ws.queue) > 0 {
			slot = ws.slots
		}
		select {
		case slot <- struct{}{}:
			ws.beginTask(ws.queue[0])
			ws.queue = ws.queue[1:]
			continue
		case <-again:
		case ev := <-events:
			err = ws.handleEvent(ev)
		case h := <-ws.ended:
			ws.finishTask(h)
		case <-drain:
			draining, drain, err = true, nil, ws.announceDraining(while)
		case <-stop:
			if left, err := ws.departIfIdle(); left || err != nil {
				return left, err
			}
			defer ws.endHandlers()()
			draining, stop, err = true, nil, ws.announceDraining(while)
		case <-while.Done():
			err = context.Cause(while)
		}
		if lost := ws.hold.Err(); lost != nil {
			return false, lost // Run continues in the next session
		}
		if err != nil {
			return false, err
		}
		ws.giveBack(func(h *heldTask) bool { return draining || slices.Contains(ws.recalled, serialOf(h.name)) })
	}
}

// handleEvent handles assignments that were created or deleted. Without its folder the
// worker gets no more tasks: it then begins again under another id.
func (ws *workerSession) handleEvent(ev cache.Event[assignment]) error {
	folder := ws.workerPath(ws.id)
	switch ev.Kind {
	case cache.EventSnapshot:
		e, there := ev.Snapshot.Lookup(folder)
		if !there {
			return errFolder
		}
		ws.recalled = e.Value.recalled
		for e := range ev.Snapshot.All() {
			if e.Path != folder {
				ws.enqueueTask(e)
			}
		}
		for name, h := range ws.held {
			if _, there := ev.Snapshot.Lookup(ws.assignmentPath(ws.id, name)); !there {
				ws.loseTask(h)
			}
		}
		maps.DeleteFunc(ws.over, func(name string, _ bool) bool {
			_, there := ev.Snapshot.Lookup(ws.assignmentPath(ws.id, name))
			return !there
		})
	case cache.EventAdded:
		ws.enqueueTask(ev.New)
	case cache.EventRemoved:
		if ev.Old.Path == folder {
			return errFolder
		}
		delete(ws.over, ev.Old.Name())
		if h := ws.held[ev.Old.Name()]; h != nil {
			ws.loseTask(h)
		}
	case cache.EventUpdated:
		if ev.New.Path == folder {
			ws.recalled = ev.New.Value.recalled
		}
	}
	return nil
}

// errFolder ends the worker's hold: its folder was deleted by hand.
var errFolder = fmt.Errorf("the worker's folder is %w: %w", session.ErrLost, session.ErrNodeDeleted)

// enqueueTask puts a new assignment into the queue.
func (ws *workerSession) enqueueTask(e cache.Entry[assignment]) {
	if e.Err != nil || e.Value.Task.Worker != ws.id || e.Value.Task.Assignment != e.Name() {
		ws.junk = true
		return
	}
	if ws.held[e.Name()] != nil || ws.over[e.Name()] {
		return
	}
	ws.clock.noteRead(e.Stat)
	h := &heldTask{ws: ws, name: e.Name(), token: e.Stat.Czxid, assignment: e.Value}
	h.ctx, h.cancel = ws.hold.Derive()
	h.observe()
	ws.held[h.name] = h
	// In the order in which the tasks were given: see scheduler.removeWorker.
	at, _ := slices.BinarySearchFunc(ws.queue, h, func(a, b *heldTask) int { return compareAssignments(a.token, a.name, b.token, b.name) })
	ws.queue = slices.Insert(ws.queue, at, h)
}

// finishTask takes notice of a task that is over. Its assignment is gone, but the view may
// show it once more, in a snapshot: it must not begin again.
func (ws *workerSession) finishTask(h *heldTask) {
	delete(ws.held, h.name)
	if !h.gone {
		ws.over[h.name] = true
		if h.kept != nil {
			ws.junk = true
			ws.unreturned = cmp.Or(ws.unreturned, fmt.Errorf("task %q could not be given back: %w", h.Task.ID, h.kept))
		}
	}
}

// loseTask ends a task whose assignment is gone.
func (ws *workerSession) loseTask(h *heldTask) {
	h.gone = true
	h.cancel(errGone)
	h.observed.lost(errGone)
	if i := slices.Index(ws.queue, h); i >= 0 {
		ws.queue = slices.Delete(ws.queue, i, i+1)
		delete(ws.held, h.name)
	}
}

// beginTask runs a task, which has a slot.
func (ws *workerSession) beginTask(h *heldTask) {
	ws.begun.Add(1)
	// Waited for by Run; ends with the handler.
	ws.handlers.Go(func() {
		defer ws.begun.Done()
		defer func() { <-ws.slots }()
		defer ws.signalEnd(h)
		h.runHandler()
	})
}

// signalEnd tells the loop that a task is over.
func (ws *workerSession) signalEnd(h *heldTask) {
	h.cancel(session.ErrReleased)
	h.observed.free()
	select {
	case ws.ended <- h:
	case <-ws.closed:
	}
}
