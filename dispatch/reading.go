package dispatch

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// persist is [optimistic.Change]: what never fits together is not what this package
// writes.
func persist(ctx context.Context, client *session.Client, f func(s *session.Session) error) error {
	return optimistic.Change(ctx, client, ErrRecord, f)
}

// reading is [optimistic.Reading] of a queue's records.
type reading struct{ optimistic.Reading }

func newReading(ctx context.Context) *reading {
	return &reading{optimistic.Reading{Ctx: ctx}}
}

// task reads a task; nil if there is none.
func (r *reading) task(f *session.Future[session.Seen]) *seen {
	got, there := r.IfThere(f)
	if !there {
		return nil
	}
	rec, err := decode[record](got.Data)
	if err != nil {
		r.Err = err
		return nil
	}
	return &seen{record: rec, version: got.Stat.Version, czxid: got.Stat.Czxid, mzxid: got.Stat.Mzxid}
}

// look reads a task; nil if there is none for sure. A task that is found may be
// as old as the server's data: what is written then is written on condition of
// its version.
func (l layout) look(ctx context.Context, s *session.Session, id string, surely bool) (*seen, error) {
	r := newReading(ctx)
	if !surely {
		t := r.task(s.StartGet(l.task(id), false))
		if t != nil || r.Err != nil {
			return t, r.Err
		}
	}
	synced, task := s.StartSync(l.task(id)), s.StartGet(l.task(id), false)
	r.Synced(synced)
	return r.task(task), r.Err
}
