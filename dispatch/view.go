package dispatch

import (
	"context"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/session"
)

// follow tells the board what a view shows, by changed.
func follow[T any](ctx context.Context, t *term, v *cache.View[T], changed func(b *board, ev cache.Event[T])) error {
	first := true
	for ev, err := range v.Events(ctx) {
		if err != nil {
			return err
		}
		t.update(func(b *board) {
			changed(b, ev)
			if first {
				t.loaded++
			}
			first = false
		})
	}
	return context.Cause(ctx)
}

// decodeTask decodes a task; a bucket is the zero value.
func (t *term) decodeTask(n session.Node) (seen, error) {
	var out seen
	if len(n.Path) <= len(t.at(tasksDir, bucketName(0))) {
		return out, nil
	}
	rec, err := decode[record](n.Data)
	if err == nil && t.task(rec.ID) != n.Path {
		err = ErrRecord
	}
	return seen{record: rec, version: n.Stat.Version, czxid: n.Stat.Czxid, mzxid: n.Stat.Mzxid}, err
}

func decodeProfile(n session.Node) (profile, error) { return decode[profile](n.Data) }

func (t *term) taskChanged(b *board, ev cache.Event[seen]) {
	switch ev.Kind {
	case cache.EventSnapshot:
		for e := range ev.Snapshot.All() {
			putTask(b, e)
		}
		// A task that is newer than the snapshot comes again with the next event.
		for id, e := range b.tasks {
			if now, there := ev.Snapshot.Lookup(t.task(id)); !there || now.Err != nil {
				b.drop(id, e.czxid)
			}
		}
	case cache.EventRemoved:
		b.drop(ev.Old.Value.ID, ev.Old.Value.czxid)
	default:
		if ev.New.Err != nil { // somebody has written something else
			b.drop(ev.Old.Value.ID, ev.Old.Value.czxid)
		}
		putTask(b, ev.New)
	}
}

// putTask puts a task on the board; not a bucket, and not what is no task.
func putTask(b *board, e cache.Entry[seen]) {
	if e.Err == nil && e.Value.ID != "" {
		b.put(e.Value)
	}
}

// workerChanged tells the board of workers: that one is gone only if the view has
// shown it before, since a snapshot may be older than what the board knows.
func workerChanged() func(b *board, ev cache.Event[profile]) {
	return names(func(b *board, e cache.Entry[profile]) {
		if e.Err == nil {
			b.hire(e.Name(), e.Value)
		}
	}, (*board).fire)
}

// clientChanged is workerChanged for clients.
func clientChanged() func(b *board, ev cache.Event[[]byte]) {
	return names(func(b *board, e cache.Entry[[]byte]) { b.meet(e.Name()) }, (*board).part)
}

// names tells of nodes that come and go, and never come back.
func names[T any](come func(*board, cache.Entry[T]), gone func(*board, string)) func(*board, cache.Event[T]) {
	known := map[string]bool{}
	return func(b *board, ev cache.Event[T]) {
		switch ev.Kind {
		case cache.EventSnapshot:
			now := map[string]bool{}
			for e := range ev.Snapshot.All() {
				now[e.Name()] = true
				come(b, e)
			}
			for name := range known {
				if !now[name] {
					gone(b, name)
				}
			}
			known = now
		case cache.EventRemoved:
			delete(known, ev.Old.Name())
			gone(b, ev.Old.Name())
		default:
			known[ev.New.Name()] = true
			come(b, ev.New)
		}
	}
}
