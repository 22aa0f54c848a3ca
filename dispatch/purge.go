package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// Remove removes a task in any state, with its payload and result. A task that has not
// ended is canceled first, so callers of [Queue.Wait] get its result, or ErrNoTask. A task
// whose record is garbage is removed too. A task of a newer version of this package is not
// removed: the error wraps ErrRecord. The error wraps ErrNoTask if no such task exists.
//
// Remove takes two requests, and two more for a task that has not ended.
func (q *Queue) Remove(ctx context.Context, id string) error {
	q = receiver.OrZero(q)
	const op = "remove a task of"
	for {
		err := q.tryChangeTask(ctx, op, id, func(c *taskChange, t *seen) (transaction, error) {
			if !t.State.Finished() {
				return nil, errUnfinished
			}
			c.noteAttempt(t, record{})
			return q.deleteTask(id, t.Run, t.version), nil
		})
		switch {
		case errors.Is(err, errTaskGone):
			return nil // removed by a try whose reply was lost, or by another client
		case errors.Is(err, ErrRecord) && !isNewer(err):
			return q.removeGarbage(ctx, op, id, err)
		case !errors.Is(err, errUnfinished):
			return q.reportUnknown(ctx, op, err)
		}
		if err := q.Cancel(ctx, id); err != nil && !errors.Is(err, ErrState) {
			return err
		}
	}
}

// errUnfinished: the task must be canceled before it is removed.
var errUnfinished = fmt.Errorf("%w: it has not ended", ErrState)

// Purge removes the tasks that are in one of the wanted states, as [Queue.Remove] does, and
// returns the number of removed tasks. The state "" stands for tasks whose records are
// garbage; their payloads and results are removed as well. Records of a newer version of
// this package are not garbage, and stay. Every call also removes payloads and results
// whose task was deleted by hand; a master removes these within an hour and a half. Tasks
// that are submitted, or change their state, during the call may be left.
//
// Purge takes as many requests as [Queue.List], 771 more, and the requests of the removals.
// If Purge fails, some tasks may have been removed already; the call can be repeated.
func (q *Queue) Purge(ctx context.Context, wanted ...State) (removed int, err error) {
	q = receiver.OrZero(q)
	const op = "purge"
	if err = q.checkCall(ctx); err == nil {
		err = checkStates(wanted)
	}
	p := &purgeCall{q: q, wanted: wanted}
	if err == nil {
		err = retryConflicts(ctx, q.client, func(s *session.Session) error { return p.listTasks(ctx, s) })
	}
	for _, id := range p.ids {
		if err != nil {
			break
		}
		if err = q.Remove(ctx, id); err == nil {
			removed++
		} else if errors.Is(err, ErrNoTask) {
			err = nil // another client was faster
		}
	}
	if err == nil {
		err = retryConflicts(ctx, q.client, func(s *session.Session) error { return p.deleteStrays(ctx, s) })
		removed += p.deleted
	}
	if err != nil {
		return removed, wrapError(ctx, op, q.Path(), err)
	}
	return removed, nil
}

// checkStates checks the states whose tasks are to be removed.
func checkStates(wanted []State) error {
	if len(wanted) == 0 {
		return fmt.Errorf("%w: states is empty; it must name at least one", ErrInvalidArgument)
	}
	for _, state := range wanted {
		if state != "" && !slices.Contains(taskformat.States(), taskformat.State(state)) {
			return fmt.Errorf("%w: state is %q; it must be one of %q", ErrInvalidArgument, state, taskformat.States())
		}
	}
	return nil
}

// purgeCall is a call of Purge.
type purgeCall struct {
	q      *Queue
	wanted []State
	reads  optimistic.Batches
	ids    []string // of the tasks that are to be removed
	// garbage are the names of records that are garbage, deleted counts the deleted
	// tasks.
	garbage map[string]bool
	deleted int
}

