package assignor_test

import (
	"flag"
	"os"
	"testing"
)

// Most groups that are drawn are tiny: there can be more of them. What the
// command line says goes first.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "300"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
