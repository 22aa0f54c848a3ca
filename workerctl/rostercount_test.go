package workerctl_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// rosterCosts are the requests of a client with a running roster.
type rosterCosts struct {
	*World
	id      int64
	members atomic.Int64 // how many members were read
}

func (c *rosterCosts) cost(what string, members int, want map[string]int, do func()) {
	c.Helper()
	c.Pass(5 * time.Second)
	c.Server.ResetStats()
	c.members.Store(0)
	do()
	c.Pass(2 * time.Second) // without a heartbeat or ping that counts
	got := c.Server.Stats().BySession[c.id]
	delete(got, "ping")
	if len(got) == 0 {
		got = map[string]int{}
	}
	require.Equal(c, want, got, what)
	require.EqualValues(c, members, c.members.Load(), "%s: members read", what)
}

// A change of a worker costs a roster one event and one small read; changes that come
// together are read together.
func TestRequestsOfARoster(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 1000)
		crew := w.crew(3)
		for i := 3; i < 300; i++ {
			crew = append(crew, w.join(j, nth(i)))
		}
		c := &rosterCosts{World: w}
		client := w.Client()
		mine := w.attach(client)
		c.id = w.ID(client)
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Session == c.id {
				for _, p := range r.Paths {
					if strings.Contains(p, "/members/") {
						c.members.Add(1)
					}
				}
			}
			return zktest.Action{}
		})
		r := mine.Roster()
		ctx, cancel := context.WithCancel(w.Ctx)
		ran := make(chan error, 1)
		c.cost("load", 300, map[string]int{"addWatch": 1, "sync": 1, "getChildren2": 2, "exists": 1, "getData": 1, "multiRead": 19}, func() {
			// Waited for below; ends with ctx.
			go func() { ran <- r.Run(ctx) }()
			require.NoError(w, r.WaitSynced(w.Ctx))
		})
		c.cost("nothing", 0, map[string]int{}, func() { r.Joined() })
		one := map[string]int{"getData": 1}
		c.cost("join", 1, one, func() { crew = append(crew, w.join(j, nth(300))) })
		c.cost("update", 1, one, func() { require.NoError(w, crew[1].Update(w.Ctx, map[string]string{"a": "b"})) })
		c.cost("leave", 1, one, func() { w.leave(crew[1]) })
		c.cost("death", 1, one, func() { require.NoError(w, w.Server.ExpireSession(crew[0].Session().ID())) })
		c.cost("return", 1, one, func() { w.join(j, nth(0)) })
		// The first joins are read at once, and the others after a pause, up to 128 in a
		// request.
		w.Server.ResetStats()
		c.members.Store(0)
		for i := range 200 {
			w.join(j, nth(301+i))
		}
		w.Pass(2 * time.Second)
		require.EqualValues(w, 200, c.members.Load())
		require.LessOrEqual(w, w.Server.Stats().BySession[c.id]["getData"]+w.Server.Stats().BySession[c.id]["multiRead"], 4)
		c.cost("a larger job", 0, map[string]int{"getChildren2": 1, "exists": 1, "getData": 1}, func() { require.NoError(w, j.Scale(w.Ctx, 1001)) })
		require.Len(w, r.Joined(), 501)
		cancel()
		require.NoError(w, <-ran)
		w.Settle()
		for path := range w.Server.Watches() {
			require.NotContains(w, w.Server.Watches()[path], c.id, path)
		}
	})
}

// Each of n workers that wait for all others takes a constant number of requests, with
// Options.FailFast too.
func TestRequestsOfWorkersThatWaitForAll(t *testing.T) {
	const n = 100
	for name, opts := range map[string]*workerctl.Options{"plain": nil, "fail fast": {FailFast: true}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				j := w.submit(w.Client(), n)
				var waiting []<-chan result
				clients := map[int64]*session.Client{}
				for range n {
					c := w.Client()
					clients[w.ID(c)] = c
					mine, err := workerctl.Attach(w.Ctx, c, "words", opts)
					require.NoError(w, err)
					waiting = append(waiting, w.beside(func(ctx context.Context) (int64, error) { return 0, mine.WaitAll(ctx) }))
				}
				w.Settle()
				w.Server.ResetStats()
				for i := range n {
					w.join(j, nth(i))
				}
				for _, ended := range waiting {
					require.NoError(w, (<-ended).err)
				}
				w.Settle()
				total := 0
				stats := w.Server.Stats().BySession
				for id := range clients {
					delete(stats[id], "ping")
					for _, k := range stats[id] {
						total += k
					}
				}
				t.Logf("%d waits: %d requests", n, total)
				require.LessOrEqual(w, total, 8*n)
			})
		})
	}
}
