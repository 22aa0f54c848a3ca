package dispatch

import (
	"context"
	"strings"
	"sync"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/session"
)

// followView tells the scheduler a view's changes, by changed.
func followView[T any](ctx context.Context, t *mastership, v *cache.View[T], changed func(sc *scheduler, ev cache.Event[T])) error {
	first := true
	for ev, err := range v.Events(ctx) {
		if err != nil {
			return err
		}
		t.updateScheduler(func(sc *scheduler) {
			changed(sc, ev)
			if first {
				t.loaded++
			}
			first = false
		})
	}
	return context.Cause(ctx)
}

// followTree is followTasks on servers without persistent watches, older than 3.6, and for a
// session that has another kind of watch on the tasks.
func (t *mastership) followTree(ctx context.Context) error {
	t.updateScheduler(func(sc *scheduler) {
		sc.backlog = newBacklog()
		t.view = nil
	})
	tasks := cache.NewTree(t.client, t.at(tasksDir), t.decodeNode, &cache.Options{MaxDepth: 2, Buffer: viewBuffer})
	while, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	// Waited for above; ends with while.
	watching.Go(func() { end(tasks.Run(while)) })
	return followView(while, t, tasks.View, t.taskChanged)
}

// decodeNode decodes a task; a bucket is the zero value.
func (t *mastership) decodeNode(n session.Node) (seen, error) {
	var out seen
	if len(n.Path) <= len(t.at(tasksDir, bucketName(0))) {
		return out, nil
	}
	rec, err := t.decodeTask(n.Path, n.Data)
	return seenAs(rec, n.Stat), err
}

func decodeProfile(n session.Node) (profile, error) { return decode[profile](n.Data) }

func (t *mastership) taskChanged(sc *scheduler, ev cache.Event[seen]) {
	switch ev.Kind {
	case cache.EventSnapshot:
		clear(sc.tally.unreadable)
		for e := range ev.Snapshot.All() {
			t.putTask(sc, e)
		}
		// A task that is newer than the snapshot comes again with the next event.
		for id, e := range sc.tasks {
			if now, there := ev.Snapshot.Lookup(t.taskPath(id)); !there || now.Err != nil {
				sc.dropTask(id, e.czxid)
			}
		}
	case cache.EventRemoved:
		sc.tally.noteRecord(ev.Old.Path, true)
		sc.dropTask(ev.Old.Value.ID, ev.Old.Value.czxid)
	default:
		if ev.New.Err != nil { // the record was overwritten by hand
			sc.dropTask(ev.Old.Value.ID, ev.Old.Value.czxid)
		}
		t.putTask(sc, ev.New)
	}
}

// putTask puts a task on the scheduler, and ignores buckets. A record that cannot be read is
// only counted, in every folder that Queue.List looks into.
func (t *mastership) putTask(sc *scheduler, e cache.Entry[seen]) {
	if strings.Count(e.Path, "/") == strings.Count(t.at(tasksDir), "/")+2 {
		sc.tally.noteRecord(e.Path, e.Err == nil)
	}
	if e.Err == nil && e.Value.ID != "" {
		sc.putTask(e.Value)
	}
}

// workerChanged tells the scheduler of workers: that a worker is gone only if the
// view has shown it before, since a snapshot may be older than the scheduler's
// knowledge.
func workerChanged() func(sc *scheduler, ev cache.Event[profile]) {
	return presenceChanged(func(sc *scheduler, e cache.Entry[profile]) {
		if e.Err != nil {
			sc.addUnreadable(e.Name())
			return
		}
		sc.addWorker(e.Name(), e.Value)
	}, (*scheduler).removeWorker)
}

// clientChanged is workerChanged for clients.
func clientChanged() func(sc *scheduler, ev cache.Event[[]byte]) {
	return presenceChanged(func(sc *scheduler, e cache.Entry[[]byte]) { sc.addClient(e.Name()) }, (*scheduler).removeClient)
}

// admissionChanged has admission read again when a client has changed or deleted it; also
// on the first event, which shows the changes since the mastership has read admission.
func (t *mastership) admissionChanged(*scheduler, cache.Event[[]byte]) { t.stale.Store(true) }

// presenceChanged tells of nodes that come and go, and never come back.
func presenceChanged[T any](come func(*scheduler, cache.Entry[T]), gone func(*scheduler, string)) func(*scheduler, cache.Event[T]) {
	known := map[string]bool{}
	return func(sc *scheduler, ev cache.Event[T]) {
		switch ev.Kind {
		case cache.EventSnapshot:
			now := map[string]bool{}
			for e := range ev.Snapshot.All() {
				now[e.Name()] = true
				come(sc, e)
			}
			for name := range known {
				if !now[name] {
					gone(sc, name)
				}
			}
			known = now
		case cache.EventRemoved:
			delete(known, ev.Old.Name())
			gone(sc, ev.Old.Name())
		default:
			known[ev.New.Name()] = true
			come(sc, ev.New)
		}
	}
}
