package recognize

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// form is the layout of a queue of contenders, with the libraries that write
// it.
type form struct {
	kind    Kind
	how     string
	telling []string // markers, each of which identifies the form
	markers []string // all accepted markers
}

// forms are tried in this order.
//
// read only
var forms = []form{
	{RWLock, "contenders named __READ__ and __WRIT__, as ours and Curator's", []string{lockformat.CuratorRead, lockformat.CuratorWrite}, lockformat.RWMarkers()},
	{RWLock, "contenders named __rlock__, as Kazoo's", []string{lockformat.KazooRead}, lockformat.RWMarkers()},
	{Semaphore, "contenders named permit, as ours", []string{markPermit}, []string{markPermit}},
	{Election, "candidates named latch, as ours and Curator's LeaderLatch", []string{lockformat.CuratorLatch}, lockformat.ElectionMarkers()},
	{Mutex, "contenders named lock, as ours, Curator's (LeaderSelector's too) and go-zookeeper's", []string{lockformat.CuratorMutex}, lockformat.MutexMarkers()},
	{Mutex, "contenders named __lock__, as Kazoo's Lock, WriteLock and Election, or ours", []string{lockformat.KazooLock}, lockformat.MutexMarkers()},
	{Election, "candidates named c_ and a number, as by the book", []string{markDemo}, []string{markDemo}},
	// Every child with a name ending in "-" and a number counts.
	{Mutex, "contenders named x- and their session, as ZooKeeper's own WriteLock", []string{markOwn}, []string{"-"}},
}

// recognizeQueue recognizes queues.
func recognizeQueue(l *looker, s *spot) *Thing {
	seen := s.childMarkers()
	if len(seen) == 0 {
		return nil
	}
	for _, f := range forms {
		i := slices.IndexFunc(f.telling, func(m string) bool { _, ok := seen[m]; return ok })
		if i < 0 {
			continue
		}
		t := &Thing{Kind: f.kind, Path: s.Path, How: f.how}
		if !slices.ContainsFunc(f.telling, func(m string) bool { return seen[m] }) {
			t.Guess = looksLike(f.kind, "ephemeral children are named "+strings.Trim(f.telling[i], "-")+" and a number")
		} else if f.kind == Mutex && f.telling[0] != markOwn {
			l.tellRivals(t, s, seen)
		}
		l.readQueue(t, s, f.markers)
		if f.kind == Semaphore {
			l.readSemaphore(t, s)
		}
		l.addRanked(t, s)
		l.addOutside(t, s, f.markers)
		l.addBreaks(t, s)
		l.addProclaimed(t, s)
		l.setState(t)
		l.findSuspicions(t)
		_, kazoo := seen[lockformat.KazooLock]
		_, reads := seen[lockformat.KazooRead]
		if (seen[lockformat.CuratorMutex] || seen[lockformat.CuratorRead] || seen[lockformat.CuratorWrite] || seen[lockformat.CuratorLatch]) && (kazoo || reads) {
			t.addProblem(Warn, codeMixedNames, t.Path, "Curator's and Kazoo's names are mixed: Curator sorts Kazoo's names wrongly, and Kazoo observes Curator's names only if configured to")
		}
		if others := unheededMarkers(seen, f.markers); others != "" && f.telling[0] != markOwn {
			t.addProblem(Warn, codeMixedRecipes, t.Path, "the path also has contenders of another recipe (%s): the two recipes do not exclude each other, and both may hold at the same time", others)
		}
		return t
	}
	return nil
}

// unheededMarkers are the markers of contenders outside this queue: exact library
// names of another recipe.
func unheededMarkers(seen map[string]bool, markers []string) string {
	var others []string
	for _, m := range []string{lockformat.CuratorMutex, lockformat.KazooLock, lockformat.CuratorRead, lockformat.CuratorWrite, lockformat.KazooRead, lockformat.CuratorLatch, markPermit} {
		if seen[m] && !slices.Contains(markers, m) {
			others = append(others, strings.Trim(m, "-_"))
		}
	}
	return strings.Join(others, ", ")
}

// childMarkers are the markers in the children's names: true for an exact library
// name. Other names count only for ephemeral nodes, because contenders are
// ephemeral: any folder may be called deadlock-0000000001.
func (s *spot) childMarkers() map[string]bool {
	var seen map[string]bool
	add := func(mark string, sure bool) {
		if seen == nil {
			seen = map[string]bool{}
		}
		seen[mark] = seen[mark] || sure
	}
	for c := range s.children.all() {
		switch mark, before := findMarker(c.name); {
		case mark == "" && ofSession(c.name, c.Stat.EphemeralOwner):
			add(markOwn, true)
		case mark == "" || mark == lockformat.CuratorLease:
		case isExactName(mark, before):
			add(mark, true)
		case c.ephemeral():
			add(mark, false)
		}
	}
	return seen
}

