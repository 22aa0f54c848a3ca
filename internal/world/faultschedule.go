package world

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// FaultSchedule has clients that work under faults: a random history, drawn
// from a single seed.
type FaultSchedule struct {
	Clients []*session.Client
	// MaxHold bounds the workers' holds: 2 s, or 12 s, which is longer than
	// trust can last.
	MaxHold time.Duration
	// Rand is for further random choices.
	Rand *rand.Rand

	w       *World
	seed    uint64
	servers int
}

// FaultSchedule connects 2 to 4 clients, and creates Guarded.
func (w *World) FaultSchedule(seed uint64, servers int, trust session.TrustRule) *FaultSchedule {
	w.Helper()
	u := &FaultSchedule{MaxHold: 2 * time.Second, Rand: rand.New(rand.NewPCG(seed, 1)), w: w, seed: seed, servers: servers}
	if u.Rand.IntN(4) == 0 {
		u.MaxHold = 12 * time.Second
	}
	o := session.Options{Trust: trust}
	if u.Rand.IntN(2) == 0 {
		o.Timeout, o.TickTime = 6*time.Second, 2*time.Second
	}
	for range 2 + u.Rand.IntN(3) {
		u.Clients = append(u.Clients, w.ClientWith(o))
	}
	require.NoError(w, w.Server.Create(Guarded, nil)) // there is a leader by now
	return u
}

// Run runs up to workers workers of each client, with a FaultInjector for most
// of the time. expire is called for each early expiry. Run returns when all
// workers have returned, after the end of their context.
func (u *FaultSchedule) Run(workers int, work func(ctx context.Context, client int, r *rand.Rand), expire func(session int64)) {
	trouble, calm := context.WithTimeout(u.w.Ctx, 7*u.MaxHold+4*time.Second)
	defer calm()
	ctx, cancel := context.WithTimeout(u.w.Ctx, 8*u.MaxHold+14*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for i := range u.Clients {
		for range 1 + u.Rand.IntN(workers) {
			own := rand.New(rand.NewPCG(u.Rand.Uint64(), 2))
			// Waited for below; ends with ctx.
			all.Go(func() { work(ctx, i, own) })
		}
	}
	g := &FaultInjector{
		Server: u.w.Server, Clients: len(u.Clients), Servers: u.servers,
		Rand: rand.New(rand.NewPCG(u.seed, 3)), Expire: expire,
	}
	// Waited for below; ends with trouble.
	all.Go(func() { g.Run(trouble, 3*time.Second) })
	all.Wait()
}
