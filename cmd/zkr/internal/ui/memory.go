package ui

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

const (
	// maxFeed is how many changes are remembered.
	maxFeed = 30
	// maxPoints is how many values of a counter, and maxHistories of how many
	// counters.
	maxPoints    = 120
	maxHistories = 1000
	// firstOfAll ends the name of the first sequential znode below its parent:
	// the server counts all sequential children ever created.
	firstOfAll = "0000000000"
)

// Change is a change of a thing.
type Change struct {
	At   time.Time
	Kind recognize.Kind
	Path string
	// Text describes the change; it is shown after the path.
	Text string
	// After is set for a change that was not observed as it happened: it happened
	// between After and At.
	After time.Time
}

// unobserved is the time in which the change happened without being observed; empty for an
// observed change.
func (c Change) unobserved() Span {
	if c.After.IsZero() {
		return Span{}
	}
	return Span{c.After, c.At}
}

// Point is the value of a counter from At on.
type Point struct {
	At    time.Time
	Value int64
}

// memory is the record of the observations. One goroutine at a time uses the
// memory.
type memory struct {
	past recognize.Past
	// firm marks the moments of past.Holds at which the contender became the
	// holder; other moments are the first observations of the hold.
	firm   map[recognize.Tenure]bool
	before map[string]*recognize.Thing // by kind and path
	// proven is the beginning of the connection on which the last look saw the
	// whole tree; zero if the tree may have been behind.
	proven time.Time
	// looked is the time of the last look. first and last, if not zero, are the times
	// of the first and the last notification since then, on a proven connection.
	looked, first, last time.Time
	feed                []Change
	series              map[string][]Point
	lately              recorder
}

func newMemory() *memory {
	began := time.Now()
	return &memory{
		lately: newRecorder(began),
		past:   recognize.Past{Began: began, Holds: map[recognize.Tenure]time.Time{}},
		firm:   map[recognize.Tenure]bool{}, series: map[string][]Point{},
	}
}

// noteStatus reports whether every change found by the next look has happened
// since the last look: the last look saw the whole tree, and the connection has
// been up all the time. A change may still be older by as long as a connection
// can hang without counting as stale.
func (m *memory) noteStatus(st cache.Status) bool {
	was := m.proven
	m.proven = time.Time{}
	if st.Connected && (st.Synced || st.Since.Equal(was)) {
		m.proven = st.Since
	}
	return st.Connected && !was.IsZero() && st.Since.Equal(was)
}

// noteSpan notes when the changes that the next look finds were notified: long before
// the look, as no page was open.
func (m *memory) noteSpan(first, last time.Time) { m.first, m.last = first, last }

// resetProof notes a time without observation.
func (m *memory) resetProof() { m.proven = time.Time{} }

// isBlind reports whether changes now would not count as observed.
func (m *memory) isBlind() bool { return m.proven.IsZero() && m.before != nil }

// remember records the changes of things. If seen, the changes have happened
// since the last look; otherwise they may be older.
func (m *memory) remember(d recognize.Delta, now time.Time, seen bool) {
	first := m.before == nil
	if first {
		m.before = map[string]*recognize.Thing{}
	}
	m.updateHolders(d, now, seen && !first)
	m.recordCounts(d, now)
	come, when, whenByTime := make(map[string]bool, len(d.Come)), Change{At: now}, Change{At: now}
	if !seen {
		when, whenByTime = m.dateUnobserved(now)
	}
	observed := when
	if first {
		m.lately.hour.Began, observed.After = now, m.past.Began
	}
	stays := func(c recognize.Tenure) bool { _, holds := m.past.Holds[c]; return holds }
	m.lately.begin(d.World)
	for _, t := range d.Come {
		key := keyOf(t)
		if come[key] = true; !first {
			m.compareThings(m.before[key], t, when, whenByTime)
		}
		m.lately.compare(m.before[key], t, observed, stays)
		m.before[key] = t
	}
	for _, t := range d.Gone {
		if key := keyOf(t); !come[key] {
			m.lately.compare(m.before[key], nil, observed, stays)
			if delete(m.before, key); isNewsworthy(t.Kind) {
				m.addChange(when, t, "has gone")
			}
		}
	}
	m.lately.finish(when.unobserved(), now)
	m.looked, m.first, m.last = now, time.Time{}, time.Time{}
}

// dateUnobserved dates changes that are older than the look that has found them: changes
// of znodes, and problems, which may have come with time alone.
func (m *memory) dateUnobserved(now time.Time) (znodes, problems Change) {
	znodes = Change{At: now, After: m.looked}
	problems = znodes
	if !m.first.IsZero() {
		znodes = Change{At: m.last, After: m.first}
	}
	return znodes, problems
}

