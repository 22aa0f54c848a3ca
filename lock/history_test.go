package lock_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// hold is a time during which somebody believed to hold something.
type hold struct {
	client  int
	session int64
	permits int
	token   int64
	asked   time.Time // when it was asked for
	from    time.Time // when it was granted: Lock returned
	to      time.Time // when it was given back or known to be lost, whatever came first
	// write is the zxid of a guarded write that was applied; 0 if none was.
	write int64
}

func (h hold) String() string {
	return fmt.Sprintf("client %d session %#x token %d: %s to %s, %d permits, write %d", h.client, h.session, h.token,
		h.from.Format("04:05.000000"), h.to.Format("04:05.000000"), h.permits, h.write)
}

var (
	errCapacity = errors.New("more is held than there is")
	errToken    = errors.New("a token does not grow")
	errStale    = errors.New("a stale holder has written")
	errOrder    = errors.New("not linearizable")
)

// checkCapacity wants no more than total held at any time. Ends count before
// beginnings of the same instant.
func checkCapacity(holds []hold, total int) error {
	type edge struct {
		at    time.Time
		delta int
		h     hold
	}
	var edges []edge
	for _, h := range holds {
		if !h.to.After(h.from) {
			continue // lost by the time it was known
		}
		edges = append(edges, edge{h.from, h.permits, h}, edge{h.to, -h.permits, h})
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.delta, b.delta)) })
	taken := 0
	for i, e := range edges {
		if taken += e.delta; taken > total {
			return fmt.Errorf("%w: %d of %d at %v\n%v", errCapacity, taken, total, e.h, edges[max(0, i-5):i+1])
		}
	}
	return nil
}

// checkTokens wants the tokens of a mutex to grow from grant to grant, and to
// stay the same only where a lock was handed on within a session.
func checkTokens(holds []hold) error {
	sorted := slices.Clone(holds)
	slices.SortStableFunc(sorted, func(a, b hold) int { return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.token, b.token)) })
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		if b.token < a.token || b.token == a.token && a.session != b.session {
			return fmt.Errorf("%w:\n%v\n%v", errToken, a, b)
		}
	}
	return nil
}

// checkWrites wants guarded writes to have been applied in the order of their
// tokens: none by a holder after the next one's.
func checkWrites(holds []hold) error {
	var wrote []hold
	for _, h := range holds {
		if h.write != 0 {
			wrote = append(wrote, h)
		}
	}
	slices.SortFunc(wrote, func(a, b hold) int { return cmp.Compare(a.write, b.write) })
	for i := 1; i < len(wrote); i++ {
		if wrote[i].token < wrote[i-1].token {
			return fmt.Errorf("%w:\n%v\n%v", errStale, wrote[i-1], wrote[i])
		}
	}
	return nil
}

// checkLinear wants the history of a mutex to be that of one lock: a Lock takes
// effect between its call and its return, an end between the time it was
// asked for, or learned of, and whenever.
func checkLinear(holds []hold) error {
	type lockState struct {
		held  bool
		token int64
		by    int
	}
	type step struct {
		release bool
		token   int64
		by      int // which hold
	}
	model := porcupine.Model{
		Init: func() any { return lockState{} },
		Step: func(state, input, _ any) (bool, any) {
			s, in := state.(lockState), input.(step)
			if in.release {
				return s.held && s.by == in.by, lockState{token: s.token}
			}
			return !s.held && in.token >= s.token, lockState{held: true, token: in.token, by: in.by}
		},
	}
	end := time.Duration(0)
	if len(holds) == 0 {
		return nil
	}
	start := slices.MinFunc(holds, func(a, b hold) int { return a.asked.Compare(b.asked) }).asked
	for _, h := range holds {
		end = max(end, h.to.Sub(start))
	}
	end += time.Hour
	var ops []porcupine.Operation
	for i, h := range holds {
		// Twice the time, so that ends come before beginnings of the same
		// instant.
		ops = append(ops,
			porcupine.Operation{ClientId: 2 * i, Input: step{token: h.token, by: i}, Call: 2 * int64(h.asked.Sub(start)), Return: 2*int64(h.from.Sub(start)) + 1},
			porcupine.Operation{ClientId: 2*i + 1, Input: step{release: true, by: i}, Call: 2 * int64(h.to.Sub(start)), Return: 2 * int64(end)})
	}
	if res := porcupine.CheckOperationsTimeout(model, ops, time.Minute); res != porcupine.Ok {
		return fmt.Errorf("%w (%v)", errOrder, res)
	}
	return nil
}

// Each checker must notice what it is for.

func at(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second))) }

func goodHistory() []hold {
	return []hold{
		{client: 1, session: 1, permits: 1, token: 10, asked: at(0), from: at(1), to: at(2), write: 11},
		{client: 1, session: 1, permits: 1, token: 10, asked: at(0), from: at(2), to: at(3), write: 12}, // handed on
		{client: 2, session: 2, permits: 1, token: 13, asked: at(0), from: at(3), to: at(4), write: 14},
		{client: 1, session: 1, permits: 1, token: 20, asked: at(3), from: at(9), to: at(9)},
		{client: 3, session: 3, permits: 1, token: 21, asked: at(3), from: at(9), to: at(12), write: 22},
	}
}

func TestCheckersAcceptAGoodHistory(t *testing.T) {
	h := goodHistory()
	require.NoError(t, checkCapacity(h, 1))
	require.NoError(t, checkTokens(h))
	require.NoError(t, checkWrites(h))
	require.NoError(t, checkLinear(h))
	require.NoError(t, checkLinear(nil))
}

func TestCheckersNoticeTwoHolders(t *testing.T) {
	h := goodHistory()
	h[1].to = at(3.5)
	require.ErrorIs(t, checkCapacity(h, 1), errCapacity)
	require.NoError(t, checkCapacity(h, 2))
	require.ErrorIs(t, checkLinear(h), errOrder)
	h = goodHistory()
	h[4].permits = 3
	h[2].to = at(11)
	require.ErrorIs(t, checkCapacity(h, 3), errCapacity)
}

func TestCheckersNoticeTokensThatDoNotGrow(t *testing.T) {
	h := goodHistory()
	h[2].token = 9
	require.ErrorIs(t, checkTokens(h), errToken)
	require.ErrorIs(t, checkLinear(h), errOrder)
	h = goodHistory()
	h[1].session = 7 // the same token, and not handed on
	require.ErrorIs(t, checkTokens(h), errToken)
}

func TestCheckerNoticesWritesOfStaleHolders(t *testing.T) {
	h := goodHistory()
	h[1].write = 15 // after that of the next holder
	require.ErrorIs(t, checkWrites(h), errStale)
}
