package world

import (
	"flag"
	"runtime"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// ballast is unused memory. Each connection of a client takes three megabytes
// for its buffers, and the heap of a history is not larger: the garbage collector,
// which runs when the heap has doubled, would run at every connection, and use half
// of the processors' time. Memory that is never written costs nothing.
const ballast = 64 << 20

// Main runs a package's tests, and fails if any of them leaves a goroutine
// behind. Main does not return.
func Main(m *testing.M) {
	unused := make([]byte, ballast)
	goleak.VerifyTestMain(m)
	runtime.KeepAlive(unused)
}

// Beside lets n tests of the package run at the same time, unless -parallel says
// otherwise: tests that wait more than they work. By default as many run as there are
// processors. It is called before the tests run, and parses the flags.
func Beside(n int) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(n))
	}
}