// keyOf identifies a thing across its changes.
func keyOf(t *recognize.Thing) string { return string(t.Kind) + t.Path }

// updateHolders remembers since when contenders hold. The very first contender has
// held since its creation, because no other was ahead. A contender that became
// the holder unobserved may have held for long: its hold is known only from the
// first look that shows the hold.
func (m *memory) updateHolders(d recognize.Delta, now time.Time, seen bool) {
	holds := map[recognize.Tenure]bool{}
	for _, t := range d.Come {
		for _, c := range t.Holders() {
			since, known := m.past.Holds[c.Tenure()]
			sure := m.firm[c.Tenure()]
			switch {
			case !c.Since.IsZero() && !(known && c.Since.Equal(since)):
				since, sure = c.Since, true // a znode says so
			case known:
			case strings.HasSuffix(c.Path, firstOfAll):
				since, sure = c.Entered, true
			default:
				since, sure = now, seen
			}
			holds[c.Tenure()], m.past.Holds[c.Tenure()], m.firm[c.Tenure()] = true, since, sure
			if c.Since = since; !sure {
				c.Since, c.AtLeast = time.Time{}, since
			}
		}
	}
	for _, t := range d.Gone {
		for _, c := range t.Holders() {
			if !holds[c.Tenure()] {
				delete(m.past.Holds, c.Tenure())
				delete(m.firm, c.Tenure())
			}
		}
	}
}

// recordCounts remembers the values of counters.
func (m *memory) recordCounts(d recognize.Delta, now time.Time) {
	there := map[string]bool{}
	for _, t := range d.Come {
		if t.Number == nil || t.Number.Value == nil {
			continue
		}
		value := *t.Number.Value
		there[t.Path] = true
		points, known := m.series[t.Path]
		if !known && len(m.series) >= maxHistories || known && points[len(points)-1].Value == value {
			continue
		}
		// A new slice each time: views share the old slice.
		m.series[t.Path] = append(slices.Clone(points[max(0, len(points)+1-maxPoints):]), Point{now, value})
	}
	for _, t := range d.Gone {
		if t.Number != nil && !there[t.Path] {
			delete(m.series, t.Path)
		}
	}
}

// isNewsworthy is true for kinds of things whose changes are news. Locks and counters
// change all the time by design.
func isNewsworthy(k recognize.Kind) bool {
	switch k {
	case recognize.Election, recognize.Service, recognize.Group, recognize.Job, recognize.Rebalancer, recognize.Gate:
		return true
	}
	return false
}

// compareThings records the differences between the old and the new state of a thing.
// when dates the changes of znodes, and whenByTime those that may come without one.
func (m *memory) compareThings(old, t *recognize.Thing, when, whenByTime Change) {
	if old != nil {
		known := make(map[recognize.Problem]bool, len(old.Problems))
		for _, p := range old.Problems {
			known[withoutCounts(p)] = true
		}
		for _, p := range t.Problems {
			if p.Level.IsSerious() && !known[withoutCounts(p)] {
				m.addChange(whenByTime, t, p.Text)
			}
		}
	}
	switch {
	case !isNewsworthy(t.Kind):
	case old == nil:
		m.addChange(when, t, "is new: "+t.State)
	case t.Kind == recognize.Election:
		if a, b := leaderOf(old), leaderOf(t); a != b {
			m.addChange(when, t, map[bool]string{true: "has no leader", false: "is now led by " + b}[b == ""])
		}
	case old.State != t.State:
		m.addChange(when, t, "is now: "+t.State)
	}
}

// withoutCounts returns a problem without the numbers in its text: the same problem may
// count three items and later four. The path identifies the znode.
func withoutCounts(p recognize.Problem) recognize.Problem {
	p.Text = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, p.Text)
	return p
}

func leaderOf(t *recognize.Thing) string {
	if h := t.Holders(); len(h) > 0 {
		return h[0].Name()
	}
	return ""
}

// addChange adds a change with the moments of when.
func (m *memory) addChange(when Change, t *recognize.Thing, text string) {
	when.Kind, when.Path, when.Text = t.Kind, t.Path, text
	m.feed = append([]Change{when}, m.feed[:min(len(m.feed), maxFeed-1)]...)
}

// changes are the feed, for a view.
func (m *memory) changes() []Change { return slices.Clone(m.feed) }

// numbers are the histories for a view, never changed afterwards.
func (m *memory) numbers() map[string][]Point { return maps.Clone(m.series) }
