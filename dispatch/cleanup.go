package dispatch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// auditEvery is how often the master looks for folders that dead workers have left.
// It learns of nearly all by their deaths.
const auditEvery = time.Minute

// reopensAt is how many tasks must be left for a queue that was full to take tasks
// again: nine tenths.
func reopensAt(limit int) int { return limit/10*9 + limit%10*9/10 }

// tidyUp does the work that is not about single tasks.
func (t *mastership) tidyUp(ctx context.Context) error {
	t.mu.Lock()
	lost, strays, emptied, tasks := t.scheduler.unconfirmedWorkers(), t.scheduler.unconfirmedClients(), t.scheduler.emptiedWorkers(), t.scheduler.countActive()
	t.mu.Unlock()
	if now := time.Now(); !now.Before(t.auditAt) {
		t.auditAt = now.Add(auditEvery)
		err := t.retryInSession(ctx, func() error { return t.auditFolders(ctx) })
		var folders []string
		if err == nil {
			folders, err = t.listUnknownFolders(ctx)
		}
		if err == nil {
			err = t.retryInSession(ctx, func() error { return t.countAssignments(ctx) })
		}
		if err != nil {
			return err
		}
		lost = append(lost, folders...)
	}
	if err := t.verifyPresence(ctx, lost, strays); err != nil {
		return err
	}
	for _, worker := range emptied {
		if err := t.retryInSession(ctx, func() error { return t.removeWorkerFolder(ctx, worker) }); err != nil {
			return err
		}
	}
	if err := t.retryInSession(ctx, func() error { return t.openOrClose(ctx, tasks) }); err != nil {
		return err
	}
	if err := t.retryInSession(ctx, func() error { return t.readSchedules(ctx) }); err != nil {
		return err
	}
	return t.sweepStrays(ctx)
}

// auditFolders recreates folders of the queue that were deleted by hand and that no
// operation has missed yet, and looks at the published counts.
func (t *mastership) auditFolders(ctx context.Context) error {
	r := newReading(ctx, t.s)
	names := r.List(string(t.layout))
	published, hidden := session.Seen{}, false
	if r.Err == nil {
		published = r.StatAll(t.countsPath())[0]
		// Servers from 3.9.3 on do not show the stat of a record that may not be read.
		if hidden = errors.Is(r.Err, session.ErrNoAuth); hidden {
			r.Err = nil
		}
	}
	t.auditSchedules(r, slices.Contains(names, schedulesDir))
	if r.Err != nil {
		return r.Err
	}
	t.auditCounts(published, hidden)
	t.hasKeys = slices.Contains(names, uniqueDir)
	for _, dir := range append(folderNames(), admissionDir) {
		if !slices.Contains(names, dir) {
			return t.ensureFolders(ctx)
		}
	}
	return nil
}

// listUnknownFolders lists the folders of workers that the scheduler does not know.
func (t *mastership) listUnknownFolders(ctx context.Context) (out []string, err error) {
	err = t.retryInSession(ctx, func() error {
		r := newReading(ctx, t.s)
		r.Sync(t.at(workersDir))
		names := r.List(t.at(workersDir))
		t.mu.Lock()
		defer t.mu.Unlock()
		out = nil
		for _, id := range names {
			if t.scheduler.workers[id] == nil && !t.scheduler.goneWorkers[id] {
				out = append(out, id)
			}
		}
		return r.Err
	})
	return out, err
}

// countAssignments compares the assignments of the live workers with the scheduler's. If an
// assignment is missing and its task has not changed, the assignment was deleted by hand.
func (t *mastership) countAssignments(ctx context.Context) error {
	t.mu.Lock()
	workers := slices.Sorted(maps.Keys(t.scheduler.workers))
	t.mu.Unlock()
	missing := map[string]int64{}
	r := newReading(ctx, t.s)
	folders := r.ListAll(t.workerPaths(workers)...)
	if r.Err != nil {
		return r.Err
	}
	t.mu.Lock()
	for i, id := range workers {
		maps.Copy(missing, t.scheduler.missingAssignments(id, folders[i].Children))
	}
	t.mu.Unlock()
	if err := t.refreshTasks(ctx, slices.Sorted(maps.Keys(missing))); err != nil {
		return err
	}
	t.updateScheduler(func(sc *scheduler) {
		for id, mzxid := range missing {
			if e := sc.tasks[id]; e != nil && e.State == assigned && e.mzxid == mzxid {
				sc.markOrphan(e)
			}
		}
	})
	return nil
}

