package recognize

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// totalPermits is the number in the data of a semaphore's path; 0 without a
// number.
func totalPermits(s *spot) int {
	if !s.Whole() {
		return 0
	}
	return lockformat.ParsePermits(s.Data)
}

func (l *looker) readSemaphore(t *Thing, s *spot) {
	t.Permits = &Permits{Total: totalPermits(s)}
	for _, c := range t.Holders() {
		t.Permits.Held += c.Permits
	}
	if t.Permits.Total == 0 && !s.Denied {
		t.addProblem(Warn, codeUnknownPermits, s.Path, "the path does not have the number of permits")
	}
}

// recognizeLeases recognizes Curator's InterProcessSemaphoreV2, whose number of permits
// is not stored. An InterProcessSemaphoreMutex is such a semaphore with one
// permit.
func recognizeLeases(l *looker, s *spot) *Thing {
	held, waiting := s.child(lockformat.DirLeases), s.child(lockformat.DirLocks)
	if held == nil {
		return nil
	}
	hold, wait := held.exactQueue(lockformat.CuratorLease), znode.Queue{}
	if waiting != nil {
		wait = waiting.exactQueue(lockformat.CuratorMutex)
	}
	if len(hold.Entries)+len(wait.Entries) == 0 {
		return nil
	}
	t := &Thing{Kind: Semaphore, Path: s.Path, How: "leases and locks, as Curator's InterProcessSemaphoreV2; the number of permits is not stored"}
	if len(hold.Entries) == 0 {
		t.Guess = looksLike(Semaphore, "an empty znode leases is beside a mutex called locks")
	}
	t.Permits = &Permits{}
	for _, e := range hold.Entries {
		t.Queue = append(t.Queue, l.readContender(t, held.child(e.Name), e))
	}
	if isAwaited(t.Queue, waiting, wait) {
		wait.Entries = wait.Entries[1:] // already represented by itself in leases
		t.Permits.Held--
	}
	t.Permits.Held += len(t.Queue)
	for _, e := range wait.Entries {
		t.Queue = append(t.Queue, l.readContender(t, waiting.child(e.Name), e))
	}
	l.markHolders(t)
	held.claimTree(t)
	if waiting != nil {
		waiting.claimTree(t)
	}
	if t.Strangers = held.children.size() - len(hold.Entries); t.Strangers > 0 {
		t.addProblem(Warn, codeStrangers, held.Path, "%s: Curator counts a permit for each", formatSeveral(t.Strangers, "child of leases is not a lease", "children of leases are not leases"))
	}
	l.addBreaks(t, s)
	t.State = formatSeveral(t.Permits.Held, "permit is held", "permits are held")
	if n := t.Waiting(); n > 0 {
		t.State += ", " + formatSeveral(n, "waits", "wait")
	}
	l.findSuspicions(t)
	return t
}

// exactQueue is the children whose names are just as a library writes them.
func (s *spot) exactQueue(mark string) znode.Queue {
	q := znode.Parse(s.names(), mark)
	q.Entries = slices.DeleteFunc(q.Entries, func(e znode.Entry) bool {
		_, before := findMarker(e.Name)
		return !isExactName(mark, before)
	})
	return q
}

// isAwaited reports whether the newest lease belongs to the holder of the lock: the
// holder gives the lock back as soon as the lease counts. A single lease always
// counts.
func isAwaited(leases []*Contender, locks *spot, wait znode.Queue) bool {
	if len(leases) < 2 || len(wait.Entries) == 0 {
		return false
	}
	head, newest := locks.child(wait.Entries[0].Name), leases[len(leases)-1]
	return newest.Session != 0 && newest.Session == SessionID(head.Stat.EphemeralOwner) && newest.Token > head.Stat.Czxid
}

// markHolders marks the first contenders of a queue as holders of a permit each, and
// sets the predecessors of the others: the first waiter waits for any holder,
// every other waiter for the contender before it.
func (l *looker) markHolders(t *Thing) {
	for i, c := range t.Queue {
		c.Permits, c.Holds = 1, i < t.Permits.Held
		switch {
		case c.Holds:
			c.Since = l.past.Holds[c.Tenure()]
		case i >= Shown:
		case i == t.Permits.Held:
			for k := range i {
				c.Watches = append(c.Watches, k)
			}
		default:
			c.Watches = []int{i - 1}
		}
	}
}

// leasePool recognizes Kazoo's Semaphore: a child for each lease, the number of
// permits in the data, and beside it a lock for waiters, which outlives all
// leases.
func leasePool(l *looker, s *spot) *Thing {
	locks := l.find(s.Path + suffixLock)
	total := totalPermits(s)
	if s.Path == "/" || s.ephemeral() || locks == nil && total == 0 {
		return nil
	}
	t := &Thing{Kind: Semaphore, Path: s.Path, How: "a child for each lease and a lock beside it, as Kazoo's Semaphore", Permits: &Permits{Total: total}}
	for c := range s.children.all() {
		if !leaseName.MatchString(c.name) {
			t.Strangers++
			continue
		}
		t.Queue = append(t.Queue, l.readContender(t, c, znode.Entry{Name: c.name}))
	}
	if t.Permits.Held = len(t.Queue); t.Permits.Held == 0 && (locks == nil || total == 0 || t.Strangers > 0) {
		return nil
	}
	slices.SortFunc(t.Queue, func(a, b *Contender) int { return cmp.Or(cmp.Compare(a.Token, b.Token), cmp.Compare(a.Path, b.Path)) })
	if locks == nil {
		t.Guess = looksLike(Semaphore, "its data is a number, and its children are named by UUIDs alone")
	} else {
		for _, e := range locks.exactQueue(lockformat.KazooLock).Entries {
			c := l.readContender(t, locks.child(e.Name), e)
			c.ID = pythonBytes(c.ID)
			t.Queue = append(t.Queue, c)
		}
		locks.claimTree(t)
	}
	l.markHolders(t)
	if t.Strangers > 0 {
		t.addProblem(Warn, codeStrangers, s.Path, "%s: Kazoo counts a permit for each", formatSeveral(t.Strangers, "child is not a lease", "children are not leases"))
	}
	if total == 0 && !s.Denied {
		t.addProblem(Hint, codeUnknownPermits, s.Path, "the path does not have the number of permits")
	}
	if l.setState(t); total == 0 {
		t.State = formatSeveral(t.Permits.Held, "permit is held", "permits are held")
	}
	l.findSuspicions(t)
	return t
}

// pythonBytes takes an id out of b'...': Kazoo's Semaphore has its lock make a
// string of bytes.
func pythonBytes(id string) string {
	if rest, ok := strings.CutPrefix(id, "b'"); ok && strings.HasSuffix(rest, "'") {
		return strings.TrimSuffix(rest, "'")
	}
	return id
}
