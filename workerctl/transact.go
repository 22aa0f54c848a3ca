package workerctl

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// Every change of a job's members is a transaction of package stm that depends on the
// job's status. All other znodes that the transaction reads change only together with the
// status, so they need no conditions of their own. Each function recognizes by the claim of
// a member, or by the status, that its transaction was applied.

// mostRepairs bounds the consecutive repairs of a job in one call.
const mostRepairs = 100

// newTransactor makes the job's Transactor. Colliding calls queue up: with n
// concurrent calls, each success would cost the others an attempt, n squared
// attempts in all.
func (j *Job) newTransactor() *stm.Transactor {
	return stm.NewIdempotent(j.client, string(j.run), &stm.Options{Queue: j.enterQueue, ACL: j.opts.ACL})
}

// enterQueue waits for the job's lock. A client without permission for the lock
// continues without queuing: the parent of the lock may belong to another job's
// owner.
func (j *Job) enterQueue(ctx context.Context) (leave func(), err error) {
	held, err := j.line.Lock(ctx)
	switch {
	case err == nil:
		// If ctx ends first, the deletion continues in the background. Nothing
		// depends on a loss of the lock in between.
		return func() { _ = held.Unlock(ctx) }, nil
	case errors.Is(err, session.ErrNoAuth):
		return nil, nil
	}
	return nil, err
}

// applyTxn applies a transaction that changes the job. If the servers refuse the
// transaction because a part of the job was deleted by hand, this part is
// created again.
func (j *Job) applyTxn(ctx context.Context, f func(tx *stm.Tx) error) ([]session.Result, error) {
	for repairs := 0; ; repairs++ {
		results, err := j.txs.ApplyResults(ctx, f)
		switch {
		case err == nil, errors.Is(err, session.ErrUnknownOutcome):
			return results, err
		case errors.Is(err, stm.ErrConflicts), repairs == mostRepairs:
			return nil, fmt.Errorf("%w: it does not fit together: %w", ErrRecord, err)
		}
		if repaired, err := j.repairJob(ctx, err); !repaired {
			return nil, err
		}
	}
}

// readStatus reads the status and makes the transaction depend on the status.
// The nodes of others are read in the same round trip, without a dependence. A
// run without a status was removed.
func (j *Job) readStatus(tx *stm.Tx, others ...string) (st status, nodes []stm.Node, err error) {
	nodes, err = tx.Peek(append([]string{j.run.statePath()}, others...)...)
	if err == nil {
		err = tx.Depend(nodes[0])
	}
	switch {
	case err != nil:
		return st, nil, err
	case !nodes[0].Exists:
		return st, nil, ErrOver
	}
	st, err = decodeStatus(nodes[0].Data)
	return st, nodes[1:], spoiledError(nodes[0].Path, err)
}

// readMember reads the member with this id, without a dependence of the
// transaction; nil if missing.
func (j *Job) readMember(tx *stm.Tx, id int) (*member, stm.Node, error) {
	nodes, err := tx.Peek(j.run.memberPath(id))
	if err != nil || !nodes[0].Exists {
		return nil, stm.Node{}, err
	}
	m, err := memberOf(strconv.Itoa(id), nodes[0].Data)
	return &m, nodes[0], spoiledError(nodes[0].Path, err)
}

// setStatus sets the status; the transaction must have read the status before.
func (j *Job) setStatus(tx *stm.Tx, next status) error {
	return tx.Set(j.run.statePath(), encode(next))
}

// setSize sets the size, and so wakes the callers that wait for a change of the
// job.
func (j *Job) setSize(tx *stm.Tx, workers int) error {
	return tx.Set(j.run.at(jobformat.NodeSize), []byte(strconv.Itoa(workers)))
}

// createNode creates a persistent znode below the run.
func (j *Job) createNode(tx *stm.Tx, path string, data []byte) error {
	return tx.Create(path, data, session.Persistent, j.opts.createOptions())
}
