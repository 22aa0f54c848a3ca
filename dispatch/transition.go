package dispatch

import (
	"time"
)

// What becomes of a task: pure functions from a record to the next one. Whoever
// writes a record writes it on condition of the version that it has read.

const (
	// maxBackoff is the longest wait before another attempt.
	maxBackoff = 5 * time.Minute
	// grace is how long after its deadline the master leaves an assigned task to
	// its worker, which knows it too and ends it in time.
	grace = 5 * time.Second
	// maxFailure is how much of an error's text is kept, in bytes.
	maxFailure = 1024
)

// given is r in the hands of a worker.
func (r record) given(worker, serial string, now time.Time) record {
	r.State, r.Worker, r.AssignedAt = assigned, worker, clock(now)
	r.Assignment = assignmentName(r.ID, r.Attempt, serial)
	r.NotBefore = time.Time{}
	return r
}

// free is r without a worker.
func (r record) free() record {
	r.State, r.Worker, r.Assignment, r.AssignedAt = waiting, "", "", time.Time{}
	return r
}

// returned is r given back before it was begun, or by a worker that stops: the
// attempt does not count.
func (r record) returned() record { return r.free() }

// attempted is r after an attempt that has failed: it waits for the next one, or is
// dead.
func (r record) attempted(why string, wait time.Duration, now time.Time) record {
	if r.Attempt >= r.MaxAttempts {
		return r.ended(dead, why, now)
	}
	r = r.free()
	r.Attempt++
	r.LastFailure = cut(why)
	if wait > 0 {
		r.NotBefore = clock(now.Add(wait))
	}
	return r
}

// backoff is how long to wait after a failure of the present attempt: twice as
// long after each.
func (r record) backoff() time.Duration {
	wait := r.Backoff.duration()
	for range min(r.Attempt-1, 64) { // even of a millisecond it is too long then
		if wait *= 2; wait >= maxBackoff {
			return maxBackoff
		}
	}
	return min(wait, maxBackoff)
}

// ended is r at its end. It keeps its worker, for people.
func (r record) ended(state State, why string, now time.Time) record {
	r.State, r.Assignment, r.FinishedAt = state, "", clock(now)
	r.NotBefore = time.Time{}
	if state != done {
		r.LastFailure = cut(why)
	}
	return r
}

// canceled is r canceled by request. call tells who has done it.
func (r record) canceled(call string, now time.Time) record {
	r.Canceled = call
	return r.ended(canceled, canceledText, now)
}

// requeued is r from the beginning. Its deadline, which may have passed, is gone, and
// so is its owner. call tells who has done it.
func (r record) requeued(call string) record {
	r = r.free()
	r.Requeued = call
	r.Attempt, r.LastFailure, r.Owner = 1, "", ""
	r.Deadline, r.FinishedAt = time.Time{}, time.Time{}
	return r
}

// ending is the result of r, which has ended, in a znode of this version.
func (r record) ending(version int32) ending {
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

// late is true when the deadline has passed.
func (r record) late(now time.Time) bool { return !r.Deadline.IsZero() && !now.Before(r.Deadline) }

// wake is when something must be done about r, if nothing happens before; false:
// never. A task that waits is looked at when its time has come, which is the zero
// time for most, and then, when it is ready, at its deadline.
func (r record) wake(ready bool) (at time.Time, ever bool) {
	switch {
	case r.State == waiting && !ready:
		if !r.Deadline.IsZero() && r.Deadline.Before(r.NotBefore) {
			return r.Deadline, true
		}
		return r.NotBefore, true
	case r.State == waiting:
		return r.Deadline, !r.Deadline.IsZero()
	case r.State == assigned:
		return r.Deadline.Add(grace), !r.Deadline.IsZero()
	case r.State == dead:
		return time.Time{}, false
	}
	return r.FinishedAt.Add(r.Retention.duration()), true
}

// cut keeps the beginning of a text, in valid UTF-8.
func cut(text string) string {
	if len(text) > maxFailure {
		text = text[:maxFailure]
	}
	return string([]rune(text))
}
