package ui

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// TestLooksThatTakeLongAreSeldom.
func TestLooksThatTakeLongAreSeldom(t *testing.T) {
	assert.Equal(t, calm, paceFor(0))
	assert.Equal(t, calm, paceFor(2*time.Millisecond), "a small tree")
	assert.Equal(t, 240*time.Millisecond, paceFor(60*time.Millisecond))
	assert.Equal(t, idle, paceFor(time.Hour))
}

// TestAwaitedThingsComeFirst in a list, with any path.
func TestAwaitedThingsComeFirst(t *testing.T) {
	p := newPast()
	for _, path := range []string{"/a", "/b", "/z"} {
		p.has(path, 0, "")
		p.has(contender(path, "lock", 1), 1, "ann")
	}
	p.has(contender("/z", "lock", 2), 2, "bob")
	d := &drawing{View: &View{World: p.look(), Exists: true}}
	require.Len(t, d.Things, 3)
	ranks := map[string]int{}
	for _, thing := range d.Kinds(recognize.Mutex) {
		ranks[thing.Path] = rankOf(thing)
	}
	assert.Less(t, ranks["/z"], ranks["/a"])
	assert.Equal(t, ranks["/a"], ranks["/b"])
}
