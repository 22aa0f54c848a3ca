package dispatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

func TestTransitions(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("x", 3600))
	r, err := Task{ID: "a/b", Payload: []byte("x"), MaxAttempts: 2, Labels: []string{"b", "a", "b"}, Delay: time.Second, Deadline: now.Add(time.Hour)}.newRecord(now)
	require.NoError(t, err)
	require.True(t, r.isValid())
	require.Equal(t, []string{"a", "b"}, r.Labels)
	require.Equal(t, time.Date(2026, 1, 2, 2, 4, 6, 678_000_000, time.UTC), r.NotBefore)
	g := r.givenTo("w~1", "5.1", now)
	require.True(t, g.isValid())
	require.Equal(t, "a%2Fb~1-5.1", g.Assignment)
	require.Zero(t, g.NotBefore)
	require.EqualValues(t, waiting, g.returned().State)
	require.Equal(t, 1, g.returned().Attempt)
	again := g.afterFailure("why", time.Minute, now)
	require.Equal(t, 2, again.Attempt)
	require.Equal(t, truncateTime(now.Add(time.Minute)), again.NotBefore)
	require.Equal(t, "why", again.LastFailure)
	require.True(t, again.isValid())
	last := again.givenTo("w~2", "5.2", now).afterFailure("why not", time.Minute, now)
	require.EqualValues(t, dead, last.State)
	require.True(t, last.isValid())
	require.Equal(t, "w~2", last.Worker)
	require.Equal(t, "why not", last.toResult(7).Error)
	require.Empty(t, g.endedAs(done, "", now).toResult(7).Error)
	back := last.requeuedBy("call")
	require.True(t, back.isValid())
	require.Equal(t, 1, back.Attempt)
	require.Zero(t, back.Deadline)
	require.Len(t, r.afterFailure(strings.Repeat("ü", maxFailure), 0, now).LastFailure, maxFailure)
}

// An ended task does not keep its earliest start time: otherwise the task would
// wait after a Requeue.
func TestTaskThatWasCanceledBeforeItsTimeIsRequeuedAtOnce(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r, err := Task{ID: "x", Delay: time.Hour}.newRecord(now)
	require.NoError(t, err)
	over := r.canceledBy("call", "why", now)
	require.EqualValues(t, canceled, over.State)
	require.Equal(t, "call", over.Canceled)
	require.Equal(t, now, over.FinishedAt)
	require.Zero(t, over.NotBefore)
	require.Zero(t, over.requeuedBy("again").NotBefore)
}

func TestTasksAreLookedAtWhenSomethingIsDue(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	soon, late := now.Add(time.Minute), now.Add(time.Hour)
	for name, x := range map[string]struct {
		record
		ready bool
		at    time.Time
		ever  bool
	}{
		"a task that waits":                    {record{State: waiting}, false, time.Time{}, true},
		"one whose time has not come":          {record{State: waiting, NotBefore: soon}, false, soon, true},
		"the same, with a later deadline":      {record{State: waiting, NotBefore: soon, Deadline: late}, false, soon, true},
		"one whose deadline is before that":    {record{State: waiting, NotBefore: late, Deadline: soon}, false, soon, true},
		"one that is ready":                    {record{State: waiting, NotBefore: soon}, true, time.Time{}, false},
		"the same, with a deadline":            {record{State: waiting, NotBefore: soon, Deadline: late}, true, late, true},
		"one in the hands of a worker":         {record{State: assigned}, false, time.Time{}.Add(grace), false},
		"the same, with a deadline ":           {record{State: assigned, Deadline: soon}, false, soon.Add(grace), true},
		"one that is dead":                     {record{State: dead, FinishedAt: now, Retention: 1000}, false, now.Add(defaultDeadRetention), true},
		"the same, with a retention":           {record{State: dead, FinishedAt: now, Retention: 1000, DeadRetention: 2000}, false, now.Add(2 * time.Second), true},
		"one that is done":                     {record{State: done, FinishedAt: now, Retention: 1000, Deadline: late}, false, now.Add(time.Second), true},
		"one that was canceled, and its times": {record{State: canceled, FinishedAt: now, Deadline: soon, NotBefore: late}, false, now, true},
	} {
		at, ever := (&seen{record: x.record}).wakeTime(x.ready)
		require.Equal(t, x.ever, ever, name)
		require.Equal(t, x.at, at, name)
	}
}

