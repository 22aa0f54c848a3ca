package recognize

import (
	"maps"
	"time"
)

// A family is recognized later than its nodes change: when a moment has come, or when another
// family depends on changes that were kept back.

// IsDue reports whether some family is to be recognized again at a moment, although nothing has
// changed.
func (r *Recognizer) IsDue(now time.Time) bool {
	return !r.firstDue.IsZero() && !r.firstDue.After(now)
}

func (r *Recognizer) noteDue(path string, at time.Time) {
	if r.due[path] = at; r.firstDue.IsZero() || at.Before(r.firstDue) {
		r.firstDue = at
	}
}

// markDue marks the families that are due.
func (u *revision) markDue() {
	if !u.r.IsDue(u.now) {
		return
	}
	all := u.r.due
	u.r.due, u.r.firstDue = make(map[string]time.Time, len(all)), time.Time{}
	for path, at := range all {
		if at.After(u.now) {
			u.r.noteDue(path, at)
		} else {
			u.markWithin(path)
		}
	}
}

// takeLate takes the changes that were kept back, of which those that are recognized now may
// depend, and reports whether there are any.
func (u *revision) takeLate(newer map[string]*Node) bool {
	if u.r.Late == nil {
		return false
	}
	late := map[string]*Node{}
	take := func(path string) {
		if family := FamilyOf(path); !u.settled[family] {
			u.settled[family] = true
			maps.Copy(late, u.r.Late(family))
		}
	}
	for path := range u.families {
		take(path)
	}
	for path := range u.probes {
		if looksDeeper(u.top.find(path)) || looksDeeper(u.old.find(path)) {
			take(path)
		}
	}
	maps.DeleteFunc(late, func(path string, _ *Node) bool { _, is := newer[path]; return is })
	if len(late) == 0 {
		return false
	}
	u.takeChanges(late)
	return true
}
