package workerctl

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// expire reports whether the job is over. If no worker has lived for
// Options.Abandoned it ends the job before; if none lives now it sees to it that
// the time is counted from now on, or from when somebody else saw that.
//
// The time stands in the job's idle node: its data is the version of the status
// at the first look, and it is as old as the difference between its creation and
// its last change, by the servers' clock. Whoever joins or leaves changes the
// version of the status; so does not one who lives. What is found to be so twice,
// with the same version, was so all the time: who lives at a moment in between
// has joined after the first look, or before, and then lived during it.
func (j *Job) expire(ctx context.Context) (over bool, err error) {
	err = persist(ctx, j.client, func(s *session.Session) error {
		over, err = j.expireOnce(ctx, s)
		return err
	})
	return over, err
}

func (j *Job) expireOnce(ctx context.Context, s *session.Session) (over bool, err error) {
	r, idle := newReading(ctx), j.run.at(idleNode)
	// The status first: what comes after it has changed it.
	synced, state := j.sync(s), s.StartGet(j.run.at(stateNode), false)
	live, mark := s.StartExists(j.run.at(liveDir), false), s.StartGet(idle, false)
	r.Synced(synced)
	st, version := r.status(state)
	alive := r.Seen(live).Stat.NumChildren > 0
	seen, marked := r.IfThere(mark)
	if errors.Is(r.Err, session.ErrNoNode) {
		return false, ErrOver // it is being removed
	}
	text := strconv.Itoa(int(version))
	put := session.CreateOp(idle, []byte(text), session.Persistent, j.opts.create())
	switch {
	case r.Err != nil || st.State.Over():
		return r.Err == nil, r.Err
	case alive && marked:
		_, err = s.Txn(ctx, session.DeleteOp(idle, seen.Stat.Version))
	case alive:
	case !marked:
		_, err = s.Txn(ctx, session.CheckOp(j.run.at(stateNode), version), put)
	case string(seen.Data) != text:
		_, err = s.Txn(ctx, session.DeleteOp(idle, seen.Stat.Version), put)
	default:
		return j.age(ctx, s, st, version, seen)
	}
	return false, err
}

// age changes the idle node, which makes it as old as it is, and ends the job if
// that is old enough.
func (j *Job) age(ctx context.Context, s *session.Session, st status, version int32, seen session.Seen) (over bool, err error) {
	idle := j.run.at(idleNode)
	results, err := s.Txn(ctx, session.SetOp(idle, seen.Data, seen.Stat.Version))
	if err != nil {
		return false, err
	}
	now := results[0].Stat
	if time.Duration(now.Mtime-now.Ctime)*time.Millisecond < j.opts.Abandoned {
		return false, nil
	}
	ops := append(j.endOps(st, version, abandoned), session.CheckOp(idle, now.Version))
	_, err = s.Txn(ctx, ops...)
	return err == nil, err
}