func TestBackoffDoubles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := millis(rapid.Int64Range(0, 1<<40).Draw(t, "base"))
		attempt := rapid.IntRange(1, 1_000_000).Draw(t, "attempt")
		want := base.Duration()
		for range min(attempt-1, 64) {
			want = min(2*want, maxBackoff)
		}
		require.Equal(t, min(want, maxBackoff), record{Backoff: base, Attempt: attempt}.backoff())
	})
}

// As many tasks as there can be is a limit like any other.
func TestBoundsOfAllLimits(t *testing.T) {
	require.Equal(t, int32(67), hardBound(1))
	require.Equal(t, int32(67), hardBound(256))
	require.Equal(t, int32(70), hardBound(257))
	require.Equal(t, 0, reopensAt(1))
	require.Equal(t, 9, reopensAt(11))
	require.Equal(t, 90_000, reopensAt(100_000))
	require.Greater(t, hardBound(math.MaxInt), int32(1<<29))
	require.Greater(t, reopensAt(math.MaxInt), math.MaxInt/10*8)
	r := record{Attempt: math.MaxInt, MaxAttempts: math.MaxInt, State: done, Retention: math.MaxInt64}
	require.Zero(t, r.backoff(), "the result is computed, not counted")
	at, _ := (&seen{record: r}).wakeTime(false)
	require.True(t, at.After(r.FinishedAt))
}

// Different ids have different znodes, whose names are valid, and have no other part.
func TestPathsOfTasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		require.Equal(t, a == b, layout("/q").taskPath(a) == layout("/q").taskPath(b))
		if a != "" {
			require.NoError(t, session.ValidatePath(layout("/q").taskPath(a)))
			require.NotContains(t, layout("/q").taskPath(a), partMark)
		}
	})
	for _, hostile := range []string{".", "..", "/", "a/b", "~", "^", "\x00", strings.Repeat("x", 512)} {
		require.NoError(t, session.ValidatePath(layout("/q").dataPath(hostile, "r")), hostile)
	}
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	r, err := Task{Payload: []byte("x")}.newRecord(time.Now())
	require.NoError(t, err)
	back, err := decode[record](encode(r))
	require.NoError(t, err)
	require.Equal(t, r, back)
	e := r.endedAs(failed, "why\nnot", time.Now()).toResult(3)
	end, output, err := decodeResult(encodeResult(e, []byte("out\nput\n")))
	require.NoError(t, err)
	require.Equal(t, e, end)
	require.Equal(t, "out\nput\n", string(output))
	for _, bad := range []string{"", "null", "{}", "[]", `{"format":2}`, string(encode(limits{Format: format})), string(encode(profile{Format: format}))} {
		_, err := decode[record]([]byte(bad))
		require.ErrorIs(t, err, ErrRecord)
		_, err = decode[assignment]([]byte(bad))
		require.ErrorIs(t, err, ErrRecord)
		_, err = decode[profile]([]byte(bad))
		require.ErrorIs(t, err, ErrRecord)
		_, err = decode[limits]([]byte(bad))
		require.ErrorIs(t, err, ErrRecord)
		_, _, err = decodeResult([]byte(bad))
		require.ErrorIs(t, err, ErrRecord)
	}
}

// Decoding any data does not panic, and accepted data is a valid record.
func FuzzDecode(f *testing.F) {
	r, err := Task{Payload: []byte("x")}.newRecord(time.Now())
	if err != nil {
		f.Fatal(err)
	}
	given := r.givenTo("w", "1.1", time.Now())
	f.Add(encode(r))
	f.Add(encode(assignment{Format: format, Task: given, Version: 1}))
	f.Add(encodeResult(r.endedAs(done, "", time.Now()).toResult(1), []byte("x")))
	f.Add([]byte(`{"format":1,"concurrency":1,"maxTasks":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := decode[record](data); err == nil {
			again, err := decode[record](encode(r))
			require.NoError(t, err)
			require.True(t, bytes.Equal(encode(r), encode(again)))
			sc := newScheduler()
			sc.putTask(seen{record: r, mzxid: 1})
			sc.addWorker("w", profile{Concurrency: 1, Labels: r.Labels})
			for _, m := range sc.planMoves(time.Now(), 9, func() string { return "1" }) {
				require.True(t, m.kind == removeTask || m.next.isValid(), "%+v", m)
			}
		} else if !errors.Is(err, ErrRecord) {
			t.Fatal(err)
		}
		_, _ = decode[assignment](data)
		_, _ = decode[profile](data)
		_, _ = decode[limits](data)
		if e, _, err := decodeResult(data); err == nil {
			require.True(t, json.Valid(encode(e)))
		}
	})
}
