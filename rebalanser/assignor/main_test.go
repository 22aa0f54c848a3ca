package assignor_test

import (
	"flag"
	"os"
	"testing"
)

// Most random groups are tiny, so more of them can be checked. Flags of the
// command line take precedence.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "300"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