// verifyPresence asks which workers and clients are present. No id of a worker or
// client ever comes back, so an id that was seen before and does not exist now is gone.
// The view shows an id that exists before long.
func (t *mastership) verifyPresence(ctx context.Context, workers, clients []string) error {
	if len(workers)+len(clients) == 0 {
		return nil
	}
	return t.retryInSession(ctx, func() error {
		r := newReading(ctx, t.s)
		r.Sync(t.at(aliveDir))
		alive := r.StatAll(t.alivePaths(workers)...)
		present := r.StatAll(t.clientPaths(clients)...)
		workers := absentOf(workers, alive)
		folders := r.GetAll(t.workerPaths(workers)...)
		if r.Err != nil {
			return r.Err
		}
		t.updateScheduler(func(sc *scheduler) {
			for i, id := range workers {
				p, err := decode[profile](folders[i].Data)
				if err == nil && sc.concurrency[id] == 0 {
					sc.concurrency[id] = p.Concurrency // it has died before this master led
				}
				sc.removeWorker(id)
			}
			for _, id := range absentOf(clients, present) {
				sc.removeClient(id)
			}
		})
		return nil
	})
}

// absentOf returns the names whose znodes do not exist.
func absentOf(names []string, nodes []session.Seen) (out []string) {
	for i, n := range nodes {
		if !n.Exists {
			out = append(out, names[i])
		}
	}
	return out
}

// removeWorkerFolder removes the folder of a worker that is gone and has no tasks, as far as the
// scheduler knows. Assignments that the scheduler does not know of keep it from that.
func (t *mastership) removeWorkerFolder(ctx context.Context, worker string) error {
	err := t.applyGuarded(ctx, func(tx *stm.Tx) error { return tx.Delete(t.workerPath(worker)) })
	switch path, reason := optimistic.Culprit(err); {
	case t.isDeposed(err):
		return err
	case err == nil, errors.Is(reason, session.ErrNoNode) && path == t.workerPath(worker):
		t.updateScheduler(func(sc *scheduler) { sc.forgetWorker(worker) })
		return nil
	case !errors.Is(err, session.ErrNotEmpty):
		return err
	}
	return t.removeStrangers(ctx, worker)
}

// removeStrangers looks at the assignments of a worker that is gone and that the scheduler
// does not know of. Those of tasks that name them are shown by the view before long, and are
// left until then. All others are strangers: assignments come and go with the state of their
// tasks.
func (t *mastership) removeStrangers(ctx context.Context, worker string) error {
	r := newReading(ctx, t.s)
	for _, name := range r.List(t.workerPath(worker)) {
		data := r.Get(t.assignmentPath(worker, name))
		if r.Err != nil {
			return r.Err
		}
		if !data.Exists {
			continue
		}
		if a, err := decode[assignment](data.Data); err == nil {
			task, err := t.readTask(ctx, t.s, a.Task.ID)
			if err != nil && !errors.Is(err, ErrRecord) {
				return err
			}
			if task != nil && task.State == assigned && task.Worker == worker && task.Assignment == name {
				continue
			}
		}
		err := t.applyGuarded(ctx, func(tx *stm.Tx) error { return tx.Delete(t.assignmentPath(worker, name)) })
		switch {
		case err == nil, errors.Is(err, session.ErrNoNode) && !t.isDeposed(err):
			t.updateScheduler(func(*scheduler) {}) // try again
		case errors.Is(err, session.ErrNotEmpty):
			t.updateScheduler(func(sc *scheduler) { sc.forgetWorker(worker) }) // until the next audit
		default:
			return err
		}
	}
	return r.Err
}
