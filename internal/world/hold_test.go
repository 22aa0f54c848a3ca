package world

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each check must detect violations.

func at(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second))) }

func goodHistory() []Hold {
	return []Hold{
		{Client: 1, Session: 1, Token: 10, Asked: at(0), From: at(1), To: at(2)},
		{Client: 1, Session: 1, Token: 10, Asked: at(0), From: at(2), To: at(3)}, // handed on
		{Client: 2, Session: 2, Token: 13, Asked: at(0), From: at(3), To: at(4)},
		{Client: 1, Session: 1, Token: 20, Asked: at(3), From: at(9), To: at(9)},
		{Client: 3, Session: 3, Token: 21, Asked: at(3), From: at(9), To: at(12)},
	}
}

func TestJudgesAcceptAGoodHistory(t *testing.T) {
	h := goodHistory()
	require.NoError(t, CheckCapacity(h, 1))
	require.NoError(t, CheckTokens(h, true))
	require.NoError(t, CheckLinear(h, true))
	require.NoError(t, CheckTokens(h[1:], false))
	require.NoError(t, CheckLinear(h[1:], false))
	require.NoError(t, CheckLinear(nil, false))
	require.NoError(t, CheckWrites([]Write{{10, 11}, {21, 30}, {10, 12}, {13, 14}}))
	require.Equal(t, []Hold{h[0], h[1], h[2], h[4]}, Lasting(h))
	require.Equal(t, h, ByTime([]Hold{h[4], h[3], h[2], h[1], h[0]}))
}

func TestJudgesNoticeTwoHolders(t *testing.T) {
	h := goodHistory()
	h[1].To = at(3.5)
	require.ErrorIs(t, CheckCapacity(h, 1), ErrBroken)
	require.ErrorIs(t, CheckLinear(h, true), ErrOrder)
	for i := range h {
		h[i].Permits = 1
	}
	require.NoError(t, CheckCapacity(h, 2))
	h[4].Permits, h[2].To = 3, at(11)
	require.ErrorIs(t, CheckCapacity(h, 3), ErrBroken)
}

func TestJudgesNoticeTokensThatDoNotGrow(t *testing.T) {
	h := goodHistory()
	h[2].Token = 9
	require.ErrorIs(t, CheckTokens(h, true), ErrToken)
	require.ErrorIs(t, CheckLinear(h, true), ErrOrder)
	h = goodHistory()
	h[1].Session = 7 // the same token, and not handed on
	require.ErrorIs(t, CheckTokens(h, true), ErrToken)
	h = goodHistory() // no hold is handed on here
	require.ErrorIs(t, CheckTokens(h, false), ErrToken)
	require.ErrorIs(t, CheckLinear(h, false), ErrOrder)
}

func TestJudgeNoticesWritesOfStaleHolders(t *testing.T) {
	require.ErrorIs(t, CheckWrites([]Write{{10, 11}, {13, 14}, {10, 15}}), ErrStale)
}
