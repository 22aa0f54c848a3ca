package core_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
)

func TestMain(m *testing.M) { world.Main(m) }
