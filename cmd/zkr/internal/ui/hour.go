package ui

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// The bounds of what is remembered of the last hour.
const (
	lately = time.Hour
	// maxEnded is how many ended holds of one thing are kept, and maxHolds of all.
	maxEnded = 100
	maxHolds = 10_000
	// maxBlind is how many times without observation are kept; the oldest are joined.
	maxBlind = 60
)

// Hold is a hold of a lock, or a term of a leader, that has ended.
type Hold struct {
	Holder  string
	Session recognize.SessionID
	Token   int64
	// From is the beginning. Unless Sure, the hold may have begun before.
	From time.Time
	Sure bool
	// Until is the end. If After is set, the end was not observed, and was between the two.
	Until, After time.Time
	// How the hold has ended, as far as the znodes tell.
	How string
}

// Span is a time in which changes were not observed.
type Span struct{ From, To time.Time }

// Minute counts locks and elections in a minute with a look.
type Minute struct {
	At time.Time
	// Held and Waiting are the most holders and waiters, Grants the observed grants.
	Held, Waiting, Grants int
}

// Hour is what is known of the last hour. An Hour does not change.
type Hour struct {
	// Began is the beginning of the observation.
	Began time.Time
	// Ended are the ended holds of things, by keyOf, in the order of their ends.
	Ended map[string][]Hold
	// Waiting are the numbers of waiters of things with waiters, by keyOf.
	Waiting map[string][]Point
	Blind   []Span
	// Dropped is the last end of the holds that were too many, of a thing or of all.
	Dropped map[string]time.Time
	Minutes []Minute
}

// recorder records the last hour. One goroutine at a time uses it.
type recorder struct {
	hour          Hour
	held, waiting int // present holders and waiters
	total         int // holds in hour.Ended
	// before is the world of the last look, world that of the present look.
	before, world *recognize.World
	forgot        time.Time // when old things were dropped last
	// shared: views have the maps of hour, which must be copied before a change.
	shared bool
}

// allDropped is the key of Hour.Dropped for holds of any thing.
const allDropped = ""

func newRecorder(began time.Time) recorder {
	return recorder{hour: Hour{Began: began, Ended: map[string][]Hold{}, Waiting: map[string][]Point{}, Dropped: map[string]time.Time{}}}
}

// view returns the hour for a view.
func (r *recorder) view() Hour {
	r.shared = true
	out := r.hour
	out.Blind, out.Minutes = slices.Clone(out.Blind), slices.Clone(out.Minutes)
	return out
}

// own copies the maps if a view has them.
func (r *recorder) own() {
	if r.shared {
		h := &r.hour
		h.Ended, h.Waiting, h.Dropped, r.shared = maps.Clone(h.Ended), maps.Clone(h.Waiting), maps.Clone(h.Dropped), false
	}
}

// isTimed is true for kinds of things whose holds are recorded.
func isTimed(k recognize.Kind) bool { return isLock(k) || k == recognize.Election }

// compare records the difference between two states of a thing; nil for none. when dates
// changes that were not observed, and stays reports whether a hold goes on.
func (r *recorder) compare(old, t *recognize.Thing, when Change, stays func(recognize.Tenure) bool) {
	held := map[recognize.Tenure]bool{}
	if old != nil && isTimed(old.Kind) {
		for _, c := range old.Holders() {
			held[c.Tenure()] = true
			if !stays(c.Tenure()) {
				r.end(old, t, c, when)
			}
		}
		r.held, r.waiting = r.held-len(held), r.waiting-old.Waiting()
	}
	if t == nil && old != nil && isTimed(old.Kind) {
		r.countWaiters(keyOf(old), 0, when.At)
	}
	if t == nil || !isTimed(t.Kind) {
		return
	}
	holders := t.Holders()
	r.held, r.waiting = r.held+len(holders), r.waiting+t.Waiting()
	for _, c := range holders {
		if !held[c.Tenure()] && when.After.IsZero() {
			r.minute(when.At).Grants++
		}
	}
	r.countWaiters(keyOf(t), int64(t.Waiting()), when.At)
}

