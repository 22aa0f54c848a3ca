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
	// the server counts all that were ever made there.
	firstOfAll = "0000000000"
)

// Change is something that has become another.
type Change struct {
	At   time.Time
	Kind recognize.Kind
	Path string
	// Text says what; it stands behind the path.
	Text string
}

// Point is what a counter was from At on.
type Point struct {
	At    time.Time
	Value int64
}

// memory is what was seen. One goroutine at a time has it.
type memory struct {
	past recognize.Past
	// firm are the moments of past.Holds that are when somebody got something;
	// the others are when it was first seen to have it.
	firm   map[recognize.Tenure]bool
	before map[string]*recognize.Thing // by kind and path
	// proven is since when there is the connection on which the last look saw
	// all that there was; zero if it may have been behind.
	proven time.Time
	feed   []Change
	series map[string][]Point
}

func newMemory() *memory {
	return &memory{
		past: recognize.Past{Began: time.Now(), Holds: map[recognize.Tenure]time.Time{}},
		firm: map[recognize.Tenure]bool{}, series: map[string][]Point{},
	}
}

// watched reports whether every change that the coming look finds has happened since
// the last look: the last look saw the whole tree, and the connection has been up all
// the time. A change may still be older by the time that a connection can hang without
// being called stale.
func (m *memory) watched(st cache.Status) bool {
	was := m.proven
	m.proven = time.Time{}
	if st.Connected && (st.Synced || st.Since.Equal(was)) {
		m.proven = st.Since
	}
	return st.Connected && !was.IsZero() && st.Since.Equal(was)
}

// blink forgets that the tree was seen all the time: for a while it was not.
func (m *memory) blink() { m.proven = time.Time{} }

// blind reports whether what changes now would not count as seen.
func (m *memory) blind() bool { return m.proven.IsZero() && m.before != nil }

// remember takes in what has become of things. It is what has happened since the last
// time, if it was seen; else it may have been so for longer.
func (m *memory) remember(d recognize.Delta, now time.Time, seen bool) {
	first := m.before == nil
	if first {
		m.before = map[string]*recognize.Thing{}
	}
	m.holders(d, now, seen && !first)
	m.count(d, now)
	come := make(map[string]bool, len(d.Come))
	for _, t := range d.Come {
		key := keyOf(t)
		if come[key] = true; !first {
			m.compare(m.before[key], t, now)
		}
		m.before[key] = t
	}
	for _, t := range d.Gone {
		if key := keyOf(t); !come[key] {
			if delete(m.before, key); newsworthy(t.Kind) {
				m.tell(now, t, "has gone")
			}
		}
	}
}

// keyOf is what remains of a thing whatever becomes of it.
func keyOf(t *recognize.Thing) string { return string(t.Kind) + t.Path }

// holders remembers since when contenders hold. The first contender of all has held
// since it came, as nobody was before it. A contender that became the holder while
// nobody looked may have held for long: it is known to hold from the first look on that
// shows it.
func (m *memory) holders(d recognize.Delta, now time.Time, seen bool) {
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

// count remembers what counters are.
func (m *memory) count(d recognize.Delta, now time.Time) {
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
		// A new slice each time: views have the old one.
		m.series[t.Path] = append(slices.Clone(points[max(0, len(points)+1-maxPoints):]), Point{now, value})
	}
	for _, t := range d.Gone {
		if t.Number != nil && !there[t.Path] {
			delete(m.series, t.Path)
		}
	}
}

// newsworthy are things whose changes are news. Locks and counters change all the
// time: that is what they are for.
func newsworthy(k recognize.Kind) bool {
	switch k {
	case recognize.Election, recognize.Service, recognize.Group, recognize.Job, recognize.Rebalancer, recognize.Gate:
		return true
	}
	return false
}

// compare tells what has become of a thing.
func (m *memory) compare(old, t *recognize.Thing, now time.Time) {
	if old != nil {
		known := make(map[recognize.Problem]bool, len(old.Problems))
		for _, p := range old.Problems {
			known[uncounted(p)] = true
		}
		for _, p := range t.Problems {
			if p.Level != recognize.Hint && !known[uncounted(p)] {
				m.tell(now, t, p.Text)
			}
		}
	}
	switch {
	case !newsworthy(t.Kind):
	case old == nil:
		m.tell(now, t, "is new: "+t.State)
	case t.Kind == recognize.Election:
		if a, b := leader(old), leader(t); a != b {
			m.tell(now, t, map[bool]string{true: "has no leader", false: "is now led by " + b}[b == ""])
		}
	case old.State != t.State:
		m.tell(now, t, "is now: "+t.State)
	}
}

// uncounted is a problem without the numbers in its text: one that has three of
// something is the same with four. Which znode has it says its path.
func uncounted(p recognize.Problem) recognize.Problem {
	p.Text = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, p.Text)
	return p
}

func leader(t *recognize.Thing) string {
	if h := t.Holders(); len(h) > 0 {
		return h[0].Name()
	}
	return ""
}

func (m *memory) tell(now time.Time, t *recognize.Thing, text string) {
	m.feed = append([]Change{{now, t.Kind, t.Path, text}}, m.feed[:min(len(m.feed), maxFeed-1)]...)
}

// changes are the feed, for a view.
func (m *memory) changes() []Change { return slices.Clone(m.feed) }

// numbers are the histories, for a view: values that nobody changes.
func (m *memory) numbers() map[string][]Point { return maps.Clone(m.series) }
