//go:build unix

package supervise

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

func TestExitOfACommandIsItsCodeOrItsSignal(t *testing.T) {
	code := func(status syscall.WaitStatus) int {
		err := ExitOf(status)
		if err == nil {
			return 0
		}
		return exit.Classify(err).Code
	}
	assert.Equal(t, 0, code(0))
	assert.Equal(t, 7, code(7<<8))
	assert.Equal(t, 255, code(255<<8))
	assert.Equal(t, 137, code(syscall.WaitStatus(syscall.SIGKILL)))
	assert.Equal(t, 139, code(syscall.WaitStatus(syscall.SIGSEGV)|0x80), "with a core dump")
}
