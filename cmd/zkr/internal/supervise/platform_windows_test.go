package supervise

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// TestCommandsUnderAHoldAreRefused: before anything is sent to a server.
func TestCommandsUnderAHoldAreRefused(t *testing.T) {
	err := CheckCommand("cmd.exe")
	require.ErrorIs(t, err, errNeedsUnix)
	var f *exit.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, exit.CodeCannotRun, f.Code)
}
