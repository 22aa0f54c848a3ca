package stm_test

import (
	"flag"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
)

// update writes testdata/layout.golden again.
var update = flag.Bool("update", false, "write testdata/layout.golden again") // read only

// TestMain fails if any test leaves a goroutine behind.
func TestMain(m *testing.M) { world.Main(m) }
