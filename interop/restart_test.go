//go:build unix

package interop_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLocksGoOnWhenTheServerRestarts: all are cut off in the middle, and their
// sessions live on (P17, CH16, CH17).
//
// Elections and counters are left out: Curator's latch and selector take a lost
// connection for lost leadership, by design, and its counter adds twice (CL1).
func TestLocksGoOnWhenTheServerRestarts(t *testing.T) {
	t.Parallel()
	for kind, recipes := range map[string][]string{curator: {"mutex", "rw", "lease"}, kazoo: {"mutex"}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const permits = 2
			rounds := scaled(30)
			cluster := startOwnServer(t)
			they, we := startOn(t, cluster, kind, 2*timeout), startOn(t, cluster, ours, 2*timeout)
			for _, recipe := range recipes {
				t.Run(recipe, func(t *testing.T) {
					h := hammer(t, rounds, ask{"recipe": recipe, "layout": "curator", "writes": 3, "permits": permits, "path": fresh(recipe)},
						crew{they, 3, nil}, crew{we, 3, nil})
					h.awaitRounds(they, rounds)
					require.NoError(t, cluster.Restart(t.Context(), 0))
					h.awaitMoreRounds(rounds)
					r := rules{}
					if recipe == "lease" {
						r.together = permits
					}
					h.finish(r)
				})
			}
		})
	}
}
