package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// FaultInjector breaks a server and its links at random.
type FaultInjector struct {
	Server *zktest.Server
	// Clients are those named "c1" to "c<Clients>"; Servers how many servers
	// there are.
	Clients, Servers int
	Rand             *rand.Rand
	// Expire is called right before an early expiry of a session, of which its
	// holder cannot know. May be nil.
	Expire func(session int64)

	undo []func()
}

// Run breaks things until ctx ends, with pauses of up to pause, and then mends
// them.
func (g *FaultInjector) Run(ctx context.Context, pause time.Duration) {
	for ctx.Err() == nil {
		SleepContext(ctx, time.Duration(g.Rand.Int64N(int64(pause))))
		g.breakSomething()
		// An isolated server must be so for longer than a session lives.
		if g.Rand.IntN(2+g.Servers) == 0 {
			g.heal()
		}
	}
	g.heal()
}

func (g *FaultInjector) heal() {
	for _, f := range g.undo {
		f()
	}
	g.undo = nil
	g.Server.Heal()
	g.Server.HealPeers()
	for i := 1; i <= g.Servers; i++ {
		_ = g.Server.Thaw(i)
		_ = g.Server.Restart(i)
		if g.Servers > 1 {
			_ = g.Server.Lag(i, false)
		}
	}
}

func (g *FaultInjector) breakSomething() {
	link := zktest.Link{Client: fmt.Sprintf("c%d", 1+g.Rand.IntN(g.Clients))}
	dir := []zktest.Direction{zktest.Both, zktest.ToServer, zktest.ToClient}[g.Rand.IntN(3)]
	server, other := 1+g.Rand.IntN(g.Servers), 1+g.Rand.IntN(g.Servers)
	kinds := 9
	if g.Servers > 1 {
		kinds = 15
	}
	switch g.Rand.IntN(kinds) {
	case 0:
		g.Server.CutLink(link)
	case 1:
		g.Server.BlackHole(link, dir)
	case 2:
		g.Server.Delay(link, dir, time.Duration(1+g.Rand.Int64N(int64(3*time.Second))))
	case 3:
		g.expire()
	case 4, 5, 6: // a single request fails
		faults := []zktest.Fault{zktest.DropRequest, zktest.CutBefore, zktest.DropReplyCut, zktest.CutAfter, zktest.DropReplyHole}
		match := func(r zktest.Request) bool { return r.Op != "ping" && r.Op != "connect" }
		g.undo = append(g.undo, g.Server.FailNth(match, 1+g.Rand.IntN(4), zktest.Action{Do: faults[g.Rand.IntN(len(faults))]}))
	case 7:
		_ = g.Server.Freeze(server)
	case 8:
		_ = g.Server.Stop(server)
	case 9, 13:
		g.Server.IsolateServer(server)
	case 10, 14:
		if leader := g.Server.Leader(); leader > 0 {
			g.Server.IsolateServer(leader)
		}
	case 11:
		if server != other {
			g.Server.CutPeers(server, other, dir)
		}
	case 12:
		_ = g.Server.Lag(server, true)
	}
}

func (g *FaultInjector) expire() {
	all := g.Server.Sessions()
	if len(all) == 0 {
		return
	}
	id := all[g.Rand.IntN(len(all))].ID
	if g.Expire != nil {
		g.Expire(id)
	}
	_ = g.Server.ExpireSession(id)
}

// SleepContext waits for d or ctx.
func SleepContext(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
