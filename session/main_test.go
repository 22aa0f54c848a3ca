package session

import (
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if any test leaves a goroutine behind.
func TestMain(m *testing.M) {
	// Memory that nobody uses, lest the collector run at every connection, each of
	// which takes megabytes for its buffers: it begins when the heap has doubled.
	unused := make([]byte, 64<<20)
	goleak.VerifyTestMain(m)
	runtime.KeepAlive(unused)
}
