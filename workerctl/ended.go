package workerctl

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// recordEnd stores the outcome before the job is removed. The transaction
// checks that the job still exists: after the removal the record may have been
// deleted already, and a slow remover must not write another. If the server
// refuses the record, the job is removed without one.
func (j *Job) recordEnd(ctx context.Context, s *session.Session) error {
	if j.opts.Retention < 0 {
		return nil
	}
	record := func(tx *stm.Tx) error {
		st, _, err := j.readStatus(tx)
		if err != nil || !st.State.Over() {
			return errors.Join(errNoEnd, err) // garbage does not tell how the job ended
		}
		at, err := tx.Get(j.run.statePath())
		return errors.Join(err, j.createNode(tx, j.run.endedPath(), encode(j.newEnding(st, at.Stat))))
	}
	err := j.txs.Apply(ctx, record)
	if path, refused := optimistic.Culprit(err); path == j.run.endedPath() && errors.Is(refused, session.ErrNoNode) {
		if err = s.EnsurePath(ctx, j.opts.Root+"/"+jobformat.DirEnded, session.Container, j.opts.createOptions()); err == nil {
			err = j.txs.Apply(ctx, record)
		}
	}
	switch {
	case err == nil:
		return pruneSome(ctx, s, j.opts, j.run.endedPath(), time.Time{})
	case errors.Is(err, session.ErrNodeExists), errors.Is(err, session.ErrNoAuth), errors.Is(err, errNoEnd):
		return nil // also if another client has removed the job
	}
	return err
}

// errNoEnd: there is no end to record.
var errNoEnd = errors.New("the job has no status that says how it ended")

// pruneEnded deletes the records of outcomes older than Options.Retention. It writes the
// folder first, because the reply has the servers' time: the own clock may be wrong.
func pruneEnded(ctx context.Context, client *session.Client, opts Options) error {
	if opts.Retention < 0 {
		return nil
	}
	return retryConflicts(ctx, client, func(s *session.Session) error {
		stat, err := s.Set(ctx, opts.Root+"/"+jobformat.DirEnded, nil, -1)
		switch {
		case errors.Is(err, session.ErrNoNode), errors.Is(err, session.ErrNoAuth):
			return nil // there are no records, or they must stay
		case err != nil || stat.NumChildren == 0:
			return err
		}
		return pruneSome(ctx, s, opts, "", time.UnixMilli(stat.Mtime))
	})
}

// pruneSome is pruneEnded in one session, at the servers' time now. After the write of the
// record newest, the record's creation tells the time, and pruneSome reads only some of
// the other records: the records after newest in the order of the names. So each end of a
// job costs a constant number of requests, and every record has its turn.
func pruneSome(ctx context.Context, s *session.Session, opts Options, newest string, now time.Time) error {
	dir := opts.Root + "/" + jobformat.DirEnded
	r := newReading(ctx, s)
	names := r.List(dir)
	slices.Sort(names)
	if newest != "" {
		at, _ := slices.BinarySearch(names, newest[len(dir)+1:])
		names = slices.Concat(names[at:], names[:at])
		names = names[:min(len(names), together)]
	}
	for chunk := range slices.Chunk(names, together) {
		seen, _ := r.GetReadable(pathsBelow(dir, chunk)...)
		var old []string
		for i, one := range seen {
			if !one.Exists {
				continue // gone, or not readable
			}
			created := time.UnixMilli(one.Stat.Ctime)
			if dir+"/"+chunk[i] == newest {
				now = created
			}
			if now.Sub(created) > opts.Retention {
				old = append(old, dir+"/"+chunk[i])
			}
		}
		_ = optimistic.DeleteAll(ctx, s, old...) // on failure, the next call deletes them
	}
	return r.Err
}
