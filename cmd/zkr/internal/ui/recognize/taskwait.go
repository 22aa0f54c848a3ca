package recognize

import (
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// noteWaiting notes a task that waits, with the record r in the znode n.
func (st *TaskState) noteWaiting(n *Node, r taskformat.Record) {
	if st.Oldest.IsZero() || r.Submitted.Before(st.Oldest) {
		st.Oldest = r.Submitted
	}
	if since := readyAt(n, r); !since.IsZero() && (st.WaitingSince.IsZero() || since.Before(st.WaitingSince)) {
		st.WaitingSince = since
	}
}

// readyAt is when a task that waits could be assigned, which may be in the future: after its
// delay, or after the pause before its next attempt. Each change of its state writes the record.
func readyAt(n *Node, r taskformat.Record) time.Time {
	since := n.Modified()
	switch {
	case since.IsZero():
	case r.Delay > 0:
		return since.Add(r.Delay.Duration())
	case r.NotBefore.After(since): // by a former version, which writes no delay
		return r.NotBefore
	}
	return since
}
