package taskformat_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// An assignment without progress is as former versions write it, and a worker that adds
// progress keeps the fields of a newer version.
func TestAssignmentsAreReadAsTheyWereWritten(t *testing.T) {
	plain := taskformat.Assignment{Format: 1, Task: task(), Version: 3}
	data := string(taskformat.Encode(plain))
	require.NotContains(t, data, "progress")
	newer := strings.TrimSuffix(data, "}") + `,"newer":[1]}`
	a, err := taskformat.Decode[taskformat.Assignment]([]byte(newer))
	require.NoError(t, err)
	report := taskformat.NewProgress(1, 2, "rows")
	a.Progress = &report
	again := taskformat.Encode(a)
	require.Contains(t, string(again), `"progress":{"done":1,"total":2,"note":"rows"}`)
	require.Contains(t, string(again), `"newer":[1]`)
	b, err := taskformat.Decode[taskformat.Assignment](again)
	require.NoError(t, err)
	require.Equal(t, a, b)
}

func TestProgressIsBounded(t *testing.T) {
	p := taskformat.NewProgress(-1, -1, "x"+strings.Repeat("é", taskformat.MaxNote))
	require.Zero(t, p.Done)
	require.Zero(t, p.Total)
	require.True(t, utf8.ValidString(p.Note))
	require.Len(t, p.Note, taskformat.MaxNote-1)
}
