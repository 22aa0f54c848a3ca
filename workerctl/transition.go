package workerctl

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
)

// The transitions of a job's status and of a member when a worker joins, comes
// back or leaves, or when the number of workers changes. The functions are
// pure: the caller reads before and writes after, in one transaction, which
// fails if any read znode has changed.
//
// The assigned ids are always 0 to Next-1: the transaction that raises Next
// also creates the id and its member.

// isFull is true when all ids are given out.
func (s status) isFull() bool { return s.Next == s.Workers }

// finishIfComplete finishes a job when all its workers have joined and left.
func (s status) finishIfComplete() status {
	if s.isFull() && s.Left == s.Next && !s.State.Over() {
		s.State = finished
		if s.Failed > 0 {
			s.State = failed
		}
	}
	return s
}

// assignID assigns an id to a new identity: with reuse the lowest of the free ids,
// which wait to be used again; otherwise the next.
func (s status) assignID(reuse bool, free []int) (id int, next status, err error) {
	next = s
	switch {
	case s.State.Over():
		return 0, s, ErrOver
	case reuse && len(free) > 0:
		id = slices.Min(free)
		next.Left--
	case s.isFull():
		return 0, s, ErrFull
	default:
		id = s.Next
		next.Next++
	}
	next.State = running
	next.Joins++
	return id, next, nil
}

// reuseID returns the status after the id of old is assigned again.
func (s status) reuseID(old member) status {
	if old.HasFailed() {
		s.Failed--
	}
	return s
}

// comeBack lets an identity come back to its id.
func (s status) comeBack(m member) (next status, err error) {
	if s.State.Over() {
		return s, ErrOver
	}
	next = s
	if m.Left {
		next.Left--
	}
	if m.HasFailed() {
		next.Failed--
	}
	next.Joins++
	return next, nil
}

// countLeave returns the status after the leave of a worker, with a failure or
// without.
func (s status) countLeave(failure bool) (next status, err error) {
	if s.State.Over() {
		return s, ErrOver
	}
	next = s
	next.Left++
	if failure {
		next.Failed++
	}
	return next.finishIfComplete(), nil
}

// endWith ends the job for a reason other than being finished.
func (s status) endWith(why jobformat.State) status {
	s.State = why
	return s
}

// resizeTo makes the job one of n workers. gone has the assigned ids from n on
// whose workers have left; the value is true for a failed worker. Any other
// assigned id from n on is in use, and prevents the change.
func (s status) resizeTo(n int, gone map[int]bool) (next status, err error) {
	if s.State.Over() {
		return s, ErrOver
	}
	var staying []int
	failures := 0
	for id := n; id < s.Next; id++ {
		failure, out := gone[id]
		if !out {
			staying = append(staying, id)
		}
		if failure {
			failures++
		}
	}
	if len(staying) > 0 {
		return s, &InUseError{IDs: staying}
	}
	next = s
	next.Workers = n
	if n < s.Next {
		next.Left -= s.Next - n
		next.Next = n
		next.Failed -= failures
	}
	next.Joins++ // a change to the same number counts too
	return next.finishIfComplete(), nil
}

// newSuccessor is the member after old; nil if the id had no member.
func newSuccessor(old *member, id int, claim string, identity Identity) member {
	m := member{
		ID: id, Name: identity.Name, Incarnation: 1, Claim: claim,
		Addresses: identity.Addresses, Node: identity.Node, Rack: identity.Rack, DataCenter: identity.DataCenter, KV: identity.KV,
	}
	if old != nil {
		m.Incarnation = old.Incarnation + 1
		if old.Name == identity.Name {
			m.Kept = old.Kept
		}
	}
	return m
}
