package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
)

// stays follows the stays in the things of successive states.
type stays struct {
	open map[place]*Stay
	// of are the places in a thing.
	of map[string]map[place]bool
	// began, granted and ended are called in the order of the transactions; so is described when
	// something else of a stay has changed.
	began, granted, ended, described func(*Stay)
	// findBreak finds the record of an operator who takes the hold away by a transaction.
	findBreak func(*Stay, *txnlog.Txn) (lockformat.Break, bool)
}

// place identifies a stay among those that last.
type place struct{ thing, znode, resource string }

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.thing, b.thing), cmp.Compare(a.znode, b.znode), cmp.Compare(a.resource, b.resource))
}

func (s *Stay) place() place { return place{s.Path, s.Znode, s.Resource} }

// step takes what a transaction has changed. The first state has no transaction: what has been
// granted there was granted before.
func (y *stays) step(d recognize.Delta, tree *tree, at Moment, txn *txnlog.Txn) {
	left := map[place]bool{}
	for _, t := range d.Gone {
		for p := range y.of[t.Path] {
			left[p] = true
		}
	}
	type arrival struct {
		place
		part
		thing *recognize.Thing
	}
	var come []arrival
	for _, t := range d.Come {
		for _, p := range partsOf(t) {
			a := arrival{place{t.Path, p.znode, p.resource}, p, t}
			if s := y.open[a.place]; s != nil && !s.isOf(tree.nodes[p.znode]) {
				left[a.place] = true // the znode was made again
			} else {
				delete(left, a.place)
			}
			come = append(come, a)
		}
	}
	// The former holder ends before the next one is granted.
	for _, p := range sortedPlaces(left) {
		if y.open[p].stands(tree) {
			y.finish(p, at, Replaced, 0) // the thing is recognized as another one now
			continue
		}
		y.end(p, at, txn)
	}
	for _, a := range come {
		y.arrive(a.place, a.part, a.thing, tree, at, txn)
	}
}

func sortedPlaces(all map[place]bool) []place {
	out := make([]place, 0, len(all))
	for p := range all {
		out = append(out, p)
	}
	slices.SortFunc(out, comparePlaces)
	return out
}

// arrive takes a part of a thing that has come, or changed.
func (y *stays) arrive(at place, p part, t *recognize.Thing, tree *tree, now Moment, txn *txnlog.Txn) {
	n := tree.nodes[p.znode]
	s := y.open[at]
	if s != nil && s.Has() && s.As != p.as && t.Kind == recognize.RWLock { // a downgrade
		y.finish(at, now, Replaced, 0)
		s = nil
	}
	if s == nil {
		s = &Stay{
			Path: t.Path, Znode: p.znode, Resource: p.resource, Session: p.session,
			Entered: now, Before: txn == nil && p.has,
		}
		if n != nil {
			s.czxid, s.ctime = n.Stat.Czxid, n.Stat.Ctime
		}
		if p.resource == "" && n != nil && (txn == nil || txn.Observed && creates(txn, p.znode)) {
			s.Entered = Moment{n.Created(), txnlog.Zxid(s.czxid)}
			switch {
			case txn == nil:
			case txn.After.IsZero():
				now = s.Entered // a grant at once
			case s.Entered.Time.Before(txn.After): // it exists again, as in a backup
				s.Entered.Time = txn.After
			}
		}
		y.enter(at, s)
		s.describe(p, t)
		y.began(s)
	} else if before := *s; s.describe(p, t) != before {
		y.described(s)
	}
	if p.has && !s.Has() {
		now = s.notBefore(now, txn)
		s.Granted, s.GrantedAfter = &now, afterOf(txn)
		y.granted(s)
	}
}

// adopt makes these stays those that last. The map is that of the stays from then on.
func (y *stays) adopt(open map[place]*Stay) {
	for at := range open {
		y.group(at)
	}
	y.open = open
}

// enter adds a stay to those that last.
func (y *stays) enter(at place, s *Stay) {
	y.open[at] = s
	y.group(at)
}

// group notes a place with its thing.
func (y *stays) group(at place) {
	if y.of[at.thing] == nil {
		y.of[at.thing] = map[place]bool{}
	}
	y.of[at.thing][at] = true
}