func (p *purgeCall) listTasks(ctx context.Context, s *session.Session) error {
	p.ids, p.garbage = nil, map[string]bool{}
	found, err := p.q.listTasks(ctx, s, &p.reads, p.wanted)
	for _, t := range found {
		if t.Err == nil {
			p.ids = append(p.ids, t.ID)
		} else if slices.Contains(p.wanted, "") && !isNewer(t.Err) {
			p.garbage[t.ID] = true
		}
	}
	return err
}

// deleteStrays deletes payloads and results without a task, and, if wanted, garbage
// records. Payloads and results are listed before the tasks. A payload or result whose task
// is missing then never gets a task later: a task is created together with its payload, and
// ends together with the creation of its result.
func (p *purgeCall) deleteStrays(ctx context.Context, s *session.Session) error {
	var parts []string
	for _, dir := range []string{dataDir, resultsDir} {
		paths, err := p.q.listPaths(ctx, s, dir)
		if err != nil {
			return err
		}
		parts = append(parts, paths...)
	}
	tasks, err := p.q.listPaths(ctx, s, tasksDir)
	if err != nil {
		return err
	}
	has := map[string]bool{} // tasks that can be read
	for _, path := range tasks {
		if !p.garbage[znode.Base(path)] {
			has[p.q.taskOf(path)] = true
			continue
		}
		gone, err := p.q.deleteGarbage(ctx, path)
		if err != nil {
			return err
		}
		if gone {
			p.deleted++
		}
	}
	for _, path := range parts {
		if task := p.q.taskOf(path); !has[task] {
			if err := unlessChanged(p.q.applyTxn(ctx, p.q.deletePart(path))); err != nil {
				return err
			}
		}
	}
	return nil
}

// taskOf is the path of the task that a task, a payload, or a result belongs to.
func (l layout) taskOf(path string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(path, string(l)+"/"), "/")
	name, _, _ := strings.Cut(rest, partMark)
	return l.at(tasksDir, name)
}

// removeGarbage removes a task whose record is garbage, as why says.
func (q *Queue) removeGarbage(ctx context.Context, op, id string, why error) error {
	task, gone := q.taskPath(id), false
	err := retryConflicts(ctx, q.client, func(s *session.Session) (err error) {
		if gone, err = q.deleteGarbage(ctx, task); err != nil || !gone {
			return err
		}
		r := newReading(ctx, s)
		parts := []string{q.resultPath(id)}
		for _, name := range r.List(q.at(dataDir, bucketOf(id))) {
			if path := q.at(dataDir, bucketOf(id), name); q.taskOf(path) == task {
				parts = append(parts, path)
			}
		}
		for _, path := range parts {
			if r.Err == nil {
				r.Err = unlessChanged(q.applyTxn(ctx, q.deletePart(path)))
			}
		}
		return r.Err
	})
	switch {
	case err != nil:
		return wrapError(ctx, op, q.Path(), err)
	case !gone:
		return why
	}
	return nil
}

// deleteGarbage deletes a record, if it is garbage still. gone says that the record
// does not exist. Garbage names no run, and a later task of its id can have its version. So each
// deletion of garbage depends on the version of the bucket of payloads, read before, and sets it.
func (q *Queue) deleteGarbage(ctx context.Context, task string) (gone bool, err error) {
	bucket := q.at(dataDir, znode.Base(znode.Parent(task)))
	err = q.applyTxn(ctx, func(tx *stm.Tx) error {
		payloads, now, err := getBehind(tx, bucket, task)
		gone = err == nil && !now.Exists
		if err != nil || gone {
			return err
		}
		if _, err := q.decodeTask(task, now.Data); err == nil || isNewer(err) {
			return nil
		}
		gone = true
		if payloads.Exists { // or it was deleted by hand, too
			err = errors.Join(tx.Depend(payloads), tx.Set(bucket, nil))
		}
		return errors.Join(err, tx.Delete(task))
	})
	return gone && err == nil, err
}

// unlessChanged is err, unless that says that the znode has gone or changed meanwhile.
func unlessChanged(err error) error {
	if isConflict(err) || errors.Is(err, session.ErrNoNode) || errors.Is(err, session.ErrBadVersion) {
		return nil
	}
	return err
}
