package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/sim"
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
}

// Run breaks things until ctx ends, with pauses of up to pause, and then mends
// them.
func (g *FaultInjector) Run(ctx context.Context, pause time.Duration) {
	space := sim.Space{Servers: g.Servers, Pause: pause, Kinds: networkAndServerFaults()}
	for i := range g.Clients {
		space.Processes = append(space.Processes, fmt.Sprintf("c%d", i+1))
	}
	injector := sim.Injector{Server: g.Server, Expire: g.Expire}
	for ctx.Err() == nil {
		if until, ok := ctx.Deadline(); ok {
			space.Span = time.Until(until)
		}
		schedule := space.Draw(g.Rand)
		g.mendTogether(schedule)
		if err := injector.Inject(ctx, schedule); err != nil {
			panic(err) // the space has valid faults only
		}
		SleepContext(ctx, time.Millisecond) // a schedule may be empty
	}
}

// mendTogether lets each fault last until all are mended, which may happen after any fault:
// so faults gather, and times without any follow, however long the pauses are. An isolated
// server must be so for longer than a session lives.
func (g *FaultInjector) mendTogether(s sim.Schedule) {
	from := 0
	for i := range s {
		if last := i == len(s)-1; !last && g.Rand.IntN(2+g.Servers) > 0 {
			continue
		}
		for j := from; j <= i; j++ {
			s[j].For = s[i].At - s[j].At + time.Millisecond
		}
		from = i + 1
	}
}

// networkAndServerFaults are all kinds but those of processes, and Empty. Isolated servers
// are what trust is tested by, and stand there twice.
func networkAndServerFaults() []sim.Kind {
	kinds := slices.DeleteFunc(sim.DefaultKinds(), func(k sim.Kind) bool { return k == sim.Kill || k == sim.Freeze })
	return append(kinds, sim.Isolate, sim.IsolateLeader)
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
