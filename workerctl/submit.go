package workerctl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// Submit creates a job for workers to join. o may be nil.
//
// A job of the same name that is over, or abandoned (see Options.Abandoned), is
// removed before. If such a job is running, or was submitted and waits for its
// workers, the error wraps ErrRunning, even if no worker is alive at the moment.
// Of several processes that submit a job of one name at the same time, one
// succeeds; the others may [Attach] to the job.
//
// If the reply is lost, Submit finds out: the job exists, or nothing below the
// root has changed. If neither can be seen, because jobs have come or gone
// meanwhile, ctx ends, or the client is closed, the error wraps
// session.ErrUnknownOutcome: the job may have been submitted, and may even be
// over. A job is never submitted twice.
func Submit(ctx context.Context, client *session.Client, spec Spec, o *Options) (*Job, error) {
	const op = "submit"
	opts, err := checkArguments(ctx, client, spec.Name, o)
	if err == nil {
		err = spec.validate()
	}
	if err != nil {
		return nil, wrapError(ctx, op, spec.Name, err)
	}
	j := newJob(client, opts, job{
		Format: jobformat.Format, ID: session.NewID(), Name: spec.Name, ReuseIDs: spec.ReuseIDs,
		Metadata: maps.Clone(spec.Metadata), Created: time.Now().Round(0),
	})
	sub := &submission{Job: j, workers: spec.Workers}
	err = retryConflicts(ctx, client, func(s *session.Session) error { return sub.trySubmit(ctx, s) })
	if err == nil {
		err = sub.unknown
	}
	if err != nil {
		return nil, j.reportUnknown(ctx, op, wrapError(ctx, op, j.Path(), err))
	}
	return j, nil
}

func (spec Spec) validate() error {
	if spec.Workers < 1 || spec.Workers > jobformat.MaxWorkers {
		return fmt.Errorf("%w: Workers is %d; it must be 1 to %d", ErrInvalidArgument, spec.Workers, jobformat.MaxWorkers)
	}
	return checkTexts("Metadata", spec.Metadata)
}

// submission is a call of Submit.
type submission struct {
	*Job
	workers int
	// unanswered is the error of an unanswered request, sent its session. before
	// is the zxid of the last change of the root's children before the request;
	// 0 without a root.
	unanswered error
	sent       *session.Session
	before     int64
	// unknown is unanswered, if the outcome cannot be found out.
	unknown error
}

// trySubmit submits the job once, or finds out the outcome of the last try.
func (sub *submission) trySubmit(ctx context.Context, s *session.Session) error {
	if sub.unanswered != nil {
		if done, err := sub.findOutcome(ctx, s); done || err != nil {
			return err
		}
		sub.unanswered = nil
	}
	root, _, err := s.Exists(ctx, sub.opts.Root)
	if err != nil {
		return err
	}
	_, err = s.Txn(ctx, sub.createOps()...)
	switch {
	case errors.Is(err, session.ErrUnknownOutcome):
		sub.unanswered, sub.sent, sub.before = err, s, root.Pzxid
	case errors.Is(err, session.ErrNodeExists):
		return sub.replaceJob(ctx, err)
	case errors.Is(err, session.ErrNoNode):
		if e := s.EnsurePath(ctx, sub.opts.Root, session.Persistent, sub.opts.createOptions()); e != nil {
			return e
		}
	}
	return err
}

// findOutcome finds out the outcome of an unanswered request, and reports whether the
// submission is done. A missing job may have existed before: the job may
// already be over and removed.
func (sub *submission) findOutcome(ctx context.Context, s *session.Session) (done bool, err error) {
	var seen session.Seen
	changed := false
	err = s.ReadFresh(ctx, "/", func() error {
		// The root first: if the request itself has changed the root, the job
		// exists.
		r := newReading(ctx, s)
		now := r.GetAll(sub.opts.Root, sub.Path())
		changed, seen = now[0].Stat.Pzxid != sub.before, now[1]
		return r.Err
	})
	if err != nil {
		return false, err
	}
	if record, err := jobOf(session.EscapeName(sub.Name()), seen.Data); err == nil && record.ID == sub.ID() {
		return true, nil
	}
	// The servers may still keep a session that was given up, and carry out its
	// request later.
	if over := sub.sent.Err(); changed || over != nil && !errors.Is(over, session.ErrExpired) {
		sub.unknown = sub.unanswered
		return true, nil
	}
	return false, nil
}

// createOps are the operations that create the job and everything in it. They form
// one transaction, so a client sees all of the job or nothing.
func (sub *submission) createOps() []session.Op {
	put := func(path string, data []byte) session.Op {
		return session.CreateOp(path, data, session.Persistent, sub.opts.createOptions())
	}
	ops := []session.Op{
		put(sub.Path(), encode(sub.record)),
		put(string(sub.run), nil),
		put(sub.run.statePath(), encode(status{State: submitted, Workers: sub.workers})),
		put(sub.run.at(jobformat.NodeSize), []byte(strconv.Itoa(sub.workers))),
	}
	for _, name := range jobformat.Folders() {
		ops = append(ops, put(sub.run.at(name), nil))
	}
	return ops
}

// replaceJob makes room for j, if the znode at its path may be removed. replaceJob
// returns the conflict, so j is submitted once more. If the existing job is j
// itself, an earlier request has arrived late, and replaceJob returns nil.
func (j *Job) replaceJob(ctx context.Context, inTheWay error) error {
	record, err := findRecord(ctx, j.client, j.Path())
	switch {
	case errors.Is(err, ErrNoJob):
		return inTheWay // just removed
	case err != nil:
		return err
	case record.ID == j.record.ID:
		return nil
	}
	other := newJob(j.client, j.opts, record)
	over, err := other.expireIdle(ctx)
	if err != nil && !errors.Is(err, ErrOver) {
		return err
	}
	if err == nil && !over {
		return ErrRunning
	}
	if err := other.removeJob(ctx); err != nil {
		return err
	}
	return inTheWay
}
