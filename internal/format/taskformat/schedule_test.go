package taskformat_test

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"pgregory.net/rapid"
)

func schedule() taskformat.Schedule {
	return taskformat.Schedule{
		Format: 1, Name: "reports/night", Every: 86_400_000, Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Overlap: true,
		Since: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Priority: -1, Labels: []string{"big"}, MaxAttempts: 3, DeadlineAfter: 1, Delay: 2, Backoff: 3,
		Retention: 4, DeadRetention: 5,
	}
}

func lastSlot() taskformat.LastSlot {
	return taskformat.LastSlot{
		Format: 1, Slot: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Task: "x@2026-01-02T03:04:05Z", Run: "0123456789abcdef",
		Skipped: time.Date(2026, 1, 3, 3, 4, 5, 0, time.UTC),
	}
}

// The records of version 1, byte by byte.
func TestSchedulesAreReadAsTheyWereWritten(t *testing.T) {
	data := taskformat.EncodeSchedule(schedule(), []byte("pay\nload\n"))
	require.Equal(t, `{"format":1,"name":"reports/night","everyMs":86400000,"start":"2026-01-02T03:04:05Z","overlap":true,`+
		`"since":"2026-01-02T00:00:00Z","priority":-1,"labels":["big"],"maxAttempts":3,"deadlineAfterMs":1,"delayMs":2,"backoffMs":3,`+
		`"retentionMs":4,"deadRetentionMs":5}`+"\npay\nload\n", string(data))
	s, payload, err := taskformat.DecodeSchedule(data)
	require.NoError(t, err)
	require.Equal(t, schedule(), s)
	require.Equal(t, "pay\nload\n", string(payload))
	short := taskformat.Schedule{Format: 1, Name: "x", Every: 1000, MaxAttempts: 1}
	data = taskformat.EncodeSchedule(short, nil)
	require.Equal(t, `{"format":1,"name":"x","everyMs":1000,"maxAttempts":1,"backoffMs":0,"retentionMs":0}`+"\n", string(data))
	s, payload, err = taskformat.DecodeSchedule(data)
	require.NoError(t, err)
	require.Equal(t, short, s)
	require.Empty(t, payload)
	data = taskformat.Encode(lastSlot())
	require.Equal(t, `{"format":1,"slot":"2026-01-02T03:04:05Z","task":"x@2026-01-02T03:04:05Z","run":"0123456789abcdef","skipped":"2026-01-03T03:04:05Z"}`, string(data))
	last, err := taskformat.Decode[taskformat.LastSlot](data)
	require.NoError(t, err)
	require.Equal(t, lastSlot(), last)
}

func TestInvalidSchedulesAreRefused(t *testing.T) {
	for name, change := range map[string]func(s *taskformat.Schedule){
		"no name":             func(s *taskformat.Schedule) { s.Name = "" },
		"less than a second":  func(s *taskformat.Schedule) { s.Every = 999 },
		"longer than it fits": func(s *taskformat.Schedule) { s.Every = math.MaxInt64/1_000_000 + 1 },
		"the year 0":          func(s *taskformat.Schedule) { s.Start = time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC) },
		"no attempts":         func(s *taskformat.Schedule) { s.MaxAttempts = 0 },
		"a deadline before":   func(s *taskformat.Schedule) { s.DeadlineAfter = -1 },
		"a delay before":      func(s *taskformat.Schedule) { s.Delay = -1 },
		"a backoff before":    func(s *taskformat.Schedule) { s.Backoff = -1 },
		"a retention before":  func(s *taskformat.Schedule) { s.Retention = -1 },
		"a dead one before":   func(s *taskformat.Schedule) { s.DeadRetention = -1 },
		"the Since":           func(s *taskformat.Schedule) { s.Since = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		s := schedule()
		change(&s)
		_, _, err := taskformat.DecodeSchedule(taskformat.EncodeSchedule(s, nil))
		require.Error(t, err, name)
	}
	for name, change := range map[string]func(l *taskformat.LastSlot){
		"no slot":         func(l *taskformat.LastSlot) { l.Slot = time.Time{} },
		"no task":         func(l *taskformat.LastSlot) { l.Task = "" },
		"no run":          func(l *taskformat.LastSlot) { l.Run = "x" },
		"no name as run":  func(l *taskformat.LastSlot) { l.Run = "0123456789abcde/" },
		"skipped early":   func(l *taskformat.LastSlot) { l.Skipped = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC) },
		"slot in no year": func(l *taskformat.LastSlot) { l.Slot = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		l := lastSlot()
		change(&l)
		require.Error(t, second(taskformat.Decode[taskformat.LastSlot](taskformat.Encode(l))), name)
	}
	for _, bad := range []string{"", "null", "{}", "x\n", `{"format":2,"every":"1h"}`} {
		_, _, err := taskformat.DecodeSchedule([]byte(bad))
		require.Error(t, err)
		lastErr := second(taskformat.Decode[taskformat.LastSlot]([]byte(bad)))
		require.Error(t, lastErr)
		var newer *versioned.FormatError
		for _, err := range []error{err, lastErr} {
			require.Equal(t, bad == `{"format":2,"every":"1h"}`, errors.As(err, &newer), bad)
		}
	}
}