// readQueue makes the queue of a thing out of a node's children, in its order.
func (l *looker) readQueue(t *Thing, s *spot, markers []string) {
	q := znode.Parse(s.names(), markers...)
	if q.Exhausted {
		t.addProblem(Bad, codeNumbersUsedUp, s.Path, "a contender has a number that does not show its place: the numbers are used up; delete the path when no client uses it")
	}
	places := make(map[string]int, len(q.Entries))
	for i, e := range q.Entries {
		places[e.Name] = i
		t.Queue = append(t.Queue, l.readContender(t, s.child(e.Name), e))
	}
	t.Strangers = s.children.size() - len(q.Entries)
	if q.Exhausted {
		t.State = "the order of the contenders is unknown"
		return
	}
	if n := len(q.Entries); n > 0 && q.Entries[n-1].Seq >= session.SequenceWarning {
		t.addProblem(Warn, codeNumbersRunOut, s.Path, "the numbers of this path will be used up: the last one is %d of 2147483647", q.Entries[n-1].Seq)
	}
	rule := l.ruleFor(t, s)
	for i, c := range t.Queue {
		if i > 0 && !t.Queue[i-1].Holds && i >= Shown {
			break // a contender behind a waiting contender waits, too; see contender.Rule
		}
		d := rule(q, i)
		if c.Holds = d.Granted; i < Shown {
			watch := d.Watch
			if t.Kind != Semaphore { // the second is watched to be ready in time
				watch = watch[:min(1, len(watch))]
			}
			for _, name := range watch {
				c.Watches = append(c.Watches, places[name])
			}
		}
		if c.Holds {
			c.Since = l.past.Holds[c.Tenure()]
		}
	}
	if t.Kind == Mutex {
		l.applyDelay(t, s)
	}
}

// readContender reads a contender.
func (l *looker) readContender(t *Thing, s *spot, e znode.Entry) *Contender {
	s.assignTo(t)
	c := &Contender{
		Path: s.Path, ID: idIn(s.Node), Seq: e.Seq, Session: SessionID(s.Stat.EphemeralOwner),
		Token: s.Stat.Czxid, Entered: s.Created(), Denied: s.Denied,
	}
	switch e.Marker {
	case lockformat.CuratorRead, lockformat.KazooRead:
		c.Role = "read"
	case lockformat.CuratorWrite:
		c.Role = "write"
	case lockformat.KazooLock:
		if t.Kind == RWLock {
			c.Role = "write"
		}
	case markPermit:
		c.Permits = lockformat.PermitsOf(e.Name)
	}
	return c
}

// identified is a record with an id: a member of a group, ours or of another
// library.
type identified struct {
	ID string `json:"id"`
}

// idIn is the owner's id in the data of a node.
func idIn(n *Node) string {
	if r, ok := readRecord[identified](n); ok && r.ID != "" {
		return Text([]byte(r.ID), idWidth)
	}
	if d := string(n.Data); d == lockformat.RevokeData || d == ownData {
		return "" // not an id: the first has overwritten the id
	}
	return Text(n.Data, idWidth)
}

// ruleFor is the rule of the thing's recipe.
func (l *looker) ruleFor(t *Thing, s *spot) contender.Rule {
	switch t.Kind {
	case RWLock:
		writes := lockformat.Writes
		reader, writer := contender.Reader(writes), contender.Writer(writes)
		return func(q znode.Queue, self int) contender.Decision {
			// A rule looks at all predecessors. No contender behind a writer
			// reads.
			if writes(q.Entries[self].Marker) {
				return writer(q, self)
			}
			if self >= Shown {
				return contender.Decision{Granted: t.Queue[self-1].Holds && t.Queue[self-1].Role == "read"}
			}
			return reader(q, self)
		}
	case Semaphore:
		total := totalPermits(s)
		if total == 0 { // unknown, but the first contender has its permits
			total = t.Queue[0].Permits
		}
		held, weighted := 0, contender.Weighted(total, lockformat.PermitsOf)
		return func(q znode.Queue, self int) contender.Decision {
			held += t.Queue[self].Permits
			if self >= Shown {
				return contender.Decision{Granted: held <= total}
			}
			return weighted(q, self)
		}
	}
	return contender.Exclusive
}

// setState sets the state of a queue, unless already known.
func (l *looker) setState(t *Thing) {
	if t.State != "" {
		return
	}
	var holders []string
	for _, c := range t.Holders() {
		holders = append(holders, c.Name())
	}
	verb := map[Kind]string{Election: "led by "}[t.Kind]
	if verb == "" {
		verb = "held by "
	}
	switch {
	case len(holders) == 0:
		t.State = "free"
	case t.Kind == RWLock && t.Queue[0].Role == "read":
		t.State = "read by " + joinNames(holders)
	case t.Kind == RWLock:
		t.State = "written by " + joinNames(holders)
	default:
		t.State = verb + joinNames(holders)
	}
	switch n := t.Waiting(); {
	case n > 0 && t.Kind == Election:
		t.State += ", " + formatCount(n, "candidate") + " behind"
	case n > 0:
		t.State += ", " + formatSeveral(n, "waits", "wait")
	}
	switch p := t.Permits; {
	case p != nil && p.Total == 0 && len(holders) > 0:
		t.State = "held by " + joinNames(holders)
		if n := t.Waiting(); n > 0 {
			t.State += ", perhaps by " + formatSeveral(n, "other", "others") + " too"
		}
	case p != nil && p.Total > 0:
		t.State = strconv.Itoa(p.Free()) + " of " + formatCount(p.Total, "permit") + " free"
		if n := t.Waiting(); n > 0 {
			t.State += ", " + formatSeveral(n, "waits", "wait")
		}
	}
}

// The time at the head of a queue, while others wait, after which a hint is
// shown.
const longHold = 10 * time.Minute
