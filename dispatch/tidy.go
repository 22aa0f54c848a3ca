package dispatch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// auditEvery is how often the master looks for folders that dead workers have left.
// It learns of nearly all by their deaths.
const auditEvery = time.Minute

// reopensAt is how many tasks must be left for a queue that was full to take tasks
// again: nine tenths.
func reopensAt(limit int) int { return limit/10*9 + limit%10*9/10 }

// tidy does what is not about single tasks.
func (t *term) tidy(ctx context.Context) error {
	t.mu.Lock()
	lost, strays, bereft, tasks := t.board.lost(), t.board.strays(), t.board.bereft(), len(t.board.tasks)
	t.mu.Unlock()
	if now := time.Now(); !now.Before(t.audit) {
		t.audit = now.Add(auditEvery)
		folders, err := t.folders(ctx)
		if err == nil {
			err = t.patiently(ctx, func() error { return t.count(ctx) })
		}
		if err != nil {
			return err
		}
		lost = append(lost, folders...)
	}
	if err := t.verify(ctx, lost, strays); err != nil {
		return err
	}
	for _, worker := range bereft {
		if err := t.patiently(ctx, func() error { return t.bury(ctx, worker) }); err != nil {
			return err
		}
	}
	return t.patiently(ctx, func() error { return t.admit(ctx, tasks) })
}

// folders are those of workers that the board does not know.
func (t *term) folders(ctx context.Context) (out []string, err error) {
	err = t.patiently(ctx, func() error {
		r := newReading(ctx)
		synced, list := t.s.StartSync(t.at(workersDir)), t.s.StartChildren(t.at(workersDir), false)
		r.Synced(synced)
		names := r.Seen(list).Children
		t.mu.Lock()
		defer t.mu.Unlock()
		out = nil
		for _, id := range names {
			if t.board.desks[id] == nil && !t.board.gone[id] {
				out = append(out, id)
			}
		}
		return r.Err
	})
	return out, err
}

// count compares the assignments of the workers that live with what the board knows.
// One that is missing, of a task that has not changed, somebody has deleted by hand.
func (t *term) count(ctx context.Context) error {
	t.mu.Lock()
	workers := slices.Sorted(maps.Keys(t.board.desks))
	t.mu.Unlock()
	missing := map[string]int64{}
	for _, id := range workers {
		r := newReading(ctx)
		names, _ := r.IfThere(t.s.StartChildren(t.worker(id), false))
		if r.Err != nil {
			return r.Err
		}
		t.mu.Lock()
		maps.Copy(missing, t.board.missing(id, names.Children))
		t.mu.Unlock()
	}
	if err := t.refresh(ctx, slices.Sorted(maps.Keys(missing))); err != nil {
		return err
	}
	t.update(func(b *board) {
		for id, mzxid := range missing {
			if e := b.tasks[id]; e != nil && e.State == assigned && e.mzxid == mzxid {
				b.orphan(e)
			}
		}
	})
	return nil
}

// verify asks which workers and clients are there. No id of either ever comes back,
// so one that has been seen and is not there is gone. One that is there the view shows
// before long.
func (t *term) verify(ctx context.Context, workers, clients []string) error {
	if len(workers)+len(clients) == 0 {
		return nil
	}
	return t.patiently(ctx, func() error {
		r := newReading(ctx)
		r.Synced(t.s.StartSync(t.at(aliveDir)))
		for _, id := range workers {
			there := r.Seen(t.s.StartExists(t.alive(id), false)).Exists
			if r.Err != nil {
				return r.Err
			}
			if !there {
				t.update(func(b *board) { b.fire(id) })
			}
		}
		for _, id := range clients {
			there := r.Seen(t.s.StartExists(t.at(clientsDir, id), false)).Exists
			if r.Err != nil {
				return r.Err
			}
			if !there {
				t.update(func(b *board) { b.part(id) })
			}
		}
		return nil
	})
}

// bury removes the folder of a worker that is gone and has no tasks, as far as the
// board knows. Assignments that the board does not know of keep it from that.
func (t *term) bury(ctx context.Context, worker string) error {
	_, err := t.s.Txn(ctx, t.l.Guard(), session.DeleteOp(t.worker(worker), -1))
	switch path, reason := culprit(err); {
	case t.deposed(err):
		return err
	case err == nil, errors.Is(reason, session.ErrNoNode) && path == t.worker(worker):
		t.update(func(b *board) { b.forget(worker) })
		return nil
	case !errors.Is(err, session.ErrNotEmpty):
		return err
	}
	return t.sift(ctx, worker)
}

// sift looks at the assignments of a worker that is gone and that the board does not
// know of. Those of tasks that name them are shown by the view before long, and are
// left until then. All others are strangers: assignments come and go with the state
// of their tasks.
func (t *term) sift(ctx context.Context, worker string) error {
	r := newReading(ctx)
	names, _ := r.IfThere(t.s.StartChildren(t.worker(worker), false))
	for _, name := range names.Children {
		data, there := r.IfThere(t.s.StartGet(t.assignment(worker, name), false))
		if r.Err != nil {
			return r.Err
		}
		if !there {
			continue
		}
		if a, err := decode[assignment](data.Data); err == nil {
			task, err := t.look(ctx, t.s, a.Task.ID, true)
			if err != nil && !errors.Is(err, ErrRecord) {
				return err
			}
			if task != nil && task.State == assigned && task.Worker == worker && task.Assignment == name {
				continue
			}
		}
		_, err := t.s.Txn(ctx, t.l.Guard(), session.DeleteOp(t.assignment(worker, name), -1))
		switch {
		case err == nil, errors.Is(err, session.ErrNoNode) && !t.deposed(err):
			t.update(func(*board) {}) // try again
		case errors.Is(err, session.ErrNotEmpty):
			t.update(func(b *board) { b.forget(worker) }) // until the next audit
		default:
			return err
		}
	}
	return r.Err
}

// admit closes the queue when it is full, and opens it when it is not any more.
func (t *term) admit(ctx context.Context, tasks int) error {
	var op session.Op
	switch {
	case t.open && tasks >= t.limit:
		op = session.DeleteOp(t.store.open(), -1)
	case !t.open && tasks <= reopensAt(t.limit):
		op = session.CreateOp(t.store.open(), nil, session.Persistent, t.create)
	default:
		return nil
	}
	_, err := t.s.Txn(ctx, t.l.Guard(), op)
	if t.deposed(err) {
		return err
	}
	if err == nil || conflict(err) {
		// A conflict: this is what the last try has done, whose answer was lost.
		t.open = !t.open
		return nil
	}
	return err
}

// prepare makes the queue, unless it exists, and reads, or changes, how many tasks
// it takes.
func (t *term) prepare(ctx context.Context) error {
	if err := t.make(ctx, t.s); err != nil {
		return err
	}
	r := newReading(ctx)
	synced, admission, open := t.s.StartSync(t.at(admissionDir)), t.s.StartGet(t.at(admissionDir), false), t.s.StartExists(t.store.open(), false)
	r.Synced(synced)
	data, exists := r.Seen(admission), r.Seen(open)
	if r.Err != nil {
		return r.Err
	}
	l, err := decode[limits](data.Data)
	if err != nil && t.opts.MaxTasks == 0 {
		return err
	}
	t.open, t.limit = exists.Exists, l.MaxTasks
	if t.opts.MaxTasks == 0 || t.opts.MaxTasks == l.MaxTasks {
		return nil
	}
	t.limit = t.opts.MaxTasks
	_, err = t.s.Txn(ctx, t.l.Guard(), session.SetOp(t.at(admissionDir), encode(limits{format, t.limit}), -1))
	return err
}
