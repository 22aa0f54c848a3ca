package node_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
)

// TestMain fails if any test leaves a goroutine behind.
func TestMain(m *testing.M) { world.Main(m) }
