package sim_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/sim"
)

var errStale = errors.New("a later holder has written")

// database is what the service writes to. It refuses a token below the highest one.
type database struct {
	mu      sync.Mutex
	highest int64
}

func (d *database) insert(token int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if token < d.highest {
		return errStale
	}
	d.highest = token
	return nil
}

// writeRows is the service: with the lock, it writes a row each second, at most 30 of them,
// and then gives the lock to another process.
func writeRows(ctx context.Context, client *session.Client, p *sim.Process, insert func(token int64) error) error {
	held, err := lock.New(client, "/locks/job", nil).Lock(ctx)
	if err != nil {
		return err
	}
	defer held.Unlock(context.WithoutCancel(ctx))
	defer p.Enter("job", held.Token())()
	for row := range 30 {
		if err := p.Pause(held.Context(), time.Second); err != nil {
			return err
		}
		id := fmt.Sprintf("%d/%d", held.Token(), row)
		if err := p.Do("row", id, held.Token(), func() error { return insert(held.Token()) }); err != nil {
			return err
		}
	}
	return nil
}

// repeat does work until ctx ends, and pauses after a failure.
func repeat(ctx context.Context, p *sim.Process, work func(client *session.Client) error) error {
	client, err := p.Client(ctx)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if work(client) != nil {
			_ = p.Pause(ctx, time.Second)
		}
	}
	return nil
}

// promises are the invariants of the service.
func promises() []sim.Invariant {
	return []sim.Invariant{
		sim.OneAtATime("job"),
		sim.TokensGrow("job"),
		sim.TokensGrow("row"),
		sim.AtMostOnce("row"),
		sim.ServedWithin("row", 45*time.Second),
	}
}

func TestOneProcessWritesRows(t *testing.T) {
	sim.Run(t, nil, func(w *sim.World) {
		db := &database{}
		w.Start(sim.Program{Name: "job", Copies: 3, Run: func(ctx context.Context, p *sim.Process) error {
			return repeat(ctx, p, func(client *session.Client) error { return writeRows(ctx, client, p, db.insert) })
		}})
		w.Require(promises()...)
	})
}

// writeRowsWithoutLook is writeRows with a mistake: it never looks at the context of the hold.
func writeRowsWithoutLook(ctx context.Context, client *session.Client, p *sim.Process, insert func(token int64) error) error {
	held, err := lock.New(client, "/locks/job", nil).Lock(ctx)
	if err != nil {
		return err
	}
	defer held.Unlock(context.WithoutCancel(ctx))
	defer p.Enter("job", held.Token())()
	for row := range 30 {
		if err := p.Pause(ctx, time.Second); err != nil { // the mistake: not held.Context()
			return err
		}
		id := fmt.Sprintf("%d/%d", held.Token(), row)
		if err := p.Do("row", id, held.Token(), func() error { return insert(held.Token()) }); err != nil {
			return err
		}
	}
	return nil
}

// A lock whose loss is not looked at is found within a few seeds, and so is a write without
// the token. Their schedules are shortened to one fault, or two.
func TestMistakesAreFound(t *testing.T) {
	fenced := func() func(int64) error { return new(database).insert }
	noToken := func() func(int64) error { return func(int64) error { return nil } } // the mistake: every row is taken
	for name, mistake := range map[string]struct {
		work   func(ctx context.Context, client *session.Client, p *sim.Process, insert func(int64) error) error
		insert func() func(int64) error
		breaks string
		kinds  []sim.Kind
		seeds  int
	}{
		"the loss is not looked at":  {writeRowsWithoutLook, fenced, "one at a time: job", sim.DefaultKinds(), 20},
		"the row is without a token": {writeRows, noToken, "tokens grow: row", []sim.Kind{sim.Freeze}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			f := sim.Explore(t, &sim.Options{Seeds: mistake.seeds, Faults: sim.Space{Kinds: mistake.kinds}}, func(w *sim.World) {
				insert := mistake.insert()
				w.Start(sim.Program{Name: "job", Copies: 3, Run: func(ctx context.Context, p *sim.Process) error {
					return repeat(ctx, p, func(client *session.Client) error { return mistake.work(ctx, client, p, insert) })
				}})
				w.Require(promises()...)
			})
			require.NotNil(t, f)
			require.Equal(t, mistake.breaks, f.Invariant)
			require.LessOrEqual(t, len(f.Shortest), 2, "%v", f.Shortest)
			for _, fault := range f.Shortest {
				require.Contains(t, f.Report(), fault.String())
			}
			t.Log(f.Report())
		})
	}
}
