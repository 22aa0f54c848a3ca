//go:build unix

package taskcmd

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/pipetest"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

// TestNoCommandIsStartedForATaskThatHasEnded while its beginning was printed.
func TestNoCommandIsStartedForATaskThatHasEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("canceled"))
	_, out := pipetest.Stalled(t)
	w := &taskWorker{taskCommand: taskCommand{app: &app{App: &cli.App{Stdout: out}}}, RunSpec: supervise.RunSpec{Argv: []string{"/no/such"}}}
	_, err := w.handle(ctx, &dispatch.Attempt{ID: "x"})
	require.EqualError(t, err, "canceled")
}
