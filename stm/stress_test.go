package stm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// errRefused is returned by functions that refuse the values read.
var errRefused = errors.New("refused")

// stress has the workers of several clients on the same znodes, and their
// observations.
type stress struct {
	txs []*stm.Transactor

	// mu guards the fields below.
	mu     sync.Mutex
	clock  int64 // counts calls and returns
	calls  []call
	failed error // the first unexcused error
}

func (s *stress) nextTick() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	return s.clock
}

// cellPath returns the path of a cell. The last cell does not exist at first.
func cellPath(i int) string { return fmt.Sprintf("/cell%d", i) }

// readCells reads cells for c.
func (c *call) readCells(tx *stm.Tx, cells ...int) error {
	paths := make([]string, len(cells))
	for k, i := range cells {
		paths[k] = cellPath(i)
	}
	nodes, err := tx.GetAll(paths...)
	for k := range nodes {
		if c.saw[cells[k]] = -1; nodes[k].Exists {
			c.saw[cells[k]] = number(nodes[k].Data)
		}
	}
	return err
}

// runTx is the function of the transaction.
func (c *call) runTx(tx *stm.Tx) error {
	switch c.op {
	case "move":
		if err := c.readCells(tx, c.i, c.j); err != nil {
			return err
		}
		if c.saw[c.i] < c.n {
			return errRefused
		}
		return errors.Join(tx.Set(cellPath(c.i), text(c.saw[c.i]-c.n)), tx.Set(cellPath(c.j), text(c.saw[c.j]+c.n)))
	case "claim":
		err := c.readCells(tx, c.i)
		if err == nil && c.saw[c.i] >= 0 {
			return errRefused
		}
		return errors.Join(err, tx.Create(cellPath(c.i), text(c.n), session.Persistent, nil))
	case "put":
		return tx.Set(cellPath(c.i), text(c.n))
	}
	return c.readCells(tx, 0, 1, 2, 3)
}

// runOne applies a random transaction and records the outcome.
func (s *stress) runOne(ctx context.Context, t *stm.Transactor, r *rand.Rand) {
	long := 30 * time.Second
	if r.IntN(4) == 0 {
		long = time.Duration(r.Int64N(int64(2 * time.Second)))
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	c := call{op: []string{"move", "move", "move", "sum", "put", "claim"}[r.IntN(6)], i: r.IntN(3), n: 1 + r.IntN(5)}
	c.j = (c.i + 1 + r.IntN(2)) % 3
	if c.op == "claim" {
		c.i = 3
	}
	c.begin = s.nextTick()
	err := t.Apply(ctx, c.runTx)
	c.refused = errors.Is(err, errRefused)
	if c.fate = history.FateOf(err); c.refused {
		c.fate = once
	}
	c.end = s.nextTick()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	lost := errors.Is(err, session.ErrLost) && c.fate == maybe
	if err != nil && !c.refused && ctx.Err() == nil && !lost && s.failed == nil {
		s.failed = fmt.Errorf("%v: %w", c, err)
	}
}

// oneHistory is a random history, drawn from seed.
func oneHistory(w *World, seed uint64, servers int) error {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &stress{}
	o := session.Options{}
	if r.IntN(2) == 0 {
		o.Timeout = 6 * time.Second
	}
	clients := 2 + r.IntN(2)
	for range clients {
		s.txs = append(s.txs, stm.New(w.ClientWith(o), markers, &stm.Options{Combine: seed%2 == 1}))
	}
	initial := state{10, 10, 10, -1}
	for i := range 3 {
		require.NoError(w, w.Server.Create(cellPath(i), []byte("10")))
	}
	observer := stm.New(w.Client(), markers, nil)
	trouble, calm := context.WithTimeout(w.Ctx, 20*time.Second)
	defer calm()
	var all sync.WaitGroup
	for _, t := range s.txs {
		for range 1 + r.IntN(2) {
			own := rand.New(rand.NewPCG(r.Uint64(), 2))
			// Waited for below; ends after its calls.
			all.Go(func() {
				for range 3 + own.IntN(6) {
					s.runOne(w.Ctx, t, own)
					world.SleepContext(w.Ctx, time.Duration(own.Int64N(int64(3*time.Second))))
				}
			})
		}
	}
	g := &world.FaultInjector{Server: w.Server, Clients: clients, Servers: servers, Rand: rand.New(rand.NewPCG(seed, 3))}
	// Waited for below; ends with trouble.
	all.Go(func() { g.Run(trouble, 2*time.Second) })
	all.Wait()
	w.Pass(time.Minute)
	return s.judgeHistory(w, initial, append(s.txs, observer))
}

// judgeHistory requires that every client succeeds once more, and that some order
// explains all calls.
func (s *stress) judgeHistory(w *World, initial state, txs []*stm.Transactor) error {
	for i, t := range txs {
		c := call{op: "sum", fate: once, begin: s.nextTick()}
		ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
		err := t.Apply(ctx, c.runTx)
		cancel()
		if err != nil {
			return fmt.Errorf("client %d does not get through any more: %w", i, err)
		}
		c.end = s.nextTick()
		s.calls = append(s.calls, c)
	}
	if n := len(w.Children(markers)); n > 2*len(txs) {
		return fmt.Errorf("%d markers of %d clients", n, len(txs))
	}
	return errors.Join(s.failed, checkHistory(initial, s.calls))
}

// runSeeds runs n histories.
func runSeeds(t *testing.T, n, servers int) {
	world.RunSeeds(t, world.Seeds(n), servers, func(w *world.World, seed uint64) error {
		return oneHistory(&World{w}, seed, servers)
	})
}

func TestStressOneServer(t *testing.T) { runSeeds(t, 80, 1) }

func TestStressEnsemble(t *testing.T) { runSeeds(t, 40, 3) }

// The stress must include applied and refused transactions, and unknown
// outcomes.
func TestStressIsOne(t *testing.T) {
	count, refused := map[fate]int{}, 0
	for seed := range uint64(20) {
		inWorld(t, nil, func(w *World) {
			s := &stress{}
			txs := stm.New(w.Client(), markers, nil)
			for i := range 3 {
				require.NoError(w, w.Server.Create(cellPath(i), []byte("10")))
			}
			ctx, calm := context.WithTimeout(w.Ctx, time.Minute)
			defer calm()
			g := &world.FaultInjector{Server: w.Server, Clients: 1, Servers: 1, Rand: rand.New(rand.NewPCG(seed, 3))}
			done := make(chan struct{})
			// Waited for below; ends with ctx.
			go func() { defer close(done); g.Run(ctx, time.Second) }()
			own := rand.New(rand.NewPCG(seed, 2))
			for ctx.Err() == nil {
				s.runOne(w.Ctx, txs, own)
				world.SleepContext(w.Ctx, time.Second)
			}
			<-done
			for _, c := range s.calls {
				if count[c.fate]++; c.refused {
					refused++
				}
			}
		})
	}
	t.Log(count, refused)
	require.Greater(t, count[once], 100)
	require.Positive(t, count[maybe])
	require.Positive(t, count[never])
	require.Positive(t, refused)
}
