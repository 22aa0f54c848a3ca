package workerctl

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// expireIdle reports whether the job is over. If no worker has lived for Options.Abandoned,
// expireIdle ends the job first. If no worker lives now, expireIdle starts the count of the
// idle time, unless another client has started it.
//
// The job's idle node keeps the time: its data is the version of the status at the first
// check, and the idle time is the difference between the node's creation and its last
// change, by the servers' clock. A worker that joins or leaves changes the version of
// the status; a worker that merely lives does not. If two checks find no live worker and
// the same version, no worker lived in between: such a worker would have joined after
// the first check, which changes the version, or before it, and would have been alive at
// the first check.
func (j *Job) expireIdle(ctx context.Context) (over bool, err error) {
	aged := false
	results, err := j.applyTxn(ctx, func(tx *stm.Tx) (err error) {
		over, aged, err = j.markIdle(tx)
		return err
	})
	if err != nil || !aged || len(results) == 0 {
		return over, err // if the reply was lost, the next call reads the age
	}
	now := results[0].Stat
	if time.Duration(now.Mtime-now.Ctime)*time.Millisecond < j.opts.Abandoned {
		return false, nil
	}
	return j.endAbandoned(ctx, now)
}

// markIdle creates, deletes or changes the idle node. A change updates the node's time of
// change, and so its age: aged reports such a change.
func (j *Job) markIdle(tx *stm.Tx) (over, aged bool, err error) {
	// The status is read first: every later change of the job changes the status.
	st, others, err := j.readStatus(tx, j.run.at(jobformat.DirLive), j.run.at(jobformat.NodeIdle))
	if err != nil || st.State.Over() {
		return err == nil, false, err
	}
	state, err := tx.Get(j.run.statePath())
	alive, idle := others[0].Stat.NumChildren > 0, others[1]
	text := []byte(strconv.Itoa(int(state.Stat.Version)))
	if idle.Exists || !alive {
		err = errors.Join(err, tx.Depend(idle))
	}
	switch {
	case err != nil:
	case alive && idle.Exists:
		err = tx.Delete(idle.Path)
	case alive:
	case !idle.Exists:
		err = j.createNode(tx, idle.Path, text)
	case string(idle.Data) != string(text):
		err = errors.Join(tx.Delete(idle.Path), j.createNode(tx, idle.Path, text))
	default:
		aged, err = true, tx.Set(idle.Path, idle.Data)
	}
	return false, aged, err
}

// endAbandoned ends the job if nothing has changed since its idle node had the stat.
func (j *Job) endAbandoned(ctx context.Context, idle session.Stat) (over bool, err error) {
	_, err = j.applyTxn(ctx, func(tx *stm.Tx) error {
		st, others, err := j.readStatus(tx, j.run.at(jobformat.NodeIdle))
		switch {
		case err != nil:
			return err
		case st.State.Over():
			over = true
			return nil
		}
		state, err := tx.Get(j.run.statePath())
		if now := others[0]; err != nil || !now.Exists || now.Stat.Czxid != idle.Czxid || string(now.Data) != strconv.Itoa(int(state.Stat.Version)) {
			over = false
			return err
		}
		over = true
		return errors.Join(tx.Depend(others[0]), j.setEnd(tx, st, abandoned))
	})
	return over && err == nil, err
}
