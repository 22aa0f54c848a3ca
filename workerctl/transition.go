package workerctl

import "slices"

// What becomes of a job's status and of a member when somebody joins, comes
// back, leaves, or changes the number of workers. Pure: who calls these reads
// before, and writes after, in one transaction that fails if anything of what was
// read has changed.
//
// The ids that were given out are always 0 to Next-1: an id comes to be, with the
// member that has it, in the same transaction that raises Next.

// full is true when all ids are given out.
func (s status) full() bool { return s.Next == s.Workers }

// settle finishes a job when all its workers have joined and left.
func (s status) settle() status {
	if s.full() && s.Left == s.Next && !s.State.Over() {
		s.State = finished
	}
	return s
}

// enter gives an id to an identity that has none: with reuse the lowest of free,
// which are the ids that wait to be used again; otherwise the next.
func (s status) enter(reuse bool, free []int) (id int, next status, err error) {
	next = s
	switch {
	case s.State.Over():
		return 0, s, ErrOver
	case reuse && len(free) > 0:
		id = slices.Min(free)
		next.Left--
	case s.full():
		return 0, s, ErrFull
	default:
		id = s.Next
		next.Next++
	}
	next.State = running
	next.Joins++
	return id, next, nil
}

// again lets an identity that has an id come back to it.
func (s status) again(m member) (next status, err error) {
	if s.State.Over() {
		return s, ErrOver
	}
	next = s
	if m.Left {
		next.Left--
	}
	next.Joins++
	return next, nil
}

// leave is what becomes of the job when a worker leaves it.
func (s status) leave() (next status, err error) {
	if s.State.Over() {
		return s, ErrOver
	}
	next = s
	next.Left++
	return next.settle(), nil
}

// end ends the job for another reason than that it is finished.
func (s status) end(why State) status {
	s.State = why
	return s
}

// resize makes the job one of n workers. gone are the ids from n on that were
// given out and have left; whoever else has one is in the way, and must not be
// there.
func (s status) resize(n int, gone []int) (next status, err error) {
	if s.State.Over() {
		return s, ErrOver
	}
	var staying []int
	out := map[int]bool{}
	for _, id := range gone {
		out[id] = true
	}
	for id := n; id < s.Next; id++ {
		if !out[id] {
			staying = append(staying, id)
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
	}
	next.Joins++ // also a change that comes to the same is one
	return next.settle(), nil
}

// successor is the member that comes when old, nil for none, is or was there.
func successor(old *member, id int, claim string, who Identity) member {
	m := member{
		ID: id, Name: who.Name, Incarnation: 1, Claim: claim,
		Addresses: who.Addresses, Node: who.Node, Rack: who.Rack, DataCenter: who.DataCenter, KV: who.KV,
	}
	if old != nil {
		m.Incarnation = old.Incarnation + 1
	}
	return m
}
