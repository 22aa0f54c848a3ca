package session

import (
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if any test leaves a goroutine behind.
func TestMain(m *testing.M) {
	// Unused memory, so the garbage collector does not run at every connection:
	// a connection takes megabytes for its buffers, and the collector runs when
	// the heap has doubled.
	unused := make([]byte, 64<<20)
	goleak.VerifyTestMain(m)
	runtime.KeepAlive(unused)
}
