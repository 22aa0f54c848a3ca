package cache_test

import (
	"flag"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
)

// update writes the golden files in testdata again.
var update = flag.Bool("update", false, "write the golden files again") // read only

// TestMain fails if any test leaves a goroutine behind.
func TestMain(m *testing.M) {
	// The mistakes that the machine has had took up to ten thousand tries to
	// find; the command line overrides this.
	if err := flag.Set("rapid.checks", "2000"); err != nil {
		panic(err)
	}
	world.Main(m)
}
