package dispatch

import (
	"cmp"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// The transitions of a task are pure functions from a record to the next record. Callers
// write the next record on condition of the version that they have read.

const (
	// maxBackoff is the longest wait before another attempt.
	maxBackoff = 5 * time.Minute
	// grace is how long after its deadline the master leaves an assigned task to
	// its worker, which knows it too and ends it in time.
	grace = 5 * time.Second
	// maxFailure is how much of an error's text is kept, in bytes.
	maxFailure = 1024
)

// submittedAt is r with the times that count from its submission. Those of a Delay and of a
// DeadlineAfter are for people, and for former versions.
func (r record) submittedAt(now time.Time) record {
	r.Submitted = truncateTime(now)
	if r.DeadlineAfter > 0 {
		r.Deadline = truncateTime(now.Add(r.DeadlineAfter.Duration()))
	}
	if r.Delay > 0 {
		r.NotBefore = truncateTime(now.Add(r.Delay.Duration()))
	}
	return r
}

// givenTo is r in the hands of a worker.
func (r record) givenTo(worker, serial string, now time.Time) record {
	r.State, r.Worker, r.AssignedAt = assigned, worker, truncateTime(now)
	r.Assignment = assignmentName(r.ID, r.Attempt, serial)
	r.NotBefore, r.Delay = time.Time{}, 0
	return r
}

// withoutWorker is r without a worker.
func (r record) withoutWorker() record {
	r.State, r.Worker, r.Assignment, r.AssignedAt = waiting, "", "", time.Time{}
	return r
}

// returned is r given back before it was begun, or by a worker that stops: the
// attempt does not count.
func (r record) returned() record { return r.withoutWorker() }

// afterFailure is r after an attempt that has failed: it waits for the next one, or is
// dead.
func (r record) afterFailure(why string, wait time.Duration, now time.Time) record {
	if r.Attempt >= r.MaxAttempts {
		return r.endedAs(dead, why, now)
	}
	r = r.withoutWorker()
	r.Attempt++
	r.LastFailure = truncate(why)
	if wait > 0 {
		r.NotBefore, r.Delay = truncateTime(now.Add(wait)), toMillis(wait)
	}
	return r
}

// afterWorkerDeath is e after the death of its worker: the attempt counts if it may have begun.
func (e *entry) afterWorkerDeath(now time.Time) record {
	if e.idle {
		return e.returned()
	}
	r := e.afterFailure(deadText, e.backoff(), now)
	r.Deaths++
	return r
}

// backoff is how long to wait after a failure of the present attempt: twice as
// long after each.
func (r record) backoff() time.Duration {
	wait := r.Backoff.Duration()
	for range min(r.Attempt-1, 64) { // even of a millisecond it is too long then
		if wait *= 2; wait >= maxBackoff {
			return maxBackoff
		}
	}
	return min(wait, maxBackoff)
}

// endedAs is r at its end. It keeps its worker, for people.
func (r record) endedAs(state taskformat.State, why string, now time.Time) record {
	r.State, r.Assignment, r.FinishedAt = state, "", truncateTime(now)
	r.NotBefore, r.Delay = time.Time{}, 0
	if state != done {
		r.LastFailure = truncate(why)
	}
	return r
}

// canceledBy is r canceled by request. call identifies the request, and why is for people.
func (r record) canceledBy(call, why string, now time.Time) record {
	r.Canceled = call
	return r.endedAs(canceled, why, now)
}

// requeuedBy is r reset to its first attempt, without its deadline, which may have
// passed, and without its owner. call identifies the request.
func (r record) requeuedBy(call string) record {
	r = r.withoutWorker()
	r.Requeued = call
	r.Attempt, r.Deaths, r.LastFailure, r.Owner = 1, 0, "", ""
	r.Deadline, r.DeadlineAfter, r.FinishedAt = time.Time{}, 0, time.Time{}
	return r
}

// toResult is the result of r, which has ended, in a znode of this version.
func (r record) toResult(version int32) ending {
	return ending{
		Format: format, ID: r.ID, Run: r.Run, Version: version, State: r.State, Attempt: r.Attempt, Worker: r.Worker,
		Submitted: r.Submitted, Assigned: r.AssignedAt, Finished: r.FinishedAt, Error: r.failureText(),
	}
}

func (r record) failureText() string {
	if r.State == done {
		return ""
	}
	return r.LastFailure
}

// isLate is true when the deadline has passed.
func (r record) isLate(now time.Time) bool { return !r.Deadline.IsZero() && !now.Before(r.Deadline) }

// wakeTime is when something must be done about a task, if nothing happens before; false:
// never. A task that waits is looked at when its time has come, which is the zero
// time for most, and then, when it is ready, at its deadline.
//
// Delays and retention count from the write of the record, by the servers' clock: the
// clocks of clients and workers may be wrong.
func (t *seen) wakeTime(ready bool) (at time.Time, ever bool) {
	notBefore, finished := t.NotBefore, t.FinishedAt
	if !t.mtime.IsZero() {
		finished = t.mtime
		if t.Delay > 0 {
			notBefore = t.mtime.Add(t.Delay.Duration())
		}
	}
	switch {
	case t.State == waiting && !ready:
		if !t.Deadline.IsZero() && t.Deadline.Before(notBefore) {
			return t.Deadline, true
		}
		return notBefore, true
	case t.State == waiting:
		return t.Deadline, !t.Deadline.IsZero()
	case t.State == assigned:
		return t.Deadline.Add(grace), !t.Deadline.IsZero()
	case t.State == dead:
		return finished.Add(cmp.Or(t.DeadRetention.Duration(), defaultDeadRetention)), true
	}
	return finished.Add(t.Retention.Duration()), true
}

// truncate keeps the beginning of a text, in valid UTF-8.
func truncate(text string) string {
	if len(text) > maxFailure {
		text = text[:maxFailure]
	}
	return string([]rune(text))
}
