package world

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Hold is a time during which somebody believed to hold something of which there is
// one, or so many: a lock, permits, leadership.
type Hold struct {
	Client  int
	Session int64
	Token   int64
	Permits int       // of a semaphore; 0: the whole
	Term    int64     // of a leadership
	Asked   time.Time // when it was asked for
	From    time.Time // when it was granted
	To      time.Time // when it was given back or known to be lost, whatever came first
}

func (h Hold) String() string {
	const clock = "04:05.000000"
	return fmt.Sprintf("client %d session %#x token %d term %d permits %d: %s to %s",
		h.Client, h.Session, h.Token, h.Term, h.Permits, h.From.Format(clock), h.To.Format(clock))
}

// Write is a guarded write that was applied.
type Write struct{ Token, Zxid int64 }

// What is wrong with a history, besides ErrBroken.
var (
	ErrToken = errors.New("the tokens do not grow with the grants")
	ErrStale = errors.New("a stale holder has written")
	ErrOrder = errors.New("not linearizable")
)

// ByTime are holds in the order in which they were granted.
func ByTime(holds []Hold) []Hold {
	return slices.SortedStableFunc(slices.Values(holds), func(a, b Hold) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Token, b.Token))
	})
}

// Lasting are those holds that were not lost by the time they were granted.
func Lasting(holds []Hold) []Hold {
	return slices.DeleteFunc(slices.Clone(holds), func(h Hold) bool { return !h.To.After(h.From) })
}

// CheckCapacity wants no more than total to be held at any time; 1 for what is held
// as a whole. Ends count before beginnings of the same instant.
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

// CheckTokens wants tokens to grow from grant to grant. handed allows them to stay
// the same where what is held was handed on within a session.
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

// CheckWrites wants guarded writes to have been applied in the order of their
// tokens: none by a holder after the next one's.
func CheckWrites(wrote []Write) error {
	sorted := slices.SortedFunc(slices.Values(wrote), func(a, b Write) int { return cmp.Compare(a.Zxid, b.Zxid) })
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; b.Token < a.Token {
			return fmt.Errorf("%w: token %d at %d after token %d at %d", ErrStale, b.Token, b.Zxid, a.Token, a.Zxid)
		}
	}
	return nil
}

// exclusive is porcupine's view of what one can hold at a time.
type exclusive struct {
	held  bool
	token int64
	by    int
}

// turn is a grant, or its end.
type turn struct {
	ends  bool
	token int64
	by    int // which hold
}

// CheckLinear wants the history to be that of one thing that one can hold at a time,
// with tokens as for CheckTokens: a grant takes effect between the call and its
// return, an end between the time it was asked for, or learned of, and whenever.
func CheckLinear(holds []Hold, handed bool) error {
	if len(holds) == 0 {
		return nil
	}
	model := porcupine.Model{
		Init: func() any { return exclusive{} },
		Step: func(state, input, _ any) (bool, any) {
			s, in := state.(exclusive), input.(turn)
			if in.ends {
				return s.held && s.by == in.by, exclusive{token: s.token}
			}
			return !s.held && (in.token > s.token || handed && in.token == s.token), exclusive{true, in.token, in.by}
		},
	}
	start := slices.MinFunc(holds, func(a, b Hold) int { return a.Asked.Compare(b.Asked) }).Asked
	end := slices.MaxFunc(holds, func(a, b Hold) int { return a.To.Compare(b.To) }).To.Add(time.Hour)
	// Twice the time, so that ends come before beginnings of the same instant.
	at := func(t time.Time) int64 { return 2 * int64(t.Sub(start)) }
	var ops []porcupine.Operation
	for i, h := range holds {
		ops = append(ops,
			porcupine.Operation{ClientId: 2 * i, Input: turn{token: h.Token, by: i}, Call: at(h.Asked), Return: at(h.From) + 1},
			porcupine.Operation{ClientId: 2*i + 1, Input: turn{ends: true, by: i}, Call: at(h.To), Return: at(end)})
	}
	if res := porcupine.CheckOperationsTimeout(model, ops, time.Minute); res != porcupine.Ok {
		return fmt.Errorf("%w (%v)", ErrOrder, res)
	}
	return nil
}
