package workerctl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// errValid is the error of a job that is not damaged.
var errValid = errors.New("the record of the job can be read: Job.Kill ends the job, Job.Remove removes a job that is over")

// DeleteDamaged deletes the znode of the named job with all descendants, if its
// data is not a record of this package. No other call finds such a job, and its
// name stays taken. The workers of the job lose their holds. Nothing is deleted
// if the record can be read, or if a newer version of this package wrote it
// (ErrRecord). The error wraps ErrNoJob if no such znode exists.
//
// Every deletion depends on the version of the znode: after a concurrent repair
// of the record, or submission of a job of the same name, nothing more is
// deleted.
func (n *Janitor) DeleteDamaged(ctx context.Context, name string) error {
	n = receiver.OrZero(n)
	const op = "delete the damaged job"
	err := n.checkCall(ctx)
	if err == nil && name == "" {
		err = fmt.Errorf("%w: the name is empty", ErrInvalidArgument)
	}
	if err != nil {
		return wrapError(ctx, op, n.opts.Root, err)
	}
	d := &demolition{path: n.opts.Root + "/" + session.EscapeName(name)}
	if err := retryConflicts(ctx, n.client, func(s *session.Session) error { return d.tryDelete(ctx, s) }); err != nil {
		return wrapError(ctx, op, d.path, err)
	}
	return nil
}

// demolition is a call of DeleteDamaged. created is the czxid of the damaged znode, once the
// znode was read.
type demolition struct {
	path    string
	created int64
}

// tryDelete deletes the job, or the rest after an earlier try.
func (d *demolition) tryDelete(ctx context.Context, s *session.Session) error {
	seen, there, err := d.readJob(ctx, s)
	switch {
	case err != nil:
		return err
	case d.created != 0 && (!there || seen.Stat.Czxid != d.created):
		return nil // already deleted, by any caller
	case !there:
		return ErrNoJob
	}
	if err := checkFormat(seen.Data); err != nil {
		return err
	}
	if _, err := jobOf(znode.Base(d.path), seen.Data); err == nil {
		return errValid
	}
	d.created = seen.Stat.Czxid
	version := seen.Stat.Version
	if version == 0 {
		if done, err := d.leaveVersionZero(ctx, s, seen.Data); done || err != nil {
			return changedError(err)
		}
		version = 1
	}
	return changedError(d.deleteAll(ctx, s, version))
}

// leaveVersionZero sets the znode, which was read: the znode of the next job of this name has the
// version 0 and is never set, so a check of another version never hits it. A child, whose name the
// next job does not have, tells the znode from that of the next job. Without a child, the znode is
// deleted, and done is true: the next job always has children.
func (d *demolition) leaveVersionZero(ctx context.Context, s *session.Session, data []byte) (done bool, err error) {
	r := newReading(ctx, s)
	children := r.List(d.path)
	now := r.Get(d.path) // behind the list, which therefore is of this znode
	switch {
	case r.Err != nil:
		return false, r.Err
	case now.Stat.Czxid != d.created:
		return false, optimistic.ErrChanged
	}
	ops := []session.Op{session.DeleteOp(d.path, 0)}
	if len(children) > 0 {
		ops = []session.Op{session.CheckOp(d.path+"/"+children[0], -1), session.SetOp(d.path, data, 0)}
	}
	_, err = s.Txn(ctx, ops...)
	return err == nil && len(children) == 0, err
}

// readJob reads the job's znode.
func (d *demolition) readJob(ctx context.Context, s *session.Session) (seen session.Seen, there bool, err error) {
	err = s.ReadFresh(ctx, "/", func() error {
		r := newReading(ctx, s)
		seen = r.Get(d.path)
		there = seen.Exists
		return r.Err
	})
	return seen, there, err
}

// deleteAll deletes everything while the job's znode has the version that was read. The
// znodes that stand for a running job are deleted first, so that the workers of the job
// see that the job is over.
func (d *demolition) deleteAll(ctx context.Context, s *session.Session, version int32) error {
	levels, err := d.listLevels(ctx, s)
	if err != nil {
		return err
	}
	var all []string
	if len(levels) > 1 {
		for i, path := range levels[1] {
			if znode.Base(path) == jobformat.NodeState {
				all = append(all, path)
				levels[1] = slices.Delete(levels[1], i, i+1)
				break
			}
		}
	}
	for _, level := range slices.Backward(levels) {
		all = append(all, level...)
	}
	check := session.CheckOp(d.path, version)
	for chunk := range slices.Chunk(all, together) {
		ops := []session.Op{check}
		for _, path := range chunk {
			ops = append(ops, session.DeleteOp(path, -1))
		}
		if _, err := s.Txn(ctx, ops...); err != nil {
			return err
		}
	}
	return s.Delete(ctx, d.path, version)
}

// listLevels lists the descendants of the job's znode: its children, their
// children, and so on.
func (d *demolition) listLevels(ctx context.Context, s *session.Session) (levels [][]string, err error) {
	for parents := []string{d.path}; len(parents) > 0; {
		var level []string
		r := newReading(ctx, s)
		for chunk := range slices.Chunk(parents, together) {
			for i, seen := range r.ListAll(chunk...) {
				level = append(level, pathsBelow(chunk[i], seen.Children)...)
			}
		}
		if r.Err != nil {
			return nil, r.Err
		}
		if len(level) > 0 {
			levels = append(levels, level)
		}
		parents = level
	}
	return levels, nil
}

// changedError returns ErrChanged if err only shows that the job has changed since the
// read, otherwise err.
func changedError(err error) error {
	for _, changed := range []error{session.ErrBadVersion, session.ErrNoNode, session.ErrNotEmpty} {
		if errors.Is(err, changed) {
			return optimistic.ErrChanged
		}
	}
	return err
}