func TestScheduleThatWasSetAgainIsTheSame(t *testing.T) {
	a, b := schedule(), schedule()
	b.Since, b.Start = time.Time{}, a.Start.In(time.FixedZone("x", 3600))
	require.True(t, a.Equal(b))
	require.True(t, a.SameSlots(b))
	b.Priority++
	require.False(t, a.Equal(b))
	require.True(t, a.SameSlots(b))
	b.Every++
	require.False(t, a.SameSlots(b))
	b = schedule()
	b.Start = b.Start.Add(time.Second)
	require.False(t, a.SameSlots(b))
	now := time.Now()
	require.Equal(t, b.Since, b.Begin(now))
	b.Since = time.Time{}
	require.Equal(t, now, b.Begin(now))
}

func TestTaskOfASlotIsNamedByItsTime(t *testing.T) {
	slot := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600))
	require.Equal(t, "a@b@2026-01-02T02:04:05Z", taskformat.SlotTask("a@b", slot))
	require.Equal(t, "a@2026-01-02T02:04:05.25Z", taskformat.SlotTask("a", slot.Add(250*time.Millisecond)))
}

// The slots are those that a loop counts.
func TestSlotsAreThoseThatALoopCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := schedule()
		s.Every = taskformat.Millis(rapid.Int64Range(1000, 5000).Draw(t, "every"))
		s.Start = time.UnixMilli(rapid.Int64Range(-200_000, 200_000).Draw(t, "start"))
		at := time.Unix(0, rapid.Int64Range(-300_000_000_000, 300_000_000_000).Draw(t, "at"))
		last, next := time.Time{}, s.Start
		for !next.After(at) {
			last, next = next, next.Add(s.Every.Duration())
		}
		got, ok := s.SlotAt(at)
		require.Equal(t, !last.IsZero(), ok)
		require.True(t, got.Equal(last), "%v, %v", got, last)
		got, ok = s.SlotAfter(at)
		require.True(t, ok)
		require.True(t, got.Equal(next), "%v, %v", got, next)
	})
}

// Without a start, slots are the multiples of time.Time.Truncate.
func TestSlotsWithoutAStartAreThoseOfTruncate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.Int64Range(1000, math.MaxInt64/1_000_000).Draw(t, "every")) * time.Millisecond
		s := taskformat.Schedule{Every: taskformat.ToMillis(every)}
		at := time.UnixMilli(rapid.Int64Range(0, 4_000_000_000_000).Draw(t, "at"))
		got, ok := s.SlotAt(at)
		require.True(t, ok)
		require.True(t, got.Equal(at.Truncate(every)), "%v, %v", got, at.Truncate(every))
	})
}

// At the bounds nothing overflows: the slots before and after any time are where they should
// be, or do not exist.
func TestSlotsAtTheBounds(t *testing.T) {
	first, end := time.Time{}, time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC)
	longest := taskformat.ToMillis(math.MaxInt64)
	times := []time.Time{
		first, end, first.Add(-time.Hour), end.Add(time.Hour), time.UnixMilli(math.MinInt64), time.UnixMilli(math.MaxInt64), time.Unix(0, 0), time.Unix(-1, 1),
	}
	for _, every := range []taskformat.Millis{1000, 1001, 86_400_000, longest} {
		for _, start := range []time.Time{first, end, time.Unix(0, 0)} {
			s := taskformat.Schedule{Every: every, Start: start}
			for _, at := range times {
				slot, ok := s.SlotAt(at)
				require.Equal(t, !at.Before(start) && at.UnixMilli() >= start.UnixMilli(), ok, "%v %v %v", every, start, at)
				next, more := s.SlotAfter(at)
				if ok {
					require.False(t, slot.After(at))
					require.False(t, slot.Before(start))
					require.Equal(t, slot.UnixMilli()+int64(every), next.UnixMilli())
					require.Equal(t, !next.After(end), more)
				} else {
					require.True(t, more)
					require.True(t, next.Equal(start))
				}
				require.True(t, !more || next.After(at) || at.After(end), "%v %v %v", every, start, at)
			}
		}
	}
	s := taskformat.Schedule{Every: longest, Start: time.Date(9998, 1, 1, 0, 0, 0, 0, time.UTC)}
	_, more := s.SlotAfter(s.Start)
	require.False(t, more, "the next one is beyond the year 9999")
}

func TestSlotsThatAreOver(t *testing.T) {
	l := lastSlot()
	require.Equal(t, l.Skipped, l.Over())
	l.Skipped = time.Time{}
	require.Equal(t, l.Slot, l.Over())
}

// Reading anything as a schedule does not panic, and a schedule that was read is valid.
func FuzzDecodeSchedule(f *testing.F) {
	f.Add(taskformat.EncodeSchedule(schedule(), []byte("x")))
	f.Add(taskformat.Encode(lastSlot()))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, payload, err := taskformat.DecodeSchedule(data); err == nil {
			again, same, err := taskformat.DecodeSchedule(taskformat.EncodeSchedule(s, payload))
			require.NoError(t, err)
			require.True(t, s.Equal(again))
			require.True(t, bytes.Equal(payload, same))
			now := time.Unix(1e9, 0)
			slot, ok := s.SlotAt(now)
			next, more := s.SlotAfter(now)
			require.False(t, ok && slot.After(now) || more && !next.After(now), "%v, %v", slot, next)
		}
		if l, err := taskformat.Decode[taskformat.LastSlot](data); err == nil {
			again, err := taskformat.Decode[taskformat.LastSlot](taskformat.Encode(l))
			require.NoError(t, err)
			require.True(t, l.Over().Equal(again.Over()))
		}
	})
}
