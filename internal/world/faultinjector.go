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
		if err := injector.Inject(ctx, space.Draw(g.Rand)); err != nil {
			panic(err) // the space has valid faults only
		}
		SleepContext(ctx, time.Millisecond) // a schedule may be empty
	}
}

// networkAndServerFaults are all kinds but those of processes, and Empty.
func networkAndServerFaults() []sim.Kind {
	return slices.DeleteFunc(sim.DefaultKinds(), func(k sim.Kind) bool { return k == sim.Kill || k == sim.Freeze })
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
