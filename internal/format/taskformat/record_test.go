package taskformat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
)

func task() taskformat.Record {
	return taskformat.Record{
		Format: 1, ID: "a/b", Run: "0123456789abcdef", State: taskformat.Assigned, Attempt: 1, MaxAttempts: 2,
		Worker: "w~1", Assignment: "a%2Fb~1-1.1", Submitted: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	r, err := taskformat.Decode[taskformat.Record](taskformat.Encode(task()))
	require.NoError(t, err)
	require.Equal(t, task(), r)
	e := taskformat.Ending{Format: 1, ID: "x", Run: "y", State: taskformat.Failed, Error: "why\nnot"}
	end, output, err := taskformat.DecodeResult(taskformat.EncodeResult(e, []byte("out\nput\n")))
	require.NoError(t, err)
	require.Equal(t, e, end)
	require.Equal(t, "out\nput\n", string(output))
}

// No record, a newer one, and one of another kind are refused; a newer one by its format.
func TestInvalidRecordIsRefused(t *testing.T) {
	for _, bad := range []string{
		"", "null", "{}", "[]", `{"format":2}`, `{"format":1,"maxTasks":0}`, `{"format":1,"concurrency":0}`,
		string(taskformat.Encode(taskformat.Assignment{Format: 1, Task: taskformat.Record{}})),
	} {
		for name, err := range map[string]error{
			"task":       second(taskformat.Decode[taskformat.Record]([]byte(bad))),
			"assignment": second(taskformat.Decode[taskformat.Assignment]([]byte(bad))),
			"profile":    second(taskformat.Decode[taskformat.Profile]([]byte(bad))),
			"limits":     second(taskformat.Decode[taskformat.Limits]([]byte(bad))),
			"ending":     second(taskformat.Decode[taskformat.Ending]([]byte(bad))),
			"counts":     second(taskformat.Decode[taskformat.Counts]([]byte(bad))),
		} {
			require.Error(t, err, "%s: %s", name, bad)
			var newer *versioned.FormatError
			require.Equal(t, bad == `{"format":2}`, errors.As(err, &newer), "%s: %s", name, bad)
		}
	}
}

func counts() taskformat.Counts {
	return taskformat.Counts{
		Format: 1, Token: 7, Tasks: map[taskformat.State]int{taskformat.Waiting: 2, taskformat.Dead: 1}, Unreadable: 1,
		Oldest: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Unmatched: 1,
	}
}

func TestCountsAreReadAsTheyWereWritten(t *testing.T) {
	data := taskformat.Encode(counts())
	require.Equal(t, `{"format":1,"token":7,"tasks":{"dead":1,"waiting":2},"unreadable":1,"oldest":"2026-01-02T03:04:05Z","unmatched":1}`, string(data))
	c, err := taskformat.Decode[taskformat.Counts](data)
	require.NoError(t, err)
	require.Equal(t, counts(), c)
}

func TestInvalidCountsAreRefused(t *testing.T) {
	for name, change := range map[string]func(c *taskformat.Counts){
		"no token":                 func(c *taskformat.Counts) { c.Token = 0 },
		"no such state":            func(c *taskformat.Counts) { c.Tasks["asleep"] = 1 },
		"fewer than none":          func(c *taskformat.Counts) { c.Tasks[taskformat.Done] = -1 },
		"fewer unreadable":         func(c *taskformat.Counts) { c.Unreadable = -1 },
		"fewer unmatched":          func(c *taskformat.Counts) { c.Unmatched = -1 },
		"more unmatched than wait": func(c *taskformat.Counts) { c.Unmatched = 3 },
	} {
		c := counts()
		change(&c)
		require.Error(t, second(taskformat.Decode[taskformat.Counts](taskformat.Encode(c))), name)
	}
}

// A queue with as many tasks as an int counts has a record of a few hundred bytes.
func TestCountsAreSmall(t *testing.T) {
	c := counts()
	c.Token, c.Unreadable, c.Unmatched = math.MaxInt64, math.MaxInt, math.MaxInt
	for _, state := range taskformat.States() {
		c.Tasks[state] = math.MaxInt
	}
	require.Less(t, len(taskformat.Encode(c)), 400)
}

func second[T any](_ T, err error) error { return err }

// The names in a record become parts of paths, so they must be valid names.
func TestNamesInTasksAreNames(t *testing.T) {
	for _, bad := range []string{"a/b", "..", "\x00"} {
		for _, change := range []func(*taskformat.Record){
			func(r *taskformat.Record) { r.Worker = bad }, func(r *taskformat.Record) { r.Assignment = bad }, func(r *taskformat.Record) { r.Owner = bad },
		} {
			r := task()
			change(&r)
			require.False(t, r.Valid(), "%+v", r)
		}
	}
	require.Equal(t, "w%2F1", taskformat.WorkerName("w%2F1~0123456789abcdef"))
}

func TestMillisecondsDoNotOverflow(t *testing.T) {
	require.Equal(t, 1500*time.Millisecond, taskformat.ToMillis(1500*time.Millisecond+time.Microsecond).Duration())
	require.Positive(t, taskformat.Millis(math.MaxInt64).Duration())
}

// Reading any tree does not panic, and accepts valid records only.
func FuzzDecode(f *testing.F) {
	f.Add(taskformat.Encode(task()))
	f.Add(taskformat.Encode(taskformat.Assignment{Format: 1, Task: task(), Version: 1}))
	f.Add(taskformat.EncodeResult(taskformat.Ending{Format: 1, ID: "x", Run: "y", State: taskformat.Done}, []byte("x")))
	f.Add(taskformat.Encode(counts()))
	f.Add([]byte(`{"format":1,"concurrency":1,"maxTasks":1,"newer":[1]}`))
	f.Add([]byte(`{"format":1,"maxTasks":1,"paused":{"by":"ann","ticket":7},"lastPause":"id"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := taskformat.Decode[taskformat.Record](data); err == nil {
			again, err := taskformat.Decode[taskformat.Record](taskformat.Encode(r))
			require.NoError(t, err)
			require.True(t, bytes.Equal(taskformat.Encode(r), taskformat.Encode(again)))
		}
		if a, err := taskformat.Decode[taskformat.Assignment](data); err == nil {
			require.True(t, a.Task.Valid())
		}
		_, _ = taskformat.Decode[taskformat.Profile](data)
		if c, err := taskformat.Decode[taskformat.Counts](data); err == nil {
			again, err := taskformat.Decode[taskformat.Counts](taskformat.Encode(c))
			require.NoError(t, err)
			require.Equal(t, c.Tasks, again.Tasks)
		}
		if l, err := taskformat.Decode[taskformat.Limits](data); err == nil {
			again, err := taskformat.Decode[taskformat.Limits](taskformat.Encode(l))
			require.NoError(t, err)
			require.Equal(t, l.MaxTasks, again.MaxTasks)
			require.Equal(t, l.Paused == nil, again.Paused == nil)
		}
		if e, _, err := taskformat.DecodeResult(data); err == nil {
			require.True(t, json.Valid(taskformat.Encode(e)))
		}
	})
}
