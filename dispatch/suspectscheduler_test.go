package dispatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// given adds tasks to a scheduler, lets the scheduler assign them to its
// workers, and settles the moves.
func given(t *testing.T, sc *scheduler, now time.Time, tasks ...seen) (out []move) {
	t.Helper()
	for _, x := range tasks {
		sc.putTask(x)
	}
	for zxid := int64(1000); ; zxid++ {
		n := 0
		moves := sc.planMoves(now, 100, func() string { n++; return newSerial(7, int64(n)) })
		if len(moves) == 0 {
			return out
		}
		for _, m := range moves {
			(&mastership{}).showMove(sc, m, session.Stat{Mzxid: zxid})
		}
		out = append(out, moves...)
	}
}

func ready(n, deaths int) seen {
	return seen{record: record{ID: fmt.Sprintf("t%02d", n), State: waiting, Attempt: 1, MaxAttempts: 9, Deaths: deaths, Backoff: 1000}, czxid: int64(n + 1), mzxid: int64(n + 1)}
}

// Of a dead worker's tasks only the first ones count, as many as the worker has
// slots: in the order of assignment, even within a transaction.
func TestOnlyWhatMayHaveBegunCounts(t *testing.T) {
	sc, now := newScheduler(), time.Now()
	sc.addWorker("w", profile{Concurrency: 12, Prefetch: 40})
	var tasks []seen
	for i := range 40 {
		tasks = append(tasks, ready(i, 0))
	}
	require.Len(t, given(t, sc, now, tasks...), 40)
	sc.removeWorker("w")
	moves := sc.planMoves(now, 100, nil)
	require.Len(t, moves, 40)
	for i, m := range moves {
		counted := i < 12
		require.Equal(t, map[bool]int{true: 2, false: 1}[counted], m.next.Attempt, m.task.ID)
		require.Equal(t, map[bool]int{true: 1, false: 0}[counted], m.next.Deaths, m.task.ID)
		require.Equal(t, counted, m.next.NotBefore.Equal(truncateTime(now.Add(m.task.backoff()))) && m.next.Deaths > 0, m.task.ID)
	}
}

// A suspect is assigned to a worker without other tasks; one worker is kept
// free for the suspect, and other tasks get the remaining workers.
func TestSuspectIsAlone(t *testing.T) {
	sc, now := newScheduler(), time.Now()
	sc.addWorker("v", profile{Concurrency: 2})
	sc.addWorker("w", profile{Concurrency: 2})
	require.Len(t, given(t, sc, now, ready(0, 0), ready(1, 0)), 2, "one each")
	moves := given(t, sc, now, ready(2, suspectAfter), ready(3, suspectAfter), ready(4, 0), ready(5, 0))
	require.Len(t, moves, 1, "one worker is kept free")
	kept := sc.reserved.id
	require.NotEqual(t, kept, moves[0].next.Worker)
	for id, e := range sc.held[kept] {
		sc.dropTask(id, e.czxid)
	}
	moves = given(t, sc, now)
	require.Len(t, moves, 1)
	require.Equal(t, "t02", moves[0].task.ID)
	require.Equal(t, kept, moves[0].next.Worker)
	sc.dropTask("t02", 1<<40)
	moves = given(t, sc, now)
	require.Len(t, moves, 1, "the next suspect, and no other task")
	require.Equal(t, "t03", moves[0].task.ID)
	sc.dropTask("t03", 1<<40)
	require.Equal(t, "t05", given(t, sc, now)[0].task.ID)
	require.Nil(t, sc.reserved)
}
