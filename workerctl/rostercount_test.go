package workerctl_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
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
	c.ResetStats()
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
	world.Needs(t, world.Subscriptions)
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
		c.cost("load", 300, map[string]int{"addWatch": 1, "sync": 1, "getChildren2": 2, "exists": 1, "getData": 1, "multiRead": 4}, func() {
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
		// The first join is read at once, and the others after a pause, together.
		w.ResetStats()
		c.members.Store(0)
		for i := range 3 {
			w.join(j, nth(301+i))
		}
		w.Pass(2 * time.Second)
		require.EqualValues(w, 3, c.members.Load())
		require.LessOrEqual(w, w.Server.Stats().BySession[c.id]["getData"]+w.Server.Stats().BySession[c.id]["multiRead"], 2)
		c.cost("a larger job", 0, map[string]int{"getChildren2": 1, "exists": 1, "getData": 1}, func() { require.NoError(w, j.Scale(w.Ctx, 1001)) })
		require.Len(w, r.Joined(), 304)
		cancel()
		require.NoError(w, <-ran)
		w.Settle()
		for path := range w.Server.Watches() {
			require.NotContains(w, w.Server.Watches()[path], c.id, path)
		}
	})
}

// While very many workers join, a roster stops its watch and lists; Stale and Changes keep
// their promises, and in the end the watch is back. They keep their promises also on servers
// that have no such watch.
func TestRosterInAFlood(t *testing.T) {
	t.Run("recursive watch", func(t *testing.T) {
		world.Needs(t, world.Subscriptions)
		rosterInAFlood(t, nil, true)
	})
	t.Run("3.5", func(t *testing.T) { rosterInAFlood(t, &zktest.Options{OldServer: true}, false) })
}

func rosterInAFlood(t *testing.T, so *zktest.Options, subscribes bool) {
	t.Helper()
	inWorld(t, so, func(w *World) {
		const n = 600
		c := w.Client()
		j := w.submit(c, n)
		crew := []*workerctl.Worker{w.join(j, nth(0)), w.join(w.attach(w.Client()), nth(1)), w.join(j, nth(2))}
		reader := w.Client()
		r := w.attach(reader).Roster()
		ctx, cancel := context.WithCancel(w.Ctx)
		var all sync.WaitGroup
		// Waited for below; ends with ctx.
		all.Go(func() { _ = r.Run(ctx) })
		require.NoError(w, r.WaitSynced(w.Ctx))
		book := told{}
		// Waited for below; ends with ctx.
		all.Go(func() {
			for c, err := range r.Changes(ctx) {
				if err == nil {
					err = book.note(c)
				}
				if err != nil && ctx.Err() == nil {
					w.Error(err)
				}
			}
		})
		live := path + "/" + w.Children(path)[0] + "/live"
		watched := func() bool { return slices.Contains(w.Server.Watches()[live], w.ID(reader)) }
		require.True(w, watched())
		limit := session.DefaultTimeout / 3
		polled := 0
		for i := 3; i < n; i++ {
			w.join(j, nth(i))
			w.Pass(20 * time.Millisecond)
			require.Less(w, r.Stale(), limit)
			if !watched() {
				polled++
			}
			switch i {
			case 200:
				require.NoError(w, crew[0].Update(w.Ctx, map[string]string{"a": "b"}))
				require.NoError(w, w.Server.ExpireSession(crew[1].Session().ID()))
				w.leave(crew[2])
			case 400:
				list := r.Joined()
				require.Equal(w, map[string]string{"a": "b"}, list[0].Identity.KV)
				require.Equal(w, []string{"dead", "left"}, []string{string(list[1].State), string(list[2].State)})
			}
		}
		if subscribes {
			require.Greater(w, polled, n/2)
		}
		w.Pass(10 * time.Second)
		require.True(w, watched())
		truth, err := j.Members(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, truth, r.Joined())
		cancel()
		all.Wait()
		require.Len(w, book, n)
		for _, m := range truth {
			require.Equal(w, m.State, book[m.ID].State)
		}
	})
}

// Each of n workers that wait for all others takes a constant number of requests, with
// Options.FailFast too.
func TestRequestsOfWorkersThatWaitForAll(t *testing.T) {
	const n = 100
	for name, opts := range map[string]*workerctl.Options{"plain": nil, "fail fast": {FailFast: true}} {
		t.Run(name, func(t *testing.T) {
			if opts != nil {
				world.Needs(t, world.Subscriptions)
			}
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
				w.ResetStats()
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
