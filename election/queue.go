package election

import (
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Candidate is a candidate in an election's queue, as other clients see it.
type Candidate struct {
	// ID is Data as text: the name that a candidate without Data of its own has given
	// itself.
	ID string
	// Data of the znode; see [Options.Data].
	Data []byte
	// Value is what the leader has proclaimed (see [Leadership.Proclaim]): nil if nothing, and
	// for all others. An empty value is not nil.
	Value []byte
	// Path of the znode, its name, and the number in it, which decides the order.
	Path, Name string
	Seq        int32
	// Priority is [Options.Priority]; 0 without one, and for candidates of other libraries.
	Priority int
	// Outside: the candidate waits beside the path: until the queue is shorter
	// (Options.MaxQueue), in "<path>.waiting", or until it is the next by its priority, in
	// "<path>.ranked". Seq is 0 then.
	Outside bool
	// Leads: the candidate is the first in the queue. It leads, or is about to.
	Leads bool
	// Session that owns the znode; 0 for a stranger's persistent one.
	Session int64
	// Token and Term are those of the leader's [Leadership].
	Token, Term int64
	// Since is when the candidate joined the queue, by the server's clock.
	Since time.Time
	// Watches is the name of the predecessor, for which the candidate waits; "" for the
	// first, and for those outside.
	Watches string
}

// parseQueue picks the candidates out of a path's children, and puts them in order.
// Numbers that have no order are left out: they grant nothing.
func parseQueue(children []string) []Candidate {
	entries := znode.Parse(children, lockformat.ElectionMarkers()...).Entries
	out := make([]Candidate, len(entries))
	for i, e := range entries {
		out[i] = candidateOf(e)
	}
	return linkPredecessors(out)
}

// candidateOf makes a candidate of the name of a znode.
func candidateOf(e znode.Entry) Candidate {
	return Candidate{Name: e.Name, Seq: e.Seq, Term: int64(e.Seq), Priority: lockformat.RankOf(e.Name, e.Marker).Priority}
}

// linkPredecessors marks the leader of the queue, and sets the predecessor of all
// others.
func linkPredecessors(queue []Candidate) []Candidate {
	before := ""
	for i := range queue {
		if queue[i].Outside {
			return queue // for a place of the queue, whichever becomes free
		}
		queue[i].Leads, queue[i].Watches = i == 0, before
		before = queue[i].Name
	}
	return queue
}

// setRecord adds the path, data and stat of the znode.
func (c *Candidate) setRecord(path string, data []byte, stat session.Stat) {
	c.Path, c.Name = path, znode.Base(path)
	c.ID, c.Data = string(data), data
	c.Session, c.Token, c.Since = stat.EphemeralOwner, stat.Czxid, time.UnixMilli(stat.Ctime)
}
