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
	r, err := Task{ID: "a/b", Payload: []byte("x"), MaxAttempts: 2, Labels: []string{"b", "a", "b"}, Delay: time.Second, Deadline: now.Add(time.Hour)}.record(now)
	require.NoError(t, err)
	require.True(t, r.valid())
	require.Equal(t, []string{"a", "b"}, r.Labels)
	require.Equal(t, time.Date(2026, 1, 2, 2, 4, 6, 678_000_000, time.UTC), r.NotBefore)
	g := r.given("w~1", "5.1", now)
	require.True(t, g.valid())
	require.Equal(t, "a%2Fb~1-5.1", g.Assignment)
	require.Zero(t, g.NotBefore)
	require.Equal(t, waiting, g.returned().State)
	require.Equal(t, 1, g.returned().Attempt)
	again := g.attempted("why", time.Minute, now)
	require.Equal(t, 2, again.Attempt)
	require.Equal(t, clock(now.Add(time.Minute)), again.NotBefore)
	require.Equal(t, "why", again.LastFailure)
	require.True(t, again.valid())
	last := again.given("w~2", "5.2", now).attempted("why not", time.Minute, now)
	require.Equal(t, dead, last.State)
	require.True(t, last.valid())
	require.Equal(t, "w~2", last.Worker)
	require.Equal(t, "why not", last.ending(7).Error)
	require.Empty(t, g.ended(done, "", now).ending(7).Error)
	back := last.requeued("call")
	require.True(t, back.valid())
	require.Equal(t, 1, back.Attempt)
	require.Zero(t, back.Deadline)
	require.Len(t, r.attempted(strings.Repeat("ü", maxFailure), 0, now).LastFailure, maxFailure)
}

func TestBackoffDoubles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := millis(rapid.Int64Range(0, 1<<40).Draw(t, "base"))
		attempt := rapid.IntRange(1, 1_000_000).Draw(t, "attempt")
		want := base.duration()
		for range min(attempt-1, 64) {
			want = min(2*want, maxBackoff)
		}
		require.Equal(t, min(want, maxBackoff), record{Backoff: base, Attempt: attempt}.backoff())
	})
}

// As many tasks as there can be is a limit like any other.
func TestBoundsOfAllLimits(t *testing.T) {
	require.Equal(t, int32(66), hardBound(1))
	require.Equal(t, int32(66), hardBound(256))
	require.Equal(t, int32(68), hardBound(257))
	require.Equal(t, 0, reopensAt(1))
	require.Equal(t, 9, reopensAt(11))
	require.Equal(t, 90_000, reopensAt(100_000))
	require.Greater(t, hardBound(math.MaxInt), int32(1<<29))
	require.Greater(t, reopensAt(math.MaxInt), math.MaxInt/10*8)
	r := record{Attempt: math.MaxInt, MaxAttempts: math.MaxInt, State: done, Retention: math.MaxInt64}
	require.Zero(t, r.backoff(), "without counting to it")
	at, _ := r.wake(false)
	require.True(t, at.After(r.FinishedAt))
}

// Different ids have different znodes, whose names are valid, and have no other part.
func TestPathsOfTasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		require.Equal(t, a == b, layout("/q").task(a) == layout("/q").task(b))
		if a != "" {
			require.NoError(t, session.ValidatePath(layout("/q").task(a)))
			require.NotContains(t, layout("/q").task(a), partMark)
		}
	})
	for _, hostile := range []string{".", "..", "/", "a/b", "~", "^", "\x00", strings.Repeat("x", 512)} {
		require.NoError(t, session.ValidatePath(layout("/q").data(hostile, "r")), hostile)
	}
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	r, err := Task{Payload: []byte("x")}.record(time.Now())
	require.NoError(t, err)
	back, err := decode[record](encode(r))
	require.NoError(t, err)
	require.Equal(t, r, back)
	e := r.ended(failed, "why\nnot", time.Now()).ending(3)
	end, output, err := decodeResult(encodeResult(e, []byte("out\nput\n")))
	require.NoError(t, err)
	require.Equal(t, e, end)
	require.Equal(t, "out\nput\n", string(output))
	for _, bad := range []string{"", "null", "{}", "[]", `{"format":2}`, string(encode(limits{format, 0})), string(encode(profile{Format: format}))} {
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

// Whatever is in the tree, reading it does not panic, and what is taken for a record
// is one.
func FuzzDecode(f *testing.F) {
	r, err := Task{Payload: []byte("x")}.record(time.Now())
	if err != nil {
		f.Fatal(err)
	}
	given := r.given("w", "1.1", time.Now())
	f.Add(encode(r))
	f.Add(encode(assignment{format, given, 1}))
	f.Add(encodeResult(r.ended(done, "", time.Now()).ending(1), []byte("x")))
	f.Add([]byte(`{"format":1,"concurrency":1,"maxTasks":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := decode[record](data); err == nil {
			again, err := decode[record](encode(r))
			require.NoError(t, err)
			require.True(t, bytes.Equal(encode(r), encode(again)))
			b := newBoard()
			b.put(seen{record: r, mzxid: 1})
			b.hire("w", profile{Concurrency: 1, Labels: r.Labels})
			for _, m := range b.plan(time.Now(), 9, func() string { return "1" }) {
				require.True(t, m.kind == removeTask || m.next.valid(), "%+v", m)
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
