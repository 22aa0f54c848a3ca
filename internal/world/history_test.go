package world

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestHistoryKeepsTheFirstErrorWithoutExcuse(t *testing.T) {
	var c History
	c.Fail(nil)
	require.NoError(t, c.Failed())
	c.Fail(io.EOF)
	c.Fail(errors.New("another"))
	require.Equal(t, io.EOF, c.Failed())
}

// For the checks, the holds of a session expired early end at its expiry, and
// no sooner.
func TestHistoryExcusesClientsExpiredOutOfTurn(t *testing.T) {
	In(t, nil, func(w *World) {
		var c History
		began := time.Now()
		Pause(time.Second)
		c.Expire(7)
		expired := time.Now()
		Pause(time.Second)
		c.Expire(7) // the first counts
		c.Hold(Hold{Session: 7, Token: 1, From: began, To: time.Now()})
		c.Hold(Hold{Session: 7, Token: 2, From: expired, To: time.Now()})
		c.Hold(Hold{Session: 7, Token: 3, From: began, To: expired.Add(-1)})
		c.Hold(Hold{Session: 8, Token: 4, From: expired, To: time.Now()})
		require.Equal(w, []Hold{
			{Session: 7, Token: 1, From: began, To: expired},
			{Session: 7, Token: 3, From: began, To: expired.Add(-1)},
			{Session: 8, Token: 4, From: expired, To: time.Now()},
		}, c.Holds())
		until, ever := c.Until(7, began, time.Now())
		require.True(w, ever)
		require.Equal(w, expired, until)
		_, ever = c.Until(7, expired, time.Now())
		require.False(w, ever)
	})
}

func TestHistoryNotesTheWritesThatWereApplied(t *testing.T) {
	In(t, nil, func(w *World) {
		s := w.Session(w.Client())
		require.NoError(w, w.Server.Create(Guarded, nil))
		var c History
		c.Write(w.Ctx, s, session.CheckOp(Guarded, -1), 5)
		c.Write(w.Ctx, s, session.CheckOp("/gone", -1), 6)
		n, err := w.Server.Get(Guarded)
		require.NoError(w, err)
		require.Equal(w, []Write{{5, n.Mzxid}}, c.Wrote())
		require.Equal(w, "5", string(n.Data))
	})
}

// All workers work until the end, which comes after all faults are healed.
func TestFaultScheduleCalmsDown(t *testing.T) {
	In(t, nil, func(w *World) {
		u := w.FaultSchedule(4, 1, session.TrustQuorum)
		require.GreaterOrEqual(w, len(u.Clients), 2)
		worked := make([]int, len(u.Clients))
		fine := make([]bool, len(u.Clients))
		u.Run(1, func(ctx context.Context, i int, _ *rand.Rand) {
			for ctx.Err() == nil {
				worked[i]++
				if s, err := u.Clients[i].Session(ctx); err == nil {
					_, _, err = s.Get(ctx, Guarded)
					fine[i] = err == nil || ctx.Err() != nil && fine[i]
				}
				SleepContext(ctx, 100*time.Millisecond)
			}
		}, func(int64) {})
		for i := range worked {
			require.Greater(w, worked[i], 5)
			require.True(w, fine[i])
		}
	})
}
