package doctor

import (
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// juteMaxBuffer is the default of the servers and of Java clients.
	juteMaxBuffer = 0xfffff
	// mostNames is how long a list of children may be.
	mostNames = juteMaxBuffer / 2
	// mostSkew is how far clocks may differ.
	mostSkew = 2 * time.Second
	// mostStill is how long a queue may have waiters and no change.
	mostStill = time.Hour
)

// Parents finds znodes at and below root with too many children.
func Parents(w *recognize.World, root string) (out []Finding) {
	children, size := w.Children(root), 4
	for _, c := range children {
		size += 4 + len(c.Name())
		out = append(out, Parents(w, c.Path)...)
	}
	if size > mostNames {
		out = append(out, newFinding("parent.large", recognize.Warn, root,
			fmt.Sprintf("the list of the %d children takes %d bytes, of %d that servers and Java clients accept by default (jute.maxbuffer)", len(children), size, juteMaxBuffer)))
	}
	return out
}

// Still finds queues that have not moved for long: the last change of the children was the
// creation of the newest contender, or element, so that none has left since.
func Still(w *recognize.World, now time.Time) (out []Finding) {
	for _, t := range w.Kinds(recognize.Mutex, recognize.RWLock, recognize.Semaphore, recognize.Queue) {
		folder, known := w.Lookup(t.Path)
		if !known || t.Waiting()+t.Entries == 0 {
			continue
		}
		var newest *recognize.Node
		for _, c := range w.Children(t.Path) {
			if newest == nil || c.Stat.Czxid > newest.Stat.Czxid {
				newest = c
			}
		}
		if newest == nil || newest.Stat.Czxid != folder.Stat.Pzxid {
			continue
		}
		if age := now.Sub(time.UnixMilli(newest.Stat.Ctime)); age > mostStill {
			out = append(out, newFinding("queue.still", recognize.Warn, t.Path,
				fmt.Sprintf("nothing has come or left for %v, and %d wait", age.Round(time.Second), t.Waiting()+t.Entries)))
		}
	}
	return out
}

// Access is a path with its access list.
type Access struct {
	Path string
	ACL  []session.ACL
}

// Open finds paths that every client may change.
func Open(all []Access) []Finding {
	const change = session.PermWrite | session.PermCreate | session.PermDelete | session.PermAdmin
	var open []string
	for _, a := range all {
		for _, entry := range a.ACL {
			if entry.Scheme == "world" && entry.Perms&change != 0 {
				open = append(open, a.Path)
				break
			}
		}
	}
	if len(open) == 0 {
		return nil
	}
	return []Finding{newFinding("acl.open", recognize.Hint, open[0],
		fmt.Sprintf("world:anyone may change %d of the %d paths that were examined (ROOT, and the paths of recipes)", len(open), len(all)))}
}

// Clock compares the leader's clock, which wrote the time at, with this machine's, by which
// the write took place between from and to.
func Clock(at, from, to time.Time) []Finding {
	skew := skewOf(at, at, from, to)
	if skew.Abs() <= mostSkew {
		return nil
	}
	return []Finding{newFinding("clock.differs", recognize.Warn, ensemble,
		fmt.Sprintf("the leader's clock differs from this machine's by %v or more", skew.Round(time.Millisecond)))}
}

// skewOf is by how much at least a clock differs that showed a time from early to late, when
// this machine's showed one between from and to.
func skewOf(early, late, from, to time.Time) time.Duration {
	switch {
	case late.Before(from):
		return late.Sub(from)
	case early.After(to):
		return early.Sub(to)
	}
	return 0
}

// Failed is a round trip that did not succeed.
func Failed(path string, err error) Finding {
	return newFinding("roundtrip.failed", recognize.Bad, path, err.Error())
}

// LostAtFailover is a lock that a cut connection has cost.
func LostAtFailover(path string, err error) Finding {
	return newFinding("failover.lost", recognize.Bad, path, err.Error())
}

// SessionFailed is a step of the audit that a lost or refused session has ended.
func SessionFailed(err error) Finding {
	return newFinding("session.failed", recognize.Warn, ensemble, err.Error())
}
