package observe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/observe"
)

// A cache whose owner ends it is no reason to warn.
func TestLogWarnsOfAStaleCacheUnlessItsContextHasEnded(t *testing.T) {
	for err, level := range map[error]string{
		errors.New("the connection was lost"):            "WARN",
		fmt.Errorf("stopped: %w", context.Canceled):      "INFO",
		fmt.Errorf("late: %w", context.DeadlineExceeded): "INFO",
	} {
		var out bytes.Buffer
		log := observe.Log(slog.New(slog.NewTextHandler(&out, nil)))
		log.Observe(context.Background(), observe.CacheStale{Path: "/c", Err: err})
		require.Contains(t, out.String(), "level="+level)
		require.Contains(t, out.String(), `msg="cache stale" path=/c cache=0`)
	}
}