// creates reports whether a transaction creates a znode.
func creates(txn *txnlog.Txn, path string) bool {
	return slices.ContainsFunc(txn.Changes, func(ch txnlog.Change) bool { return ch.Path == path && ch.Type.Creates() })
}

// afterOf is the moment after which an observed transaction happened, if it was seen late.
func afterOf(txn *txnlog.Txn) *time.Time {
	if txn == nil || txn.After.IsZero() {
		return nil
	}
	return &txn.After
}

// notBefore is a moment of an observed transaction. The entry of a client has the time of the
// leader's clock, which the recorder's may be behind.
func (s *Stay) notBefore(now Moment, txn *txnlog.Txn) Moment {
	if txn != nil && txn.Observed && now.Time.Before(s.Entered.Time) {
		now.Time = s.Entered.Time
	}
	return now
}

// describe sets what may change during a stay, and returns the stay.
func (s *Stay) describe(p part, t *recognize.Thing) Stay {
	s.Kind, s.As, s.Name, s.Permits = t.Kind, p.as, cmp.Or(p.name, s.Name), p.permits
	if p.token != 0 {
		s.Token = p.token
	}
	return *s
}

// stands reports whether the znode of a stay exists. A resource is no znode of its owner's.
func (s *Stay) stands(tree *tree) bool {
	n := tree.nodes[s.Znode]
	return n != nil && s.isOf(n) && s.Resource == ""
}

// isOf reports whether a znode is that of the stay. The time is there for the sake of servers
// that were recreated, and have begun to count again.
func (s *Stay) isOf(n *recognize.Node) bool {
	if n == nil {
		return s.czxid == 0
	}
	return n.Stat.Czxid == s.czxid && n.Stat.Ctime == s.ctime
}

// end ends a stay by a transaction.
func (y *stays) end(at place, now Moment, txn *txnlog.Txn) {
	s := y.open[at]
	owner := int64(s.Session)
	s.EndedAfter = afterOf(txn)
	now = s.notBefore(now, txn)
	var by recognize.SessionID
	if txn != nil && !txn.Observed {
		by = recognize.SessionID(txn.Session)
	}
	switch b, broken := y.findBreak(s, txn); {
	case txn == nil:
		y.finish(at, now, Removed, 0)
	case broken:
		s.BrokenBy, s.Reason = b.By, b.Reason
		y.finish(at, now, Broken, by)
	case txn.SessionEnded:
		y.finish(at, now, GoneWithSession, 0)
	case txn.Observed:
		y.finish(at, now, Gone, 0)
	case txn.Type == txnlog.TypeCloseSession && txn.Session == owner && txn.Cxid == 0:
		y.finish(at, now, Expired, 0)
	case txn.Type == txnlog.TypeCloseSession && txn.Session == owner:
		y.finish(at, now, Closed, 0)
	case txn.Session == owner:
		y.finish(at, now, Released, 0)
	default:
		y.finish(at, now, Removed, by)
	}
}

// loggedBreak finds the record of an operator who takes the hold away in a log: the record is
// created in the transaction that deletes the znode.
func loggedBreak(s *Stay, txn *txnlog.Txn) (lockformat.Break, bool) {
	if s.Token == 0 || txn == nil || txn.Session == int64(s.Session) {
		return lockformat.Break{}, false
	}
	record := lockformat.BreakPath(s.Path, s.Token)
	for _, c := range txn.Changes {
		if c.Path == record && c.Type.Creates() {
			b, err := lockformat.ParseBreak(c.Data)
			return b, err == nil && b.Token == s.Token
		}
	}
	return lockformat.Break{}, false
}

func (y *stays) finish(at place, now Moment, how How, by recognize.SessionID) {
	s := y.open[at]
	delete(y.open, at)
	if delete(y.of[at.thing], at); len(y.of[at.thing]) == 0 {
		delete(y.of, at.thing)
	}
	s.Ended, s.How, s.By = &Moment{now.Time, now.Zxid}, how, by
	y.ended(s)
}

// rest are the stays that last.
func (y *stays) rest() []*Stay {
	all := make(map[place]bool, len(y.open))
	for p := range y.open {
		all[p] = true
	}
	out := make([]*Stay, 0, len(all))
	for _, p := range sortedPlaces(all) {
		out = append(out, y.open[p])
	}
	return out
}
