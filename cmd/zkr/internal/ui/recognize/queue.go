package recognize

import (
	"bytes"
	"fmt"
)

// foreignQueue recognizes queues of other libraries: a sequence of nodes, each
// to be taken by a consumer.
func foreignQueue(_ *looker, s *spot) *Thing {
	t := &Thing{Kind: Queue, Path: s.Path}
	if entries, taken := s.child(dirEntries), s.child(dirTaken); entries != nil && taken != nil {
		n := entries.countMatching(isQueueEntry)
		if n == 0 {
			return nil
		}
		t.How = "entries and taken, as Kazoo's LockingQueue"
		t.State = fmt.Sprintf("%s, %d of them taken", formatSeveral(n, "entry", "entries"), taken.children.size())
		t.Entries = max(0, n-taken.children.size())
		s.claimTree(t)
		return t
	}
	for _, f := range []struct {
		how  string
		fits func(*spot) bool
	}{
		{"entries named entry-, as Kazoo's Queue", isQueueEntry},
		{"entries named qn-, as Curator's SimpleDistributedQueue", func(c *spot) bool { return c.persistent() && simpleName.MatchString(c.name) }},
		{"entries named queue- and packed as by Curator's DistributedQueue, also with priorities, times or ids", func(c *spot) bool {
			return c.persistent() && itemName.MatchString(c.name) && bytes.HasPrefix(c.Data, []byte(packed))
		}},
	} {
		if n := s.countMatching(f.fits); n > 0 && s.name != dirEntries {
			t.How, t.State, t.Strangers, t.Entries = f.how, formatSeveral(n, "entry", "entries"), s.children.size()-n, n
			for c := range s.children.all() {
				if f.fits(c) {
					c.claimTree(t)
				}
			}
			return t
		}
	}
	return nil
}

// isQueueEntry reports whether a node is an entry of Kazoo's queues.
func isQueueEntry(c *spot) bool { return c.persistent() && entryName.MatchString(c.name) }

// countMatching counts the children that fit.
func (s *spot) countMatching(fits func(*spot) bool) (n int) {
	for c := range s.children.all() {
		if fits(c) {
			n++
		}
	}
	return n
}
