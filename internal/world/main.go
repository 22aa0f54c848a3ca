package world

import (
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

// ballast is memory that nobody uses. Each connection of a client takes three megabytes
// for its buffers, and the heap of a history is no larger than that: the collector,
// which begins when the heap has doubled, would run at every connection, and take half
// of the processors' time. Memory that is never written costs nothing.
const ballast = 64 << 20

// Main runs a package's tests, and fails if any of them leaves a goroutine behind.
// It does not return.
func Main(m *testing.M) {
	unused := make([]byte, ballast)
	goleak.VerifyTestMain(m)
	runtime.KeepAlive(unused)
}
