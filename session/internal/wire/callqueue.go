package wire

import "slices"

// callQueue has calls in the order in which they were sent: the server keeps it. Push and
// pop take constant time, and no memory while the queue does not grow.
type callQueue struct {
	calls []*Call
	begin int // of the queue in calls
}

func (q *callQueue) len() int     { return len(q.calls) - q.begin }
func (q *callQueue) first() *Call { return q.calls[q.begin] }

// push adds a call. If half of the memory is free at the begin, it is used first.
func (q *callQueue) push(c *Call) {
	if len(q.calls) == cap(q.calls) && q.begin > 0 && q.begin >= q.len() {
		q.calls, q.begin = slices.Delete(q.calls, 0, q.begin), 0
	}
	q.calls = append(q.calls, c)
}

// pop takes the first call out.
func (q *callQueue) pop() *Call {
	c := q.calls[q.begin]
	q.calls[q.begin] = nil
	q.begin++
	return c
}

// takeAll empties the queue.
func (q *callQueue) takeAll() []*Call {
	all := q.calls[q.begin:]
	*q = callQueue{}
	return all
}
