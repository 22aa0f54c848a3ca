//go:build unix

package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// requests is the number of a node's disturbed requests, from the first on:
// more than a join and a promotion take, including heartbeats.
const requests = 18

// TestNodeSurvivesEveryFaultAtEveryRequest: the node joins, and is promoted
// when the leader goes. Under every fault the node leads in the end, is listed
// once, and has left no znodes of earlier attempts.
func TestNodeSurvivesEveryFaultAtEveryRequest(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]zktest.Fault{
		"cut before": zktest.CutBefore, "reply lost": zktest.DropReplyCut, "cut after": zktest.CutAfter,
		"black hole": zktest.DropReplyHole, "expired before": zktest.ExpireBefore, "expired after": zktest.ExpireAfter,
	} {
		for n := 1; n <= requests; n++ {
			if testing.Short() && n%4 != 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				b := newBed(t)
				b.sessions = time.Second
				first := b.nodes("n1")[0]
				spared := b.owner(first.Status())
				done := b.srv.FailNth(func(r zktest.Request) bool { return r.Session != spared && r.Session != 0 }, n, zktest.Action{Do: fault})
				defer done()
				second := b.node("n2")
				first.stop()
				b.until(func() bool { return second.Leads() != nil }, "n2 leads")
				left := func() [3]int {
					var counts [3]int
					for i, p := range Paths() {
						names, err := b.srv.Children(p)
						require.NoError(t, err)
						counts[i] = len(names)
					}
					return counts
				}
				b.until(func() bool { return left() == [3]int{1, 1, 0} && second.Leads() != nil }, "one candidate, one coordinator, no worker; not %v", left())
				b.lone()
			})
		}
	}
}
