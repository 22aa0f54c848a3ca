package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// retryConflicts is [optimistic.Change]: records that never fit together were not written
// by this package.
func retryConflicts(ctx context.Context, client *session.Client, f func(s *session.Session) error) error {
	return optimistic.Change(ctx, client, ErrRecord, f)
}

// applyTxn applies a transaction, over lost connections and sessions, as long as ctx lasts.
// f recognizes the writes of an earlier attempt.
func (st *store) applyTxn(ctx context.Context, f func(tx *stm.Tx) error) error {
	_, err := st.applyResults(ctx, f)
	return err
}

// applyResults is apply, and returns the results of the writes.
func (st *store) applyResults(ctx context.Context, f func(tx *stm.Tx) error) ([]session.Result, error) {
	results, err := st.txs.ApplyResults(ctx, f)
	if errors.Is(err, stm.ErrConflicts) {
		err = fmt.Errorf("%w: it does not fit together: %w", ErrRecord, err)
	}
	return results, err
}

// applyOnce is applyTxn of a transaction that nothing recognizes: if its reply is lost, the
// outcome is unknown.
func (st *store) applyOnce(ctx context.Context, f func(tx *stm.Tx) error) error {
	err := st.applyTxn(ctx, func(tx *stm.Tx) error {
		if tx.Unanswered() {
			return errUnanswered
		}
		return f(tx)
	})
	if errors.Is(err, errUnanswered) {
		return &session.UnknownOutcomeError{Op: "apply", Path: string(st.layout), Reason: errUnanswered}
	}
	return err
}

// errUnanswered: the reply to a transaction is missing.
var errUnanswered = errors.New("no reply")

// applyIn is applyOnce in s alone, for ephemeral znodes of s.
func (st *store) applyIn(ctx context.Context, s *session.Session, f func(tx *stm.Tx) error) error {
	return st.applyOnce(ctx, func(tx *stm.Tx) error {
		if tx.Session() != s {
			return cmp.Or(s.Err(), session.ErrLost)
		}
		return f(tx)
	})
}

// newReading reads in s.
func newReading(ctx context.Context, s *session.Session) *optimistic.Reading {
	return &optimistic.Reading{Ctx: ctx, Session: s}
}

// decodeTask decodes the record of the task on path. A record of another task, which was
// copied by hand, is garbage.
func (l layout) decodeTask(path string, data []byte) (record, error) {
	rec, err := decode[record](data)
	if err == nil && l.taskPath(rec.ID) != path {
		err = fmt.Errorf("%w: it is the record of the task %q", ErrRecord, rec.ID)
	}
	if err != nil {
		return record{}, fmt.Errorf("%s: %w", path, err)
	}
	return rec, nil
}

// decodeSeen decodes the task that was read on path; nil if there is none.
func (l layout) decodeSeen(path string, node session.Seen) (*seen, error) {
	if !node.Exists {
		return nil, nil
	}
	rec, err := l.decodeTask(path, node.Data)
	if err != nil {
		return nil, err
	}
	t := seenAs(rec, node.Stat)
	return &t, nil
}

// readTask reads a task behind a sync; nil if there is none, which is proved.
func (l layout) readTask(ctx context.Context, s *session.Session, id string) (*seen, error) {
	r := newReading(ctx, s)
	r.Sync(l.taskPath(id))
	node := r.Get(l.taskPath(id))
	if r.Err == nil && !node.Exists {
		r.Fresh(l.taskPath(id), func() { node = r.Get(l.taskPath(id)) })
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return l.decodeSeen(l.taskPath(id), node)
}

// getBehind reads a bucket, and path behind it, in one round trip. The transaction depends on
// path; it is for the caller to depend on the bucket, which is set whenever a znode is deleted
// that a later znode of path could be mistaken for.
func getBehind(tx *stm.Tx, bucket, path string) (first, node stm.Node, err error) {
	nodes, err := tx.Peek(bucket, path) // in this order
	if err != nil {
		return stm.Node{}, stm.Node{}, err
	}
	return nodes[0], nodes[1], tx.Depend(nodes[1])
}

// ifUnchanged is nil if the transaction has known for read, and optimistic.ErrChanged if
// an earlier attempt has shown that known is out of date. Its Czxid tells it from a znode that
// was created again, and has its version.
func ifUnchanged(tx *stm.Tx, known stm.Node) error {
	now, err := tx.Get(known.Path)
	if err == nil && (now.Exists != known.Exists || now.Stat.Version != known.Stat.Version || now.Stat.Czxid != known.Stat.Czxid) {
		err = optimistic.ErrChanged
	}
	return err
}

// stopWatch ends the watch of a read, if any.
func stopWatch(seen session.Seen) {
	if seen.Watch != nil {
		seen.Watch.Stop()
	}
}
