package workerctl_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Requests are counted at the server.

// counts are c's requests since the last call, without pings and heartbeats.
func (w *World) counts(c *session.Client, f func()) map[string]int {
	w.Helper()
	w.Settle()
	w.ResetStats()
	f()
	out := w.Server.Stats().BySession[w.ID(c)]
	delete(out, "ping")
	return out
}

func TestRequestsOfEachOperation(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		_ = w.submit(c, 1).Kill(w.Ctx) // the root exists
		heartbeats := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.OnlyChecks {
				heartbeats++
			}
			return zktest.Action{}
		})
		var j *workerctl.Job
		require.Equal(w, map[string]int{"exists": 1, "multi": 1}, w.counts(c, func() { j = w.submit(c, 3) }))
		require.Equal(w, map[string]int{"multi": 1, "getData": 1}, w.counts(c, func() { w.attach(c) }), "a proof, and a read")
		w.join(j, named("first")) // proves the session
		var k *workerctl.Worker
		const oneWay = 10 * time.Millisecond
		w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
		join := func(trips int) func() {
			return func() {
				began := time.Now()
				k = w.join(j, named("k"))
				require.Equal(w, time.Duration(trips)*2*oneWay, time.Since(began), "round trips")
			}
		}
		require.Equal(w, map[string]int{"getData": 2, "multi": 1}, w.counts(c, join(2)), "join")
		require.Equal(w, map[string]int{"getData": 4, "multi": 1}, w.counts(c, join(4)), "come back")
		w.Server.Heal()
		require.Equal(w, map[string]int{"multi": 1}, w.counts(c, func() { require.NoError(w, k.Update(w.Ctx, nil)) }))
		require.Equal(w, map[string]int{"multi": 1, "getData": 2}, w.counts(c, func() { w.info(j) }))
		require.Equal(w, map[string]int{"multi": 1, "getData": 3, "exists": 2}, w.counts(c, func() { _, _ = j.Members(w.Ctx) }))
		require.Equal(w, map[string]int{"getData": 2, "multi": 1}, w.counts(c, func() { require.NoError(w, j.Scale(w.Ctx, 4)) }), "two reads in one round trip")
		require.Equal(w, map[string]int{"getData": 1, "multi": 1}, w.counts(c, func() { w.leave(k) }))
		require.Equal(w, 3, heartbeats, "the proofs of attach, Info and Members alone, or the figures have some heartbeats")
	})
}

// T19, T24: each of a thousand concurrent joins takes a constant number of
// requests.
func TestJoinsThatCollideTakeAConstantNumberOfRequests_T24(t *testing.T) {
	const sessions, n = 20, 1000
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), n)
		var jobs []*workerctl.Job
		for range sessions {
			jobs = append(jobs, w.attach(w.Client()))
		}
		w.ResetStats()
		var all sync.WaitGroup
		for i := range n {
			// Waited for below; ends with the join.
			all.Go(func() { w.join(jobs[i%sessions], nth(i)) })
		}
		all.Wait()
		counts := w.Server.Stats().Requests
		delete(counts, "ping")
		total := 0
		for _, k := range counts {
			total += k
		}
		require.LessOrEqual(w, total, 14*n, "%v", counts)
		t.Logf("%d joins by %d sessions at once: %.1f requests each: %v", n, sessions, float64(total)/n, counts)
		require.Equal(w, n, w.info(j).Running)
	})
}

// No znode grows with the number of workers (W5): ten thousand with ZKTEST_SEEDS.
func TestThousandsOfWorkers_W5(t *testing.T) {
	n := 4_000
	switch {
	case testing.Short():
		n = 2_000
	case world.Seeds(0) > 0:
		n = 10_000
	}
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		j := w.submit(c, n)
		began := time.Now()
		w.ResetStats()
		crew := make([]*workerctl.Worker, n)
		for i := range n {
			crew[i] = w.join(j, workerctl.Identity{Name: nth(i).Name, Addresses: []string{fmt.Sprintf("10.0.%d.%d:7000", i/250, i%250)}})
			require.Equal(w, i, crew[i].ID())
		}
		total := w.Requests(c)
		largest, sum := 0, 0
		for _, z := range w.Server.Dump() {
			largest, sum = max(largest, len(z.Data)), sum+len(z.Data)+len(z.Path)
		}
		require.Less(w, largest, 400, "bytes of the largest znode")
		require.NoError(w, j.WaitAll(w.Ctx))
		all, err := j.Members(w.Ctx)
		require.NoError(w, err)
		require.Len(w, all, n)
		t.Logf("%d workers: %.2f requests each, %d bytes of data and paths each, the largest znode has %d (virtual time %v)",
			n, float64(total)/float64(n), sum/n, largest, time.Since(began))
		for _, k := range crew {
			w.leave(k)
		}
		w.removed()
	})
}
