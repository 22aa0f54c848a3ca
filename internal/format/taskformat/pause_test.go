package taskformat_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// Limits without a pause are as former versions write them. A version that changes the limits
// keeps the pause with all its fields.
func TestPausesAreReadAsTheyWereWritten(t *testing.T) {
	require.Equal(t, `{"format":1,"maxTasks":7}`, string(taskformat.Encode(taskformat.Limits{Format: 1, MaxTasks: 7})))
	pause := taskformat.Pause{By: "ann", Reason: "why", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	data := string(taskformat.Encode(taskformat.Limits{Format: 1, MaxTasks: 7, Paused: &pause, LastPause: "id"}))
	require.Equal(t, `{"format":1,"maxTasks":7,"paused":{"by":"ann","reason":"why","since":"2026-01-02T03:04:05Z"},"lastPause":"id"}`, data)
	newer := strings.Replace(data, `"by"`, `"ticket":7,"by"`, 1)
	l, err := taskformat.Decode[taskformat.Limits]([]byte(newer))
	require.NoError(t, err)
	require.Equal(t, "ann", l.Paused.By)
	l.MaxTasks = 8
	require.Contains(t, string(taskformat.Encode(l)), `"ticket":7`)
}

func TestAnythingButAnObjectIsNoPause(t *testing.T) {
	for bad, paused := range map[string]bool{`{}`: true, `{"since":"yesterday"}`: false, `true`: false, `17`: false, `[]`: false, `"ann"`: false} {
		l, err := taskformat.Decode[taskformat.Limits]([]byte(`{"format":1,"maxTasks":7,"paused":` + bad + `}`))
		require.Equal(t, paused, err == nil, bad)
		require.Equal(t, paused, err == nil && l.Paused != nil, bad)
	}
	l, err := taskformat.Decode[taskformat.Limits]([]byte(`{"format":1,"maxTasks":7,"paused":null}`))
	require.NoError(t, err)
	require.Nil(t, l.Paused)
}
