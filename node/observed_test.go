package node_test

import (
	"flag"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

var update = flag.Bool("update", false, "write the golden files again") // read only

func TestEventsUnderEveryFault(t *testing.T) {
	for _, mode := range []session.Mode{session.Ephemeral, session.EphemeralSequential, session.Persistent} {
		t.Run(name(mode), func(t *testing.T) {
			t.Parallel()
			tr := world.Trial{
				Name: "Keep, Release", Paths: clean(mode), Next: next(mode), Options: server(),
				Op: keepAndRelease(mode),
			}
			if !ephemeral(mode) {
				tr.Shows = world.IsWaitOrHold // there are none, whatever happens
			}
			tr.RunObserved(t, *update, name(mode))
		})
	}
}
