package workerctl

import (
	"context"
	"strconv"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// persist is [optimistic.Change]: what never fits together is not what this package
// writes.
func persist(ctx context.Context, client *session.Client, f func(s *session.Session) error) error {
	return optimistic.Change(ctx, client, ErrRecord, f)
}

// reading is [optimistic.Reading] of a job's records.
type reading struct{ optimistic.Reading }

func newReading(ctx context.Context) *reading {
	return &reading{optimistic.Reading{Ctx: ctx}}
}

// status reads a run's state node. A run that has none was removed.
func (r *reading) status(f *session.Future[session.Seen]) (st status, version int32) {
	seen, there := r.IfThere(f)
	switch {
	case r.Err != nil:
		return st, 0
	case !there:
		r.Err = ErrOver
		return st, 0
	}
	st, r.Err = decode[status](seen.Data)
	return st, seen.Stat.Version
}

// member reads the member that has the id; nil if there is none.
func (r *reading) member(f *session.Future[session.Seen], id int) (m *member, stat session.Stat) {
	seen, there := r.IfThere(f)
	if !there {
		return nil, stat
	}
	record, err := memberOf(strconv.Itoa(id), seen.Data)
	if err != nil {
		r.Err = err
		return nil, stat
	}
	return &record, seen.Stat
}

// sync lets the reads that are started behind it see all that was committed
// before.
func (j *Job) sync(s *session.Session) *session.Future[struct{}] {
	return s.StartSync(j.run.at(stateNode))
}
