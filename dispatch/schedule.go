package dispatch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// Clients write the definition of a schedule; the leading master submits the tasks of its slots
// (slotrun.go). Each change of a definition also writes a znode that the masters watch. No two
// changes have the same version of that znode, so a transaction that depends on it depends on
// all definitions, even if a definition was deleted and set again.

// Schedule is a periodic task: at each of its slots, the leading master submits a task. The id
// of the task is Name, "@", and the time of the slot, as in "report@2026-01-02T03:00:00Z".
type Schedule struct {
	// Name of the schedule, 1 to 256 bytes of UTF-8.
	Name string
	// Every is the time between two slots, at least a second. Every and Start are cut off to
	// milliseconds.
	Every time.Duration
	// Start is the first slot; a Start in the past says at which times the slots are. Slots go
	// by the servers' clock. Default: the multiples of [time.Time.Truncate], in UTC: with 24
	// hours, each midnight.
	Start time.Time
	// Task has the properties of all tasks. ID, Deadline and Attached must not be set:
	// DeadlineAfter is a deadline after the submission.
	Task Task
	// Overlap submits the task of a slot even if the task of the former slot has not ended.
	// Default: such a slot is skipped.
	Overlap bool

	// The fields below are set by [Queue.Schedules], and ignored by [Queue.SetSchedule].

	// Last is the last slot whose task was submitted, and LastTask the id of that task; zero
	// before the first slot.
	Last     time.Time
	LastTask string
	// Next is the first slot that was neither run nor skipped; zero: none up to the year
	// 9999. A Next in the past waits for a master, or for room in the queue. Of several slots
	// in the past, only the last is run.
	Next time.Time
	// Err is set if the znodes of the schedule cannot be read. No task is submitted then. It
	// wraps ErrRecord. If the definition cannot be read, Name is the name of the znode, and no
	// other field is set.
	Err error
}

// maxScheduleName leaves room in the id of a task for the time of the slot.
const maxScheduleName = 256

// SetSchedule creates a schedule, or replaces the schedule of that name.
//
// The task of each slot is submitted once: the task and the record of the slot are one
// transaction of the leading master, whatever masters, replies and sessions are lost, and even
// if the task has been collected meanwhile. A task of that id that a client has submitted counts
// as the task of the slot. Slots go by the servers' clock as the master knows it.
//
// Slots before the creation of the schedule are not run. Slots that pass while no master leads,
// or while the queue is full, count as one: the last of them is run when a master leads, or the
// queue has room. Without Overlap, a slot is skipped if the task of the former slot has not
// ended at that moment, in any state.
//
// A replaced schedule keeps the record of its last slot. If Every or Start changes, only slots
// after the change are run. Setting the same schedule again changes nothing. Tasks that were
// submitted do not change. The schedule exists until [Queue.DeleteSchedule].
//
// If a reply is lost, SetSchedule finds out whether the schedule was set. If another client has
// changed the schedule meanwhile, the error wraps session.ErrUnknownOutcome: SetSchedule does
// not undo that change. The same holds for a new schedule, if another client has changed any
// schedule of the queue meanwhile.
//
// SetSchedule takes two reads, in one round trip, and a transaction, and some requests more for
// the first schedule of a queue. The master takes a few reads for each change. A slot takes the
// master three requests, and two more for the first task of one of the 256 buckets; slots that
// are due at the same time share transactions. Queues without schedules cost nothing more.
func (q *Queue) SetSchedule(ctx context.Context, s Schedule) error {
	q = receiver.OrZero(q)
	const op = "set a schedule of"
	err := q.checkCall(ctx)
	var def definition
	if err == nil {
		def, err = s.toDefinition()
	}
	if err == nil {
		c := &scheduleChange{q: q, path: q.schedulePath(s.Name)}
		err = c.apply(ctx, op, func(tx *stm.Tx) (bool, error) {
			nodes, err := tx.GetAll(c.path, q.signalPath())
			if err != nil {
				return false, err
			}
			return c.replaceSchedule(tx, nodes[0], nodes[1], def, s.Task.Payload)
		})
	}
	if err != nil {
		return q.reportUnknown(ctx, op, wrapError(ctx, op, q.Path(), err))
	}
	return nil
}

// DeleteSchedule deletes a schedule, and the record of its last slot. Tasks that were submitted
// stay. existed reports whether the schedule existed at some time during the call. A schedule
// whose record is garbage is deleted as well. A schedule of a newer version of this package
// stays: the error wraps ErrRecord.
//
// If a reply is lost, DeleteSchedule finds out whether the schedule was deleted, and never
// deletes one that another client has created since.
//
// DeleteSchedule takes three reads, in two round trips, and a transaction.
func (q *Queue) DeleteSchedule(ctx context.Context, name string) (existed bool, err error) {
	q = receiver.OrZero(q)
	const op = "delete a schedule of"
	if err = q.checkCall(ctx); err == nil {
		err = checkScheduleName(name)
	}
	if err == nil {
		c := &scheduleChange{q: q, path: q.schedulePath(name)}
		err = c.apply(ctx, op, func(tx *stm.Tx) (bool, error) {
			deletes, err := c.deleteSchedule(tx)
			existed = existed || deletes
			return deletes, err
		})
	}
	if err != nil {
		return existed, q.reportUnknown(ctx, op, wrapError(ctx, op, q.Path(), err))
	}
	return existed, nil
}

// Schedules lists the schedules of the queue in the order of their names, each as of the time of
// its read, which a majority of the servers has confirmed not to precede the call. Schedules
// takes two requests, and one for up to 64 schedules.
func (q *Queue) Schedules(ctx context.Context) ([]Schedule, error) {
	q = receiver.OrZero(q)
	const op = "list the schedules of"
	var out []Schedule
	var reads optimistic.Batches
	err := q.checkCall(ctx)
	if err == nil {
		err = retryConflicts(ctx, q.client, func(s *session.Session) error {
			r, dir, names := newReading(ctx, s), q.at(schedulesDir), []string(nil)
			r.Fresh(dir, func() { names = r.List(dir) })
			nodes := reads.GetAll(r, q.pathsOfSchedules(names))
			if out = nil; r.Err != nil {
				return r.Err
			}
			for i := range names {
				if nodes[2*i].Exists {
					out = append(out, q.scheduleOf(names[i], nodes[2*i], nodes[2*i+1]))
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, wrapError(ctx, op, q.Path(), err)
	}
	slices.SortFunc(out, func(a, b Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// scheduleOf describes a schedule that was read.
func (l layout) scheduleOf(node string, read, last session.Seen) Schedule {
	path := l.scheduleNode(node)
	def, payload, err := l.decodeSchedule(path, read.Data)
	if err != nil {
		return Schedule{Name: node, Err: err}
	}
	out := Schedule{
		Name: def.Name, Every: def.Every.Duration(), Start: def.Start, Overlap: def.Overlap,
		Task: Task{
			Payload: payload, Priority: def.Priority, Labels: def.Labels, Delay: def.Delay.Duration(),
			DeadlineAfter: def.DeadlineAfter.Duration(), MaxAttempts: def.MaxAttempts, Backoff: def.Backoff.Duration(),
			Retention: def.Retention.Duration(), DeadRetention: cmp.Or(def.DeadRetention.Duration(), defaultDeadRetention),
		},
	}
	over, err := decodeLast(path, last)
	if err != nil {
		out.Err = err
		return out
	}
	out.Last, out.LastTask = over.Slot, over.Task
	out.Next, _ = def.SlotAfter(latest(over.Over(), def.Begin(time.UnixMilli(read.Stat.Mtime))))
	return out
}
