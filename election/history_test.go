package election_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

var (
	errTerm     = errors.New("a term does not grow")
	errUnreal   = errors.New("a leader is not first in the queue")
	errObserver = errors.New("an observer saw what never was, or went back")
	errValue    = errors.New("a value is another leader's, or older than the one before")
	errFinal    = errors.New("an observer does not know the last state")
)

// checkTerms wants terms to grow from reign to reign.
func checkTerms(reigns []world.Hold) error {
	sorted := world.ByTime(world.Lasting(reigns))
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; b.Term <= a.Term {
			return fmt.Errorf("%w:\n%v\n%v", errTerm, a, b)
		}
	}
	return nil
}

// checkReal wants the leaders to be among those that were first in the queue by
// the server's own history, in that order.
func checkReal(reigns []world.Hold, truth []int64) error {
	at := 0
	for _, r := range world.ByTime(world.Lasting(reigns)) {
		for at < len(truth) && truth[at] != r.Token {
			at++
		}
		if at == len(truth) {
			return fmt.Errorf("%w: %v, first were %d", errUnreal, r, truth)
		}
	}
	return nil
}

// checkObserver requires that the states seen by an observer (tokens, 0 for no
// leader) are a part of the server's history, in order, and end with its last
// state.
func checkObserver(saw, truth []int64) error {
	at := 0
	for i, token := range saw {
		if i > 0 && saw[i-1] == token {
			return fmt.Errorf("%w: %d twice in a row", errObserver, token)
		}
		for at < len(truth) && truth[at] != token {
			at++
		}
		if at == len(truth) {
			return fmt.Errorf("%w: %d is not there, or too late: saw %d, it was %d", errObserver, token, saw, truth)
		}
	}
	if len(saw) == 0 || saw[len(saw)-1] != truth[len(truth)-1] {
		return fmt.Errorf("%w: saw %d, it was %d", errFinal, saw, truth)
	}
	return nil
}

// checkValues requires that an observer saw each value with the leader that proclaimed it, and
// the values of a leader in their order.
func checkValues(said []proclaimedValue) error {
	last := map[int64]int{}
	for _, v := range said {
		var token int64
		var n int
		if _, err := fmt.Sscanf(v.value, "%d %d", &token, &n); err != nil || token != v.token {
			return fmt.Errorf("%w: %q with the leader %d", errValue, v.value, v.token)
		}
		if n < last[token] {
			return fmt.Errorf("%w: %q after value %d", errValue, v.value, last[token])
		}
		last[token] = n
	}
	return nil
}

// Each checker must notice what it is for.

func at(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second))) }

func goodHistory() []world.Hold {
	return []world.Hold{
		{Client: 1, Session: 1, Token: 10, Term: 0, Asked: at(0), From: at(1), To: at(2)},
		{Client: 2, Session: 2, Token: 13, Term: 1, Asked: at(0), From: at(2), To: at(4)},
		{Client: 1, Session: 1, Token: 20, Term: 3, Asked: at(3), From: at(9), To: at(9)},
		{Client: 3, Session: 3, Token: 21, Term: 4, Asked: at(3), From: at(9), To: at(12)},
	}
}

// goodTruth is the server's history of the same.
func goodTruth() []int64 { return []int64{0, 10, 13, 15, 0, 20, 21, 0} }

func TestCheckersAcceptAGoodHistory(t *testing.T) {
	h := goodHistory()
	require.NoError(t, checkTerms(h))
	require.NoError(t, checkReal(h, goodTruth()))
	for _, saw := range [][]int64{goodTruth(), {0}, {13, 0}, {0, 10, 15, 21, 0}, {0, 20, 0}} {
		require.NoError(t, checkObserver(saw, goodTruth()), "%v", saw)
	}
}

func TestCheckerNoticesTermsThatDoNotGrow(t *testing.T) {
	h := goodHistory()
	h[1].Term = 0
	require.ErrorIs(t, checkTerms(h), errTerm)
}

func TestCheckerNoticesALeaderThatWasNeverFirst(t *testing.T) {
	h := goodHistory()
	h[1].Token = 14
	require.ErrorIs(t, checkReal(h, goodTruth()), errUnreal)
	require.ErrorIs(t, checkReal(goodHistory(), []int64{0, 13, 10, 20, 21}), errUnreal, "in another order")
}

func TestCheckerNoticesBadObservers(t *testing.T) {
	for name, saw := range map[string][]int64{
		"goes back": {0, 13, 10, 0}, "never was": {0, 11, 0}, "twice": {0, 10, 10, 0}, "goes back to no leader": {10, 0, 13, 0},
	} {
		require.ErrorIs(t, checkObserver(saw, goodTruth()), errObserver, name)
	}
	require.ErrorIs(t, checkObserver([]int64{0, 21}, goodTruth()), errFinal, "indefinitely")
	require.ErrorIs(t, checkObserver(nil, goodTruth()), errFinal)
}

func TestCheckerNoticesBadValues(t *testing.T) {
	require.NoError(t, checkValues([]proclaimedValue{{7, "7 0"}, {7, "7 2"}, {9, "9 1"}, {9, "9 1"}}))
	for name, said := range map[string][]proclaimedValue{
		"goes back": {{7, "7 1"}, {7, "7 0"}}, "of another leader": {{9, "7 1"}}, "garbage": {{9, "x"}},
	} {
		require.ErrorIs(t, checkValues(said), errValue, name)
	}
}
