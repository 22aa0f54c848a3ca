package workerctl

import (
	"context"
	"errors"
	"strconv"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// retryConflicts is [optimistic.Change]; znodes that never fit together are not from
// this package. A negative answer of f counts only if f has read everything
// committed before the call: a leader that has lost its followers answers a
// sync by itself.
func retryConflicts(ctx context.Context, client *session.Client, f func(s *session.Session) error) error {
	return optimistic.Change(ctx, client, ErrRecord, func(s *session.Session) error {
		err := f(s)
		if !isNegative(err) {
			return err
		}
		if err := s.ReadFresh(ctx, "/", func() error { return s.Sync(ctx, "/") }); err != nil {
			return err
		}
		return f(s)
	})
}

// readFresh is retryConflicts for reads only. All answers, negative or not, include
// everything committed before the call.
func readFresh(ctx context.Context, client *session.Client, read func(s *session.Session) error) error {
	return optimistic.Change(ctx, client, ErrRecord, func(s *session.Session) error {
		return optimistic.ReadFresh(ctx, s, "/", isNegative, func() error { return read(s) })
	})
}

// isNegative reports whether err describes the state of a job, which may be out
// of date.
func isNegative(err error) bool {
	var used *InUseError
	return errors.Is(err, ErrNoJob) || errors.Is(err, ErrOver) || errors.Is(err, ErrFull) || errors.Is(err, ErrRunning) || errors.As(err, &used)
}

// reading is [optimistic.Reading] of a job's records.
type reading struct{ optimistic.Reading }

func newReading(ctx context.Context, s *session.Session) *reading {
	return &reading{optimistic.Reading{Ctx: ctx, Session: s}}
}

// decodeStatus decodes j's state node. A run without a state node was removed.
func (r *reading) decodeStatus(j *Job, seen session.Seen) (st status, version int32) {
	switch {
	case r.Err != nil:
		return st, 0
	case !seen.Exists:
		r.Err = ErrOver
		return st, 0
	}
	st, err := decodeStatus(seen.Data)
	r.Err = spoiledError(j.run.statePath(), err)
	return st, seen.Stat.Version
}

// readStatus reads the status of j.
func (r *reading) readStatus(j *Job) (st status, version int32) {
	return r.decodeStatus(j, r.Get(j.run.statePath()))
}

// decodeMember decodes the member of j with this id; nil if missing.
func (r *reading) decodeMember(j *Job, seen session.Seen, id int) *member {
	if r.Err != nil || !seen.Exists {
		return nil
	}
	m, err := memberOf(strconv.Itoa(id), seen.Data)
	if r.Err = spoiledError(j.run.memberPath(id), err); err != nil {
		return nil
	}
	return &m
}

// pathsBelow returns the path of each of names below dir.
func pathsBelow(dir string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = dir + "/" + name
	}
	return out
}
