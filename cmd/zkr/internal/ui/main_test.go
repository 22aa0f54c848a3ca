package ui_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the golden file and the pictures in docs/images") // read only

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
