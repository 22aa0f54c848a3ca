package assignor_test

import (
	"flag"
	"os"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
)

// Most random groups are tiny, so more of them can be checked. Flags of the
// command line take precedence.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "300"); err != nil {
		panic(err)
	}
	world.ParseFlags()
	os.Exit(m.Run())
}
