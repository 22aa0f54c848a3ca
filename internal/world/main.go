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
	ParseFlags()
	unused := make([]byte, ballast)
	goleak.VerifyTestMain(m)
	runtime.KeepAlive(unused)
}

// Beside lets n tests of the package run at the same time, unless -parallel says
// otherwise: tests that wait more than they work. By default as many run as there are
// processors. It is called before the tests run, and parses the flags.
func Beside(n int) {
	ParseFlags()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(n))
	}
}

// ParseFlags parses the flags of the test binary. With the race detector, which makes tests
// several times slower, they are those of -short, unless the command line has -short or
// -short=false: what the detector finds does not depend on how often histories are repeated,
// and a busy machine would need more than the ten minutes that go test gives a package.
func ParseFlags() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.short" })
	if raced && !given {
		_ = flag.Set("test.short", "true")
	}
}
