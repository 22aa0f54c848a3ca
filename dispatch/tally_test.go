package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"pgregory.net/rapid"
)

// The summary of the scheduler is that of a pass over all tasks and workers.
func TestTallyCountsWhatIsOnTheScheduler(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := newScheduler()
		id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		labels := rapid.SampledFrom([][]string{nil, {"x"}, {"y"}, {"x", "y"}})
		zxid := int64(0)
		t.Repeat(map[string]func(t *rapid.T){
			"put": func(t *rapid.T) {
				zxid++
				state := rapid.SampledFrom(taskformat.States()).Draw(t, "state")
				sc.putTask(seen{mzxid: zxid, czxid: 1, record: record{
					ID: id.Draw(t, "id"), State: state, Labels: labels.Draw(t, "labels"),
					Submitted: time.Unix(rapid.Int64Range(1, 9).Draw(t, "submitted"), 0),
				}})
			},
			"drop": func(t *rapid.T) { sc.dropTask(id.Draw(t, "id"), 1) },
			"come": func(t *rapid.T) {
				sc.addWorker(id.Draw(t, "id"), profile{Concurrency: 1, Labels: labels.Draw(t, "labels")})
			},
			"go":      func(t *rapid.T) { sc.removeWorker(id.Draw(t, "id")) },
			"unread":  func(t *rapid.T) { sc.addUnreadable(id.Draw(t, "id")) },
			"garbage": func(t *rapid.T) { sc.tally.noteRecord(id.Draw(t, "id"), rapid.Bool().Draw(t, "readable")) },
			"plan":    func(*rapid.T) { sc.planMoves(time.Unix(100, 0), 2, func() string { return "s" }) },
			"":        func(t *rapid.T) { require.Equal(t, countAll(sc), sc.countTasks()) },
		})
	})
}

// countAll is countTasks in one pass.
func countAll(sc *scheduler) counts {
	out := counts{Format: format, Tasks: map[taskformat.State]int{}, Unreadable: len(sc.tally.unreadable)}
	for _, e := range sc.tasks {
		out.Tasks[e.State]++
		if e.State != waiting {
			continue
		}
		if out.Oldest.IsZero() || e.Submitted.Before(out.Oldest) {
			out.Oldest = e.Submitted
		}
		fits := false
		for _, slot := range sc.workers {
			fits = fits || !slot.Draining && hasAll(slot.Labels, e.Labels)
		}
		if !fits {
			out.Unmatched++
		}
	}
	return out
}

// Writes follow each other by a second on average, and up to four at once after a rest.
func TestPaceIsOneWriteASecond(t *testing.T) {
	now := time.Unix(1000, 0)
	p := pace{next: now}
	writes := 0
	for range 1000 { // 10 s
		for !now.Before(p.earliest(true)) {
			p.noteWrite(now)
			writes++
		}
		now = now.Add(10 * time.Millisecond)
	}
	require.Equal(t, 10+countsBurst-1, writes)
	now = now.Add(time.Hour)
	for range countsBurst {
		require.False(t, now.Before(p.earliest(true)))
		p.noteWrite(now)
	}
	require.True(t, now.Before(p.earliest(true)))
	require.Equal(t, now.Add(countsBurst*countsPeriod), p.earliest(false))
}
