package barrier

import (
	"cmp"
	"slices"
)

// action is the next action of a party.
type action int

const (
	actWait    action = iota // until the record changes
	actList                  // list the parties and decide again
	actRelease               // let chosen through
	actSeats                 // wait until seats are empty, and look again
	actPassed                // let through, in round
	actMissing               // its znode has gone: read the record once more
	actGone                  // its znode has gone, and the party was not let through
	actUnknown               // its znode has gone, and nothing tells
	actTooMany               // all seats are taken by others
)

// observation is a party's knowledge for a decision.
type observation struct {
	record record
	// count is the number of the path's children at the read of the record.
	count int
	self  int32 // the party's number
	id    string
	// arrival: the record was read behind the creation of the party's znode.
	arrival bool
	// gone: the znode was seen to have gone before the record was read.
	gone bool
	// listed: members are the parties listed after the record was read.
	listed  bool
	members []member
}

// decision is the result of decide.
type decision struct {
	act   action
	round int64 // of actPassed
	// For actRelease: chosen are the parties to let through, in the order of their
	// numbers; stale are older znodes of the same IDs, to be deleted with them.
	chosen, stale []member
	// For actSeats: seats are the seats of the round inside.
	seats []member
}

// decide is the algorithm. Its liveness: whenever enough parties wait, the
// party with the greatest number sees them on arrival, because all others
// arrived before. This party releases rounds until too few parties remain; if
// it dies meanwhile, the same holds for the remaining parties. So no other
// party needs to list. A party that lost its connection may have been the party
// with the greatest number, and lists again.
func decide(v observation) decision {
	switch fate, round := v.record.fateOf(v.self); {
	case fate == released:
		return decision{act: actPassed, round: round}
	case fate == skipped:
		return decision{act: actGone}
	case fate == forgotten:
		return decision{act: actUnknown}
	case v.gone:
		return decision{act: actGone}
	case !v.listed && v.mustList():
		return decision{act: actList}
	case !v.listed:
		return decision{act: actWait}
	case !slices.ContainsFunc(v.members, func(m member) bool { return m.seq == v.self }):
		return decision{act: actMissing}
	}
	return v.chooseMembers()
}

// mustList reports whether, by v's counts, enough parties for a release, or too
// many, may be present; only a listing can tell.
func (v observation) mustList() bool {
	r := v.record
	if r.Kind == kindDouble && r.Round > 0 && v.count > r.Parties {
		return true // all of the last round, and this one?
	}
	// At most the parties with numbers between the last released number and v's
	// own have arrived before v: an arrival that cannot be the last of a round
	// leaves the listing to later arrivals. When all parties arrive at once,
	// only one of them lists.
	could := int64(v.self) - int64(r.lastReleased())
	return v.count >= r.Parties && (!v.arrival || could >= int64(r.Parties))
}

// chooseMembers decides by the listing.
func (v observation) chooseMembers() decision {
	waiting, stale, seats := v.sortMembers()
	k := v.record.Parties
	if len(seats) > 0 {
		mine := slices.ContainsFunc(seats, func(m member) bool { return m.id == v.id })
		switch {
		case len(seats) == k && !mine:
			return decision{act: actTooMany}
		case len(waiting) >= k:
			return decision{act: actSeats, seats: seats}
		}
		return decision{act: actWait}
	}
	if len(waiting) < k {
		return decision{act: actWait}
	}
	chosen := waiting[:k]
	last := chosen[k-1].seq
	// A stale znode with a lower number must be deleted too: its number has passed,
	// and its owner, if it still lives, learns from the deletion that it was replaced.
	stale = slices.DeleteFunc(stale, func(m member) bool { return m.seq > last })
	return decision{act: actRelease, chosen: chosen, stale: stale}
}

// sortMembers divides the members into waiting parties (the newest of each ID), stale
// znodes (older ones of the same ID), and the seats of the parties inside.
func (v observation) sortMembers() (waiting, stale, seats []member) {
	members := slices.Clone(v.members)
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.seq, b.seq) })
	newest := make(map[string]int32, len(members))
	for _, m := range members {
		newest[m.id] = m.seq
	}
	for _, m := range members {
		switch fate, _ := v.record.fateOf(m.seq); {
		case fate == released:
			seats = append(seats, m)
		case fate != pending || newest[m.id] != m.seq:
			stale = append(stale, m)
		default:
			waiting = append(waiting, m)
		}
	}
	return waiting, stale, seats
}
