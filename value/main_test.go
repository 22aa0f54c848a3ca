package value_test

import (
	"flag"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
)

// update writes the golden files in testdata again.
var update = flag.Bool("update", false, "write the golden files again") // read only

// TestMain fails if any test leaves a goroutine behind.
func TestMain(m *testing.M) { world.Main(m) }
