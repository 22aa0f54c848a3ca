package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// An operator, or another program, may delete any znode of the queue. This file
// creates missing znodes again, when the master misses them: nothing is read for it
// before.

// lostOutput is the error text of a done task without its output.
const lostOutput = "the output is missing: the result was deleted or overwritten by hand"

// errPayload is the failure of a task whose payload is not the submitted one.
var errPayload = fmt.Errorf("%w: the payload is missing, or not what was submitted: it was deleted or changed by hand", ErrPermanent)

// folderNames are the folders of a queue, without masters, which the election makes, and
// admission, which has data.
func folderNames() []string {
	return []string{tasksDir, dataDir, resultsDir, aliveDir, workersDir, clientsDir}
}

// ensureFolders makes the folders that are missing. Repeating it changes nothing.
func (st *store) ensureFolders(ctx context.Context) error { return st.createFolders(ctx, false) }

// makeBucket makes the folders that a task is in. Repeating it changes nothing.
func (st *store) makeBucket(ctx context.Context, id string) error {
	name := bucketOf(id)
	create := func(tx *stm.Tx) error {
		nodes, err := st.readOrAssume(tx, true, st.at(dataDir, name), st.at(resultsDir, name), st.at(tasksDir, name))
		for _, n := range nodes {
			if err == nil && !n.Exists {
				err = tx.Create(n.Path, nil, session.Persistent, st.create)
			}
		}
		return err
	}
	err := st.applyTxn(ctx, create)
	if errors.Is(err, session.ErrNoNode) {
		if err = st.ensureFolders(ctx); err == nil {
			err = st.applyTxn(ctx, create)
		}
	}
	return err
}

// repairTask creates the missing znodes of a task again: its folders; its payload, as
// an empty one, which a worker notices; and the result of a task that has ended,
// without its output. A result that is not the task's own is deleted. An error that
// is a conflict means that the task has changed meanwhile.
func (st *store) repairTask(ctx context.Context, id string) error {
	if err := st.makeBucket(ctx, id); err != nil {
		return err
	}
	return st.client.Retry(ctx, func(s *session.Session) error {
		t, err := st.readTask(ctx, s, id)
		if t == nil || err != nil {
			return err
		}
		r := newReading(ctx, s)
		hasPayload := r.Exists(st.dataPath(id, t.Run))
		old := r.Get(st.resultPath(id))
		if r.Err == nil && !hasPayload {
			r.Err = st.replacePayload(ctx, s, t)
		}
		if r.Err != nil {
			return r.Err
		}
		return st.repairResult(ctx, t, old)
	})
}

// repairResult gives t the result that it should have, instead of old.
func (st *store) repairResult(ctx context.Context, t *seen, old session.Seen) error {
	next, output, err := t.repairedResult(old.Data, old.Exists)
	if err != nil || old.Exists && next != nil && string(encodeResult(*next, output)) == string(old.Data) {
		return err
	}
	if !old.Exists && next == nil {
		return nil
	}
	edits := transaction{requireNode(st.dataPath(t.ID, t.Run))}
	if old.Exists {
		edits = append(edits, deleteNode(st.resultPath(t.ID), old.Stat.Version))
	}
	if next != nil {
		edits = append(edits, createNode(st.resultPath(t.ID), encodeResult(*next, output)))
	}
	return st.applyIf(ctx, edits, t.asNode(st.layout), stm.Node{Path: st.resultPath(t.ID), Exists: old.Exists, Stat: old.Stat})
}

// asNode is the task as it was seen, as a condition.
func (t *seen) asNode(l layout) stm.Node {
	return stm.Node{Path: l.taskPath(t.ID), Exists: true, Stat: session.Stat{Version: t.version}}
}

// applyIf applies edits if the znodes are as they are known, and otherwise returns
// optimistic.ErrChanged.
func (st *store) applyIf(ctx context.Context, edits transaction, known ...stm.Node) error {
	first := true
	return st.applyTxn(ctx, func(tx *stm.Tx) error {
		if !first {
			return optimistic.ErrChanged
		}
		first = false
		for _, n := range known {
			if err := tx.Assume(n); err != nil {
				return err
			}
		}
		return edits.addTo(tx, st.create)
	})
}

// repairedResult is the result that t should have, nil for none. Garbage is replaced. A
// result of a newer version of this package is an error, if the task has ended.
func (t *seen) repairedResult(old []byte, there bool) (*ending, []byte, error) {
	if !t.State.Finished() {
		return nil, nil, nil
	}
	e, output, err := decodeResult(old)
	switch {
	case there && isNewer(err):
		return nil, nil, err
	case there && err == nil && e.Run == t.Run:
		e.Version = t.version
		return &e, output, nil
	}
	e = t.toResult(t.version)
	if t.State == done {
		e.Error = lostOutput
	}
	return &e, nil, nil
}

// replacePayload creates an empty payload in place of a missing payload. The task is read
// again afterwards: if it was removed meanwhile, and another task has its id and its
// version, the empty payload would stay indefinitely. A later removal deletes the payload.
func (st *store) replacePayload(ctx context.Context, s *session.Session, t *seen) error {
	path := st.dataPath(t.ID, t.Run)
	err := st.applyIf(ctx, transaction{createNode(path, nil)}, t.asNode(st.layout))
	if err != nil && !errors.Is(err, session.ErrNodeExists) {
		return err
	}
	now, err := st.readTask(ctx, s, t.ID)
	if err != nil {
		return err
	}
	if now == nil || now.Run != t.Run {
		err := st.applyTxn(ctx, func(tx *stm.Tx) error { return tx.Delete(path) })
		if err != nil && !errors.Is(err, session.ErrNoNode) {
			return err
		}
		return optimistic.ErrChanged
	}
	return nil
}

// isDamaged reports whether a transaction about a task has failed since a znode is missing
// that belongs to the task, or a result is in its way.
func (l layout) isDamaged(t *seen, err error) bool {
	path, reason := optimistic.Culprit(err)
	return errors.Is(reason, session.ErrNoNode) && (path == l.dataPath(t.ID, t.Run) || path == l.resultPath(t.ID)) ||
		errors.Is(reason, session.ErrNodeExists) && path == l.resultPath(t.ID)
}
