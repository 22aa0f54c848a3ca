package ui_test

import (
	"flag"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the golden file and the pictures in docs/images") // read only

func TestMain(m *testing.M) {
	world.Beside(8) // the parallel ones wait for connections and for looks
	goleak.VerifyTestMain(m)
}