// end records the end of a hold; t is the state after it, or nil.
func (r *recorder) end(old, t *recognize.Thing, c *recognize.Contender, when Change) {
	h := Hold{Holder: c.Name(), Session: c.Session, Token: c.Token, Until: when.At, After: when.After, How: r.howEnded(t, c)}
	if from := heldBy(c); from != nil {
		h.From, h.Sure = from.Since, from.Sure
	}
	if h.Until.Sub(h.After) < time.Second {
		h.After = time.Time{} // notified at that time, though looked at later
	}
	r.own()
	key := keyOf(old)
	all := append(slices.Clip(r.hour.Ended[key]), h)
	if r.total++; len(all) > maxEnded {
		r.hour.Dropped[key] = all[0].Until
		all, r.total = all[1:], r.total-1
	}
	r.hour.Ended[key] = all
}

// howEnded says how a hold has ended, as far as the znodes tell.
func (r *recorder) howEnded(t *recognize.Thing, c *recognize.Contender) string {
	if t != nil {
		for _, b := range t.Breaks {
			if c.Token != 0 && b.Token == c.Token {
				return "taken away by " + b.By + ": " + b.Reason
			}
		}
	}
	switch {
	case c.Session == 0:
		return "deleted"
	case r.world.Session(c.Session) != nil:
		return "released: its session goes on"
	}
	if s := r.before.Session(c.Session); s != nil && len(s.Holdings) > 1 {
		return "its session has ended, or gave back everything: none of its " + formatCount(len(s.Holdings), "znode") + " is left"
	}
	return "released, or its session has ended: it had no other znode"
}

// countWaiters notes the number of waiters of a thing, once it has had any.
func (r *recorder) countWaiters(key string, n int64, now time.Time) {
	points, known := r.hour.Waiting[key]
	if !known && (n == 0 || len(r.hour.Waiting) >= maxHistories) || known && points[len(points)-1].Value == n {
		return
	}
	r.own()
	r.hour.Waiting[key] = append(slices.Clone(points[max(0, len(points)+1-maxPoints):]), Point{now, n})
}

// minute is the counts of the present minute.
func (r *recorder) minute(now time.Time) *Minute {
	at, all := now.Truncate(time.Minute), &r.hour.Minutes
	if n := len(*all); n == 0 || (*all)[n-1].At.Before(at) {
		*all = append(*all, Minute{At: at})
	}
	return &(*all)[len(*all)-1]
}

// begin begins a look.
func (r *recorder) begin(world *recognize.World) { r.before, r.world = r.world, world }

// finish ends a look: blind is the time before it whose changes were not observed, if any.
func (r *recorder) finish(blind Span, now time.Time) {
	m := r.minute(now)
	m.Held, m.Waiting = max(m.Held, r.held), max(m.Waiting, r.waiting)
	if blind.To.After(blind.From) {
		r.hour.Blind = append(r.hour.Blind, blind)
		if len(r.hour.Blind) > maxBlind {
			r.hour.Blind[1].From = r.hour.Blind[0].From
			r.hour.Blind = r.hour.Blind[1:]
		}
	}
	if now.Sub(r.forgot) > time.Minute || r.total > maxHolds {
		r.forgot = now
		r.forget(now.Add(-lately))
	}
}

// forget drops what is older than an hour, and the holds of the things that have been quiet
// for longest, if there are too many.
func (r *recorder) forget(before time.Time) {
	h := &r.hour
	h.Blind = slices.DeleteFunc(h.Blind, func(s Span) bool { return s.To.Before(before) })
	h.Minutes = slices.DeleteFunc(h.Minutes, func(m Minute) bool { return m.At.Before(before.Truncate(time.Minute)) })
	r.own()
	for key, all := range h.Ended {
		for len(all) > 0 && all[0].Until.Before(before) {
			all, r.total = all[1:], r.total-1
		}
		if h.Ended[key] = all; len(all) == 0 {
			delete(h.Ended, key)
		}
	}
	maps.DeleteFunc(h.Dropped, func(_ string, at time.Time) bool { return at.Before(before) })
	maps.DeleteFunc(h.Waiting, func(_ string, all []Point) bool {
		last := all[len(all)-1]
		return last.Value == 0 && last.At.Before(before)
	})
	if r.total <= maxHolds {
		return
	}
	lastEnd := func(key string) time.Time { return h.Ended[key][len(h.Ended[key])-1].Until }
	quiet := slices.SortedFunc(maps.Keys(h.Ended), func(a, b string) int { return cmp.Or(lastEnd(a).Compare(lastEnd(b)), cmp.Compare(a, b)) })
	for _, key := range quiet {
		if r.total <= maxHolds*3/4 {
			return
		}
		h.Dropped[allDropped] = lastEnd(key)
		r.total -= len(h.Ended[key])
		delete(h.Ended, key)
	}
}
