package workerctl

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Wait waits until the job is over, and returns its outcome, even if the job has
// been removed. The error wraps ErrOver if the record of the outcome is gone; see
// Options.Retention.
//
// When ctx ends by its deadline, the error is a [MissingError] with the workers
// that have not left, unless the client has no connection; an unresponsive
// server may delay the error by a second. With Options.FailFast, Wait ends as
// soon as a worker has died or failed: the error is a MissingError that does
// not wrap context.DeadlineExceeded.
func (j *Job) Wait(ctx context.Context) (Info, error) {
	j = receiver.OrZero(j)
	const op = "wait for the end of"
	if err := j.checkCall(ctx); err != nil {
		return Info{}, wrapError(ctx, op, j.Path(), err)
	}
	err := j.orFault(ctx, j.awaitOver)
	var faulty *MissingError
	switch {
	case errors.Is(err, ErrOver), errors.As(err, &faulty):
		// If the job ends when its last worker fails, its end is reported.
		out, e := j.readOutcome(ctx)
		if e == nil && out.State.Over() {
			return out, nil
		}
		if faulty == nil {
			err = e
		}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = j.missingError(ctx, err, j.listStaying)
	}
	return Info{}, wrapError(ctx, op, j.Path(), err)
}

// listStaying are the ids whose workers have not left, and the unassigned ids.
func (j *Job) listStaying(ctx context.Context, st status) ([]int, error) {
	list, err := j.verifyMembers(ctx, idsFrom(0, st.Next))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(idsFrom(0, st.Workers), func(id int) bool {
		m, joined := list[id]
		return joined && m.State.hasLeft()
	}), nil
}

// Ended lists the jobs named name (all jobs if name is empty) that have ended
// and were removed within Options.Retention, the latest last. For an existing
// job, use [Attach].
func (n *Janitor) Ended(ctx context.Context, name string) ([]Info, error) {
	n = receiver.OrZero(n)
	const op = "find the ended jobs of"
	if err := n.checkCall(ctx); err != nil {
		return nil, wrapError(ctx, op, n.opts.Root, err)
	}
	dir, out := n.opts.Root+"/"+jobformat.DirEnded, []endedJob(nil)
	err := readFresh(ctx, n.client, func(s *session.Session) error {
		out = nil
		r := newReading(ctx, s)
		names := slices.DeleteFunc(r.List(dir), func(child string) bool {
			return name != "" && !jobformat.IsEndedName(child, session.EscapeName(name))
		})
		for chunk := range slices.Chunk(names, together) {
			for _, one := range r.GetAll(pathsBelow(dir, chunk)...) {
				// Data that is not a record of this package is ignored.
				if record, err := decodeEnding(one.Data); one.Exists && err == nil && (name == "" || record.Name == name) {
					out = append(out, endedJob{infoOf(record), one.Stat.Czxid})
				}
			}
		}
		return r.Err
	})
	if err != nil {
		return nil, wrapError(ctx, op, n.opts.Root, err)
	}
	slices.SortFunc(out, func(a, b endedJob) int { return cmp.Compare(a.zxid, b.zxid) })
	infos := make([]Info, len(out))
	for i, one := range out {
		infos[i] = one.Info
	}
	return infos, nil
}

// endedJob is a job that has ended; zxid orders jobs that ended in the same
// millisecond.
type endedJob struct {
	Info
	zxid int64
}

// readOutcome reads how the job ended: from its status, or, after its removal, from the
// record of its outcome; ErrOver if neither exists.
func (j *Job) readOutcome(ctx context.Context) (out Info, err error) {
	err = readFresh(ctx, j.client, func(s *session.Session) error {
		// The status is read first: the record of the outcome is written before the
		// status is deleted.
		r := newReading(ctx, s)
		seen := r.GetAll(j.run.statePath(), j.run.endedPath())
		at, end := seen[0], seen[1]
		switch {
		case r.Err != nil:
			return r.Err
		case at.Exists:
			st, err := decodeStatus(at.Data)
			if err != nil {
				return spoiledError(j.run.statePath(), err)
			}
			out = j.describeJob(st, 0)
			out.Ended = time.UnixMilli(at.Stat.Mtime)
			return nil
		case !end.Exists:
			return ErrOver
		}
		record, err := decodeEnding(end.Data)
		out = j.describeJob(statusOf(record), 0)
		out.Ended = record.Ended.Local()
		return err
	})
	return out, err
}

// newEnding is the record of the outcome of a job with status st.
func (j *Job) newEnding(st status, stat session.Stat) ending {
	return ending{
		Format: jobformat.Format, ID: j.record.ID, Name: j.record.Name, State: st.State, Workers: st.Workers, Joined: st.Next, Left: st.Left,
		Failed: st.Failed, Created: j.record.Created, Ended: time.UnixMilli(stat.Mtime).UTC(),
	}
}

// infoOf is the Info of an ended job by its record.
func infoOf(e ending) Info {
	return Info{
		ID: e.ID, Name: e.Name, State: State(e.State), Workers: e.Workers, Joined: e.Joined, Left: e.Left, Failed: e.Failed,
		Created: e.Created, Ended: e.Ended.Local(),
	}
}

// statusOf is the last status of an ended job by its record.
func statusOf(e ending) status {
	return status{State: e.State, Workers: e.Workers, Next: e.Joined, Left: e.Left, Failed: e.Failed}
}
