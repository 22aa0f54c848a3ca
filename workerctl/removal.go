package workerctl

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// together is how many deletions are under way at a time.
const together = 256

// Kill ends the job, whoever works in it: nobody can join any more, all its
// workers lose their hold, and it is removed. A job that is over is just removed.
// It is no error if that was done before.
//
// If it was ended, and could not be removed within ctx, the error wraps
// ErrNotRemoved.
func (j *Job) Kill(ctx context.Context) error {
	const op = "kill"
	if ctx.Err() != nil {
		return failure(ctx, op, j.Path(), context.Cause(ctx))
	}
	if err := j.end(ctx, killed); err != nil && !errors.Is(err, ErrOver) {
		return failure(ctx, op, j.Path(), err)
	}
	if err := j.clear(ctx); err != nil {
		return failure(ctx, op, j.Path(), err)
	}
	return nil
}

// Remove removes a job that is over, where whoever should have done it did not
// come to the end. The error wraps ErrRunning if it is not over. It is no error
// if the job was removed before.
func (j *Job) Remove(ctx context.Context) error {
	const op = "remove"
	info, err := j.Info(ctx)
	switch {
	case errors.Is(err, ErrOver): // somebody has removed it, if not by hand, and a part
	case err != nil:
		return err
	case !info.State.Over():
		return failure(ctx, op, j.Path(), ErrRunning)
	}
	if err := j.clear(ctx); err != nil {
		return failure(ctx, op, j.Path(), err)
	}
	return nil
}

// clear is remove, whose failure is one that somebody else can make good.
func (j *Job) clear(ctx context.Context) error {
	if err := j.remove(ctx); err != nil {
		return errors.Join(ErrNotRemoved, err)
	}
	return nil
}

// end ends the job for another reason than that it is finished.
func (j *Job) end(ctx context.Context, why State) error {
	return persist(ctx, j.client, func(s *session.Session) error {
		r := newReading(ctx)
		synced, read := j.sync(s), s.StartGet(j.run.at(stateNode), false)
		r.Synced(synced)
		st, version := r.status(read)
		if r.Err != nil {
			return r.Err
		}
		if st.State.Over() {
			return nil
		}
		_, err := s.Txn(ctx, j.endOps(st, version, why)...)
		return err
	})
}

// endOps make the transaction that ends the job. The size stays as it is: those
// who wait for others watch it, and are woken.
func (j *Job) endOps(st status, version int32, why State) []session.Op {
	return []session.Op{
		session.SetOp(j.run.at(stateNode), encode(st.end(why)), version),
		session.SetOp(j.run.at(sizeNode), []byte(strconv.Itoa(st.Workers)), -1),
	}
}

// remove deletes a job that is over: its workers' live nodes first, so that they
// stop; at last, in one transaction, what says that it is over with the job
// itself. Anybody may do this, also several at a time, and go on with what
// another has begun: the paths are never used again, so that no deletion can hit
// anything else, and may be repeated.
func (j *Job) remove(ctx context.Context) error {
	state := j.run.at(stateNode)
	return persist(ctx, j.client, func(s *session.Session) error {
		for _, name := range folders() {
			if err := empty(ctx, s, j.run.at(name)); err != nil {
				return err
			}
		}
		if err := empty(ctx, s, string(j.run), stateNode); err != nil {
			return err
		}
		_, err := s.Txn(ctx, session.DeleteOp(state, -1), session.DeleteOp(string(j.run), -1), session.DeleteOp(j.Path(), -1))
		var txn *session.TxnError
		switch {
		case errors.Is(err, session.ErrNoNode):
			return j.removeRest(ctx, s) // somebody else did it
		case errors.As(err, &txn) && errors.Is(err, session.ErrNotEmpty) && txn.Path != j.Path():
			if err := empty(ctx, s, txn.Path, stateNode); err != nil {
				return err
			}
			return optimistic.ErrChanged
		}
		// What else is below the job is a stranger's, and cannot be told from the
		// run of the next job of this name: it stays, and so does the job.
		return err
	})
}

// removeRest removes what is left of a job that has no state any more: nothing, or
// what somebody left who has removed it by hand. It never hits the next job of the
// name, which has its run from the beginning.
func (j *Job) removeRest(ctx context.Context, s *session.Session) error {
	for tries, refused := 0, error(nil); ; tries++ {
		data, _, err := s.Get(ctx, j.Path())
		if errors.Is(err, session.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		if !j.wrote(data) {
			return nil
		}
		if tries > 0 {
			return refused // not by the next job, which the read would show now
		}
		refused = s.Delete(ctx, string(j.run), -1)
		if refused == nil || errors.Is(refused, session.ErrNoNode) {
			refused = s.Delete(ctx, j.Path(), -1)
		}
		switch {
		case refused == nil, errors.Is(refused, session.ErrNoNode):
			return nil
		case !errors.Is(refused, session.ErrNotEmpty):
			return refused
		}
	}
}

// wrote reports whether data is this job's record, not that of the next job of its name,
// or something that is none.
func (j *Job) wrote(data []byte) bool {
	record, err := jobOf(session.EscapeName(j.Name()), data)
	return err == nil && record.ID == j.ID()
}

// empty deletes all that is below path, but for the children in but.
func empty(ctx context.Context, s *session.Session, path string, but ...string) error {
	names, _, err := s.Children(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	for len(names) > 0 {
		n := min(together, len(names))
		if err := deleteAll(ctx, s, path, names[:n], but); err != nil {
			return err
		}
		names = names[n:]
	}
	return nil
}

func deleteAll(ctx context.Context, s *session.Session, path string, names, but []string) error {
	sent := map[string]*session.Future[struct{}]{}
	for _, name := range names {
		if !slices.Contains(but, name) {
			sent[name] = s.StartDelete(path+"/"+name, -1)
		}
	}
	for name, f := range sent {
		_, err := f.Wait(ctx)
		if errors.Is(err, session.ErrNotEmpty) {
			if err = empty(ctx, s, path+"/"+name); err == nil {
				err = s.Delete(ctx, path+"/"+name, -1)
			}
		}
		if errors.Is(err, session.ErrNotEmpty) {
			return optimistic.ErrChanged // somebody still makes nodes there
		}
		if err != nil && !errors.Is(err, session.ErrNoNode) {
			return err
		}
	}
	return nil
}
