package world

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Hold is a time during which a client believed to hold a limited thing: a
// lock, permits, leadership.
type Hold struct {
	Client  int
	Session int64
	Token   int64
	Permits int       // of a semaphore; 0: the whole
	Term    int64     // of a leadership
	Asked   time.Time // time of the request
	From    time.Time // time of the grant
	To      time.Time // time of the release or of the known loss, whichever came first
}

func (h Hold) String() string {
	const clock = "04:05.000000"
	return fmt.Sprintf("client %d session %#x token %d term %d permits %d: %s to %s",
		h.Client, h.Session, h.Token, h.Term, h.Permits, h.From.Format(clock), h.To.Format(clock))
}

// Write is an applied, guarded write.
type Write struct{ Token, Zxid int64 }

// The faults of a history, besides ErrBroken.
var (
	ErrToken = errors.New("the tokens do not grow with the grants")
	ErrStale = errors.New("a stale holder has written")
	ErrOrder = errors.New("not linearizable")
)

// ByTime are holds in the order of their grants.
func ByTime(holds []Hold) []Hold {
	return slices.SortedStableFunc(slices.Values(holds), func(a, b Hold) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Token, b.Token))
	})
}

// Lasting are the holds not yet lost at their grant.
func Lasting(holds []Hold) []Hold {
	return slices.DeleteFunc(slices.Clone(holds), func(h Hold) bool { return !h.To.After(h.From) })
}

// CheckCapacity asserts that at most total is held at any time; 1 for exclusive
// holds. Ends count before beginnings of the same instant.
func CheckCapacity(holds []Hold, total int) error {
	type edge struct {
		at    time.Time
		delta int
		h     Hold
	}
	var edges []edge
	for _, h := range Lasting(holds) {
		n := cmp.Or(h.Permits, total)
		edges = append(edges, edge{h.From, n, h}, edge{h.To, -n, h})
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.delta, b.delta)) })
	taken := 0
	for i, e := range edges {
		if taken += e.delta; taken > total {
			return fmt.Errorf("%w: %d of %d at %v\n%v", ErrBroken, taken, total, e.h, edges[max(0, i-5):i+1])
		}
	}
	return nil
}

// CheckTokens asserts that tokens grow from grant to grant. With handed, tokens
// may stay the same for a hand-over within a session.
func CheckTokens(holds []Hold, handed bool) error {
	sorted := ByTime(holds)
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		if b.Token < a.Token || b.Token == a.Token && (!handed || a.Session != b.Session) {
			return fmt.Errorf("%w:\n%v\n%v", ErrToken, a, b)
		}
	}
	return nil
}

// CheckWrites asserts that guarded writes were applied in the order of their
// tokens: no write of a holder after a write of the next holder.
func CheckWrites(wrote []Write) error {
	sorted := slices.SortedFunc(slices.Values(wrote), func(a, b Write) int { return cmp.Compare(a.Zxid, b.Zxid) })
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; b.Token < a.Token {
			return fmt.Errorf("%w: token %d at %d after token %d at %d", ErrStale, b.Token, b.Zxid, a.Token, a.Zxid)
		}
	}
	return nil
}

// CheckLinear asserts that the history is a possible history of an exclusive
// hold, with tokens as for CheckTokens: a grant takes effect between the call
// and its return, an end at any time after its request or its discovery.
//
// The tokens give the order of the holds; for hand-overs the times of the
// grants do. So a history is linearizable exactly if each hold can begin and
// end as early as the previous hold allows. Holds already lost at their grant
// are left to CheckTokens.
func CheckLinear(holds []Hold, handed bool) error {
	sorted := slices.SortedStableFunc(slices.Values(Lasting(holds)), func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.Token, b.Token), a.From.Compare(b.From))
	})
	var free time.Time // when the hold before has ended
	for i, h := range sorted {
		if i > 0 && h.Token == sorted[i-1].Token && !handed {
			return fmt.Errorf("%w: two grants have one token:\n%v\n%v", ErrOrder, sorted[i-1], h)
		}
		if free.After(h.From) {
			return fmt.Errorf("%w: granted before the hold before has ended:\n%v", ErrOrder, sorted[max(0, i-1):i+1])
		}
		free = slices.MaxFunc([]time.Time{free, h.Asked, h.To}, time.Time.Compare)
	}
	return nil
}
