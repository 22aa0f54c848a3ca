package election

import (
	"time"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Candidate is somebody in an election's queue, as others see it.
type Candidate struct {
	// ID is Data as text: what a candidate without Data of its own calls
	// itself.
	ID string
	// Data of the znode; see [Options.Data].
	Data []byte
	// Name of the znode, and the number in it, which decides the order.
	Name string
	Seq  int32
	// Leads: it is the first in the queue. It leads, or is about to.
	Leads bool
	// Session that owns the znode; 0 for a stranger's persistent one.
	Session int64
	// Token and Term are what [Leadership] says to the leader.
	Token, Term int64
	// Since is when it joined the queue, by the server's clock.
	Since time.Time
	// Watches is the name of the candidate before it, for which it waits; ""
	// for the first.
	Watches string
}

// queueOf picks the candidates out of a path's children, and puts them in order.
// Numbers that have no order are left out: nobody is granted anything by them.
func queueOf(children []string) []Candidate {
	entries := znode.Parse(children, markers()...).Entries
	out := make([]Candidate, len(entries))
	for i, e := range entries {
		out[i] = candidateOf(e)
	}
	return link(out)
}

// candidateOf is what the name of a znode says.
func candidateOf(e znode.Entry) Candidate {
	return Candidate{Name: e.Name, Seq: e.Seq, Term: int64(e.Seq)}
}

// link says who of the queue leads, and for whom everybody else waits.
func link(queue []Candidate) []Candidate {
	before := ""
	for i := range queue {
		queue[i].Leads, queue[i].Watches = i == 0, before
		before = queue[i].Name
	}
	return queue
}

// fill adds what the znode says.
func (c *Candidate) fill(data []byte, stat session.Stat) {
	c.ID, c.Data = string(data), data
	c.Session, c.Token, c.Since = stat.EphemeralOwner, stat.Czxid, time.UnixMilli(stat.Ctime)
}
