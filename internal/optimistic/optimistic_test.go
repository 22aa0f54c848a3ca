package optimistic_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

var errMisfit = errors.New("misfit")

// raise adds one to the number at /n, and notes in the same transaction, below it,
// that call has done so: as Change wants it.
func raise(ctx context.Context, client *session.Client, call string) error {
	note := "/n/" + call
	return optimistic.Change(ctx, client, errMisfit, func(s *session.Session) error {
		r := &optimistic.Reading{Ctx: ctx, Session: s}
		r.Sync("/n")
		seen := r.GetAll(note, "/n")
		if r.Err != nil || seen[0].Exists {
			return r.Err
		}
		now := seen[1]
		n, _ := strconv.Atoi(string(now.Data))
		_, err := s.Txn(ctx, session.SetOp("/n", []byte(strconv.Itoa(n+1)), now.Stat.Version),
			session.CreateOp(note, nil, session.Persistent, nil))
		return err
	})
}

func TestChangesUnderEveryFaultAndEveryTwoAreMadeOnce(t *testing.T) {
	var said error
	tr := world.Trial{
		Name: "change",
		Setup: func(e *matrix.Env, _ *world.Party) error {
			return e.Server.Create("/n", []byte("0"))
		},
		Op: func(ctx context.Context, p *world.Party) error {
			said = raise(ctx, p.Tested, "tested")
			return said
		},
		Next: func(ctx context.Context, p *world.Party) error {
			s, err := p.Other.Session(ctx)
			if err != nil {
				return err
			}
			data, _, err := s.Get(ctx, "/n")
			_, there, _ := s.Exists(ctx, "/n/tested")
			if want := map[bool]string{true: "1", false: "0"}[there]; err == nil && string(data) != want {
				err = fmt.Errorf("it is %s, and should be %s", data, want)
			}
			times, _ := strconv.Atoi(string(data))
			return errors.Join(err, world.CheckOutcome(said, times), raise(ctx, p.Tested, "tested"), raise(ctx, p.Other, "other"))
		},
	}
	least := 10
	if testing.Short() { // with fewer faults
		least = 6
	}
	require.Greater(t, tr.Run(t), least)
	tr.RunPairs(t, 17)
}

func TestChangesOfManyAtOnceAllCount(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/n", []byte("0")))
		var all sync.WaitGroup
		for i := range 8 {
			c := w.Client()
			// Waited for below; ends with its changes.
			all.Go(func() {
				for k := range 5 {
					if err := raise(w.Ctx, c, fmt.Sprintf("%d-%d", i, k)); err != nil {
						w.Error(err)
					}
				}
			})
		}
		all.Wait()
		n, err := w.Server.Get("/n")
		require.NoError(w, err)
		require.Equal(w, "40", string(n.Data))
	})
}

// A change whose reads never fit together ends with an error, and news in between
// restart the count.
func TestChangeThatNeverFitsTogetherIsAnError(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		calls, news := 0, 0
		err := optimistic.Change(w.Ctx, w.Client(), errMisfit, func(*session.Session) error {
			if calls++; calls == 1_900 {
				news++
				return fmt.Errorf("%w: here", optimistic.ErrNews)
			}
			return optimistic.ErrChanged
		})
		require.ErrorIs(w, err, errMisfit)
		require.ErrorIs(w, err, optimistic.ErrChanged, "and what it is")
		require.Equal(w, 1_900+2_001, calls)
		require.Equal(w, 1, news)
	})
}

func TestChangeEndsWithItsContextAndWithWhatIsNoConflict(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		require.Equal(w, io.EOF, optimistic.Change(w.Ctx, c, errMisfit, func(*session.Session) error { return io.EOF }))
		ctx, cancel := context.WithCancel(w.Ctx)
		err := optimistic.Change(ctx, c, errMisfit, func(*session.Session) error {
			cancel()
			return optimistic.ErrNews
		})
		require.ErrorIs(w, err, context.Canceled)
		require.NotErrorIs(w, err, optimistic.ErrNews, "called once")
	})
}

func TestConflictsAreWhatATransactionsConditionsSay(t *testing.T) {
	for _, err := range []error{session.ErrBadVersion, session.ErrNoNode, session.ErrNodeExists} {
		require.True(t, optimistic.Conflict(fmt.Errorf("a change: %w", &session.TxnError{Err: err})), err)
		require.False(t, optimistic.Conflict(err), "a plain request's: %v", err)
	}
	for _, err := range []error{nil, io.EOF, optimistic.ErrNews, &session.TxnError{Err: session.ErrNoAuth}, &session.TxnError{Err: session.ErrNotEmpty}} {
		require.False(t, optimistic.Conflict(err), err)
	}
	require.True(t, optimistic.Conflict(optimistic.ErrChanged))
}

func TestAfterTheFirstErrorAReadingWaitsForNothing(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		s := w.Session(w.Client())
		require.NoError(w, w.Server.Create("/a", []byte("x")))
		r := &optimistic.Reading{Ctx: w.Ctx}
		there, none := s.StartGet("/a", false), s.StartGet("/none", false)
		seen, ok := r.IfThere(there)
		require.True(w, ok)
		require.Equal(w, "x", string(seen.Data))
		_, ok = r.IfThere(none)
		require.False(w, ok)
		require.NoError(w, r.Err, "it need not exist")
		r.Seen(none)
		require.ErrorIs(w, r.Err, session.ErrNoNode)

		began := time.Now()
		w.Server.BlackHole(zktest.Link{}, zktest.ToClient)
		require.Empty(w, r.Collect(s.StartGet("/a", false)))
		require.Empty(w, r.Seen(s.StartGet("/a", false)))
		_, ok = r.IfThere(s.StartGet("/a", false))
		require.False(w, ok)
		require.ErrorIs(w, r.Err, session.ErrNoNode, "the first counts")
		require.Zero(w, time.Since(began))
		w.Server.Heal()
	})
}

// A watch that is not wanted any more goes, whether its read was answered or not.
func TestStopWatchStopsWhatIsStillToCome(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		s := w.Session(w.Client())
		require.NoError(w, w.Server.Create("/a", nil))
		early, late, failed := s.StartGet("/a", true), s.StartExists("/b", true), s.StartGet("/none", true)
		optimistic.StopWatch(late)
		optimistic.StopWatch(failed)
		w.Settle()
		require.Equal(w, 1, w.Server.Stats().Watches)
		optimistic.StopWatch(early)
		w.Settle()
		require.Zero(w, w.Server.Stats().Watches, "%v", w.Server.Watches())
	})
}
