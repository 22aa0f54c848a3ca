package workerctl_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// told is a reader's knowledge of each worker.
type told map[int]workerctl.Member

// note applies a change, and returns an error if the change contradicts the
// known state.
func (k told) note(c workerctl.Change) error {
	before, known := k[c.Member.ID]
	k[c.Member.ID] = c.Member
	bad := false
	switch c.What {
	case "present":
		bad = known
	case "joined":
		bad = known || c.Member.State != "running"
	case "restarted":
		bad = !known || c.Member.Incarnation <= before.Incarnation || c.Member.State != "running"
	case "updated":
		bad = c.Member.Incarnation != before.Incarnation || before.State != "running"
	case "left", "failed", "dead":
		bad = c.What != string(c.Member.State) || known && (c.Member.Incarnation < before.Incarnation ||
			c.Member.Incarnation == before.Incarnation && before.State != "running")
	}
	if bad {
		return fmt.Errorf("%+v after %+v", c, before)
	}
	return nil
}

// T2, T5, T25 under random faults: the changes reported for each worker are
// consistent, never go back, and end with the true state.
func TestStressRoster_T25(t *testing.T) {
	world.RunSeeds(t, world.Seeds(12), 1, func(ww *world.World, seed uint64) error {
		w, r := &World{ww}, rand.New(rand.NewPCG(seed, 1))
		s := &stress{w: w, workers: 4}
		first, second := w.Client(), w.Client()
		j := w.submit(first, s.workers)
		anchor := w.join(j, named("anchor")) // keeps the job from ending
		_ = anchor
		trouble, calm := context.WithTimeout(w.Ctx, 40*time.Second)
		defer calm()
		ctx, cancel := context.WithTimeout(w.Ctx, 50*time.Second)
		defer cancel()
		reading, end := context.WithCancel(w.Ctx)
		defer end()
		var readers, all sync.WaitGroup
		roster, book := w.attach(second).Roster(), told{}
		// Waited for below; ends with reading.
		readers.Go(func() { _ = roster.Run(reading) })
		// Waited for below; ends with reading.
		readers.Go(func() {
			for c, err := range roster.Changes(reading) {
				if err == nil {
					err = book.note(c)
				}
				if err != nil && reading.Err() == nil {
					s.Fail(err)
				}
			}
		})
		for i := range s.workers - 1 {
			own := rand.New(rand.NewPCG(r.Uint64(), 2))
			// Waited for below; ends with ctx.
			all.Go(func() { s.work(ctx, first, nth(i).Name, own) })
		}
		g := &world.FaultInjector{Server: w.Server, Clients: 2, Servers: 1, Rand: rand.New(rand.NewPCG(seed, 3)), Expire: s.Expire}
		// Waited for below; ends with trouble.
		all.Go(func() { g.Run(trouble, 3*time.Second) })
		all.Wait()
		w.Pass(time.Minute)
		truth, err := j.Members(w.Ctx)
		end()
		readers.Wait()
		if err != nil || s.Failed() != nil {
			return errors.Join(err, s.Failed())
		}
		for _, m := range truth {
			if k := book[m.ID]; k.State != m.State || k.Incarnation != m.Incarnation {
				return fmt.Errorf("told %+v, it is %+v", k, m)
			}
		}
		if len(book) != len(truth) {
			return fmt.Errorf("told of %d workers, there are %d", len(book), len(truth))
		}
		return nil
	})
}
