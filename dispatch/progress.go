package dispatch

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// The progress of a task is in the znode of its assignment. The path of an assignment is
// never used twice, and the znode is gone with the attempt: so a late worker cannot write
// to the next attempt, and nothing must be removed.

// progressEvery is how often a worker writes the progress of its tasks at most.
const progressEvery = 5 * time.Second

// ReportProgress tells people how far the attempt is: done of total units, such as bytes or
// rows, and a note. A total of 0 means that it is unknown; negative numbers count as 0. The
// note is cut after 256 bytes. [Queue.Running] returns the report.
//
// ReportProgress does not wait and sends nothing itself: call it as often as you like. The
// worker writes the last reports of all its tasks together, at once if it has written none
// for five seconds, and every five seconds at most. A report that is not written before the
// attempt ends is dropped, and a report after the end, or after Release, has no effect. The
// next attempt begins without progress: keep what it needs elsewhere.
//
// A worker that writes sends a request for up to 64 tasks, and reads the changed assignments
// once, because it watches them. An Attempt that a test of a handler has made
// ignores reports.
func (a *Attempt) ReportProgress(done, total int64, note string) {
	a = receiver.OrZero(a)
	if h := a.held; h != nil {
		h.ws.progress.put(h, taskformat.NewProgress(done, total, note))
	}
}

// progress has the reports of a worker's tasks that are to be written.
type progress struct {
	// mu guards the fields below: pending has the last report of each task that is not
	// written yet; writing: a goroutine writes the reports.
	mu      sync.Mutex
	pending map[*heldTask]taskformat.Progress
	writing bool
}

// put notes a report, unless the handler of h has returned or released the task.
func (p *progress) put(h *heldTask, report taskformat.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.returned || h.release != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == nil {
		p.pending = map[*heldTask]taskformat.Progress{}
	}
	p.pending[h] = report
	if !p.writing {
		p.writing = true
		// Waited for by Run, which waits for the handler of h too; ends when there is
		// nothing left to write, or with the hold.
		h.ws.handlers.Go(func() { p.write(h.ws) })
	}
}

// takeReports takes the reports that are to be written; none ends the writing.
func (p *progress) takeReports() map[*heldTask]taskformat.Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.pending
	p.pending, p.writing = nil, len(out) > 0
	return out
}

// write writes reports until there are none.
func (p *progress) write(ws *workerSession) {
	ctx := ws.hold.Context()
	for batch := p.takeReports(); len(batch) > 0; batch = p.takeReports() {
		for tasks := range slices.Chunk(slices.Collect(maps.Keys(batch)), perTxn) {
			if isGone := ws.writeReports(ctx, tasks, batch); isGone && len(tasks) > 1 {
				for one := range slices.Chunk(tasks, 1) {
					ws.writeReports(ctx, one, batch)
				}
			}
		}
		pause := time.NewTimer(progressEvery)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return // no report is taken any more
		}
	}
}

// writeReports writes the reports of tasks whose attempts have not ended, in one transaction.
// isGone says that nothing was written, since the assignment of one of them is gone. Other
// failures drop the reports: progress is for people.
func (ws *workerSession) writeReports(ctx context.Context, tasks []*heldTask, reports map[*heldTask]taskformat.Progress) (isGone bool) {
	data := map[string][]byte{} // by path
	for _, h := range tasks {
		report := reports[h]
		h.mu.Lock()
		if !h.returned && h.release == nil { // the assignment does not change
			next := h.assignment
			next.progress = &report
			data[ws.assignmentPath(ws.id, h.name)] = encode(next)
		}
		h.mu.Unlock()
	}
	if len(data) == 0 {
		return false
	}
	return errors.Is(ws.applyTxn(ctx, func(tx *stm.Tx) error {
		for path, record := range data {
			if err := tx.Set(path, record); err != nil {
				return err
			}
		}
		return nil
	}), session.ErrNoNode)
}

// Running lists the assigned tasks, with the progress that their handlers have reported:
// all of them, or those of the given ids. It reads assignments, so its requests do not
// depend on the number of tasks that wait or have ended. The tasks are in the order of their
// assignment. Some of them may not have begun: a worker has prefetched tasks too.
//
// Each task is shown as of the time of its read, which may precede the call if the server
// lags behind; a majority of the servers has confirmed an empty list. Assignments that
// cannot be read are left out: see [Queue.List]. Running takes one request, one for each
// worker, and one for up to 128 tasks, and three requests if the list is empty. With ids, it
// takes a sync, and two requests for up to 128 ids.
func (q *Queue) Running(ctx context.Context, ids ...string) ([]Info, error) {
	q = receiver.OrZero(q)
	const op = "list the running tasks of"
	var out []Info
	var reads optimistic.Batches
	err := q.checkCall(ctx)
	for _, id := range ids {
		err = cmp.Or(err, checkID(id))
	}
	if err == nil {
		err = retryConflicts(ctx, q.client, func(s *session.Session) error {
			r := newReading(ctx, s)
			out = q.readRunning(r, &reads, ids)
			return r.Err
		})
	}
	if err != nil {
		return nil, wrapError(ctx, op, q.Path(), err)
	}
	return out, nil
}

// readRunning reads the assignments of ids, or all.
func (q *Queue) readRunning(r *optimistic.Reading, reads *optimistic.Batches, ids []string) (out []Info) {
	var paths []string
	if len(ids) > 0 {
		paths = q.assignmentsOf(r, reads, ids)
	} else if paths = q.listAssignments(r); len(paths) == 0 {
		r.Fresh(q.at(workersDir), func() { paths = q.listAssignments(r) })
	}
	type running struct {
		Info
		token int64
	}
	list := map[string]running{} // by id
	for _, node := range reads.GetAll(r, paths) {
		a, err := decode[assignment](node.Data)
		if !node.Exists || err != nil || node.Stat.Czxid < list[a.Task.ID].token {
			continue // or the task has been assigned again since
		}
		in := seen{record: a.Task}.toInfo()
		if p := a.progress; p != nil {
			in.Done, in.Total, in.Note, in.Reported = p.Done, p.Total, p.Note, time.UnixMilli(node.Stat.Mtime)
		}
		list[in.ID] = running{in, node.Stat.Czxid}
	}
	for _, one := range slices.SortedFunc(maps.Values(list), func(a, b running) int {
		return cmp.Or(cmp.Compare(a.token, b.token), cmp.Compare(a.ID, b.ID))
	}) {
		out = append(out, one.Info)
	}
	return out
}

// assignmentsOf are the paths of the assignments of tasks.
func (q *Queue) assignmentsOf(r *optimistic.Reading, reads *optimistic.Batches, ids []string) (paths []string) {
	r.Sync(q.at(tasksDir))
	tasks := q.taskPaths(slices.Compact(slices.Sorted(slices.Values(ids))))
	for i, node := range reads.GetAll(r, tasks) {
		if t, err := q.decodeSeen(tasks[i], node); err == nil && t != nil && t.State == assigned {
			paths = append(paths, q.assignmentPath(t.Worker, t.Assignment))
		}
	}
	return paths
}

// listAssignments are the paths of all assignments.
func (l layout) listAssignments(r *optimistic.Reading) (paths []string) {
	workers := r.List(l.at(workersDir))
	for i, folder := range r.ListAll(l.workerPaths(workers)...) {
		for _, name := range folder.Children {
			paths = append(paths, l.assignmentPath(workers[i], name))
		}
	}
	return paths
}
