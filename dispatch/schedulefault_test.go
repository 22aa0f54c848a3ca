package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// slotLog is what was observed of slots.
type slotLog struct {
	// mu guards the fields below: how often the task of each slot was submitted, and the last
	// slot of each schedule.
	mu   sync.Mutex
	runs map[string]int
	last map[string]time.Time
}

// count is the number of submitted tasks.
func (l *slotLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.runs)
}

// watchSlots asserts at each change that no slot is run twice, that slots are run in their order,
// and that a task and the record of its slot are one transaction under the guard of a leadership.
func watchSlots(s *zktest.Server, fail func(error)) *slotLog {
	l := &slotLog{runs: map[string]int{}, last: map[string]time.Time{}}
	s.OnApply(func(txn zktest.Txn) {
		if txn.Code != 0 {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		submitted, recorded := []string{}, []string{}
		for _, p := range txn.Paths {
			node, err := s.Get(p)
			if err != nil {
				delete(l.last, p) // with its schedule
				continue
			}
			id := p[strings.LastIndexByte(p, '/')+1:]
			switch {
			case strings.HasPrefix(p, path+"/tasks/") && strings.Contains(id, "@") && node.Czxid == txn.Zxid:
				if l.runs[id]++; l.runs[id] > 1 {
					fail(fmt.Errorf("%s was submitted %d times", id, l.runs[id]))
				}
				submitted = append(submitted, id)
			case strings.HasPrefix(p, path+"/schedules/") && strings.Count(p, "/") == 4 && node.Mzxid == txn.Zxid:
				var now struct {
					Slot, Skipped time.Time
					Task          string
				}
				if err := json.Unmarshal(node.Data, &now); err != nil {
					fail(err)
				}
				over := now.Slot
				if now.Skipped.After(over) {
					over = now.Skipped
				} else {
					recorded = append(recorded, now.Task)
				}
				if !over.After(l.last[p]) {
					fail(fmt.Errorf("%s: %v after %v", p, over, l.last[p]))
				}
				l.last[p] = over
			}
		}
		guarded := slices.ContainsFunc(txn.Paths, func(p string) bool { return strings.HasPrefix(p, path+"/masters/") })
		if len(submitted) > 0 && !guarded {
			fail(fmt.Errorf("%q: without the guard of a leadership", submitted))
		}
		if _, err := s.Get(path + "/admission/open"); len(submitted) > 0 && err != nil {
			fail(fmt.Errorf("%q: the queue is closed: %w", submitted, err))
		}
		slices.Sort(submitted)
		slices.Sort(recorded)
		if !slices.Equal(submitted, recorded) {
			fail(fmt.Errorf("one transaction: %q, %q", submitted, recorded))
		}
	})
	return l
}

// often is a schedule whose tasks are removed as soon as they have ended.
func often(name string) dispatch.Schedule {
	return dispatch.Schedule{Name: name, Every: 3 * time.Second, Task: dispatch.Task{Retention: time.Millisecond}}
}

// fail notes a violation.
func (c *crew) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bad = errors.Join(c.bad, err)
}

// onTime wants the slots of the only schedule to be run by now.
func onTime(ctx context.Context, q *dispatch.Queue) error {
	for range 60 {
		list, err := q.Schedules(ctx)
		if err != nil || len(list) != 1 || list[0].Err != nil {
			return fmt.Errorf("%+v: %w", list, err)
		}
		if time.Since(list[0].Last) < 2*list[0].Every && list[0].Next.After(time.Now()) {
			return nil
		}
		world.Pause(time.Second)
	}
	return errors.New("no slot was run for a minute")
}

// Slots with faults in the master, alone and with another master: each is run once at most, and
// slots are run again soon.
func TestSlotsUnderEveryFault(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]string{"master": "Mw", "master with a backup": "Mmw"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log *slotLog
			tr := world.Trial{
				Name: name,
				Setup: func(_ *matrix.Env, p *world.Party) error {
					return dispatch.New(p.Other, path, nil).SetSchedule(context.Background(), often("x"))
				},
				Counts: func(r zktest.Request) bool {
					return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" && !r.OnlyChecks
				},
			}
			c := tr.Case()
			c.Op = func(ctx context.Context, e *matrix.Env) error {
				crew := startCrew(e, e.State.(*world.Party), parts, echo)
				log = watchSlots(e.Server, crew.fail)
				world.Pause(7 * time.Second)
				return nil
			}
			c.Check = func(e *matrix.Env) error {
				if e.Err != nil {
					return e.Err
				}
				over, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
				defer cancel()
				crew := e.State.(*world.Party).State.(*crew)
				if err := onTime(over, crew.queue); err != nil {
					return err
				}
				if _, err := crew.queue.DeleteSchedule(over, "x"); err != nil || log.count() == 0 {
					return fmt.Errorf("%d slots: %w", log.count(), err)
				}
				world.Pause(3 * time.Second)
				if err := sound(1)(over, e.State.(*world.Party)); err != nil {
					return err
				}
				return left(e)
			}
			explore(t, c, parts == "Mw")
		})
	}
}

// Calls of a client about schedules under every fault. The next client finds one schedule, or
// none, and slots are run.
func TestChangesOfSchedulesUnderEveryFault(t *testing.T) {
	t.Parallel()
	next := often("x")
	next.Task.Priority = 7
	for name, x := range map[string]struct {
		before bool
		op     func(ctx context.Context, q *dispatch.Queue) error
		leaves bool
	}{
		"set":     {false, func(ctx context.Context, q *dispatch.Queue) error { return q.SetSchedule(ctx, next) }, true},
		"replace": {true, func(ctx context.Context, q *dispatch.Queue) error { return q.SetSchedule(ctx, next) }, true},
		"delete": {true, func(ctx context.Context, q *dispatch.Queue) error {
			existed, err := q.DeleteSchedule(ctx, "x")
			if err == nil && !existed {
				err = errors.New("it existed")
			}
			return err
		}, false},
		"list": {true, func(ctx context.Context, q *dispatch.Queue) error {
			list, err := q.Schedules(ctx)
			if err == nil && (len(list) != 1 || list[0].Name != "x") {
				err = fmt.Errorf("%+v", list)
			}
			return err
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report(t, world.Trial{
				Name: name,
				Setup: func(e *matrix.Env, p *world.Party) error {
					c := startCrew(e, p, "mw", echo)
					watchSlots(e.Server, c.fail)
					if !x.before {
						return nil
					}
					if err := c.queue.SetSchedule(context.Background(), often("x")); err != nil {
						return err
					}
					world.Pause(4 * time.Second)
					return nil
				},
				Op: func(ctx context.Context, p *world.Party) error {
					q := dispatch.New(p.Tested, path, nil)
					if err := x.op(ctx, q); err != nil {
						return err
					}
					list, err := p.State.(*crew).queue.Schedules(context.Background())
					if err == nil && (len(list) == 1) != x.leaves {
						err = fmt.Errorf("%+v", list)
					}
					return err
				},
				Next: func(ctx context.Context, p *world.Party) error {
					c := p.State.(*crew)
					if err := c.queue.SetSchedule(ctx, next); err != nil {
						return err
					}
					if err := onTime(ctx, c.queue); err != nil {
						return err
					}
					if existed, err := c.queue.DeleteSchedule(ctx, "x"); err != nil || !existed {
						return fmt.Errorf("existed: %v: %w", existed, err)
					}
					world.Pause(3 * time.Second)
					return sound(1)(ctx, p)
				},
			})
		})
	}
}

// The transaction of a slot is on its way until another master leads: it changes nothing.
func TestSlotOfAMasterThatWasPaused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.set(q, minutely("x"))
		w.master(nil) // c2
		w.Settle()
		w.master(nil)
		log := watchSlots(w.Server, func(err error) { t.Error(err) })
		w.makeBuckets() // or the transaction fails for want of one
		w.Once(readsSlot, func() { w.Server.Delay(linkOf(2), zktest.ToServer, 50*time.Second) })
		w.until("01:40")
		require.Equal(w, []string{"01:00"}, w.slots(q), "by the other master")
		w.worker(echo, nil)
		w.collect(q, "x@2000-01-01T00:01:00Z")
		w.until("02:30")
		w.Server.Heal()
		w.until("04:30")
		require.Equal(w, []string{"02:00", "03:00", "04:00"}, w.slots(q))
		require.Equal(w, 4, log.count())
	})
}

// The queue is closed between the moments when the master reads the schedule and submits its
// task: the task is submitted when the queue is open again.
func TestQueueIsClosedAtASlot(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.set(q, minutely("x"))
		w.master(nil)
		log := watchSlots(w.Server, func(err error) { t.Error(err) })
		w.atSlot(2, "01:00", func() { require.NoError(w, w.Server.Delete(path+"/admission/open")) })
		w.until("01:30")
		require.Equal(w, []string{"01:00"}, w.slots(q))
		require.Equal(w, 1, log.count())
	})
}

// scheduleHistory is a random history of clients that set and delete schedules, while masters and
// workers die and faults happen. No slot is run twice.
func scheduleHistory(w *World, seed uint64, servers int) error {
	r := rand.New(rand.NewPCG(seed, 21))
	s := &stress{w: w, fates: map[string]*fate{}, there: map[string]bool{}}
	log := watchSlots(w.Server, s.Fail)
	trouble, calm := context.WithTimeout(w.Ctx, 60*time.Second)
	defer calm()
	var roles, all sync.WaitGroup
	for range 2 {
		c, own := w.Client(), rand.New(rand.NewPCG(r.Uint64(), 22))
		// Waited for below; ends with trouble.
		roles.Go(func() {
			s.playBoth(trouble, c, own, takes(2*time.Second))
		})
	}
	for n := range 2 {
		c, own := w.Client(), rand.New(rand.NewPCG(r.Uint64(), 23))
		// Waited for below; ends with trouble.
		roles.Go(func() {
			q := dispatch.New(c, path, nil)
			for trouble.Err() == nil {
				short, cancel := context.WithTimeout(trouble, time.Duration(1+own.Int64N(int64(10*time.Second))))
				sch := often(fmt.Sprintf("s%d-%d", n, own.IntN(2)))
				sch.Overlap, sch.Task.Priority = own.IntN(2) == 0, own.IntN(3)
				// A schedule that is deleted and set again begins with a later slot: no id
				// comes again.
				if err := q.SetSchedule(short, sch); err != nil {
					// A lost reply, and a change of another schedule at that moment.
					s.excuse(short, "set", err, session.ErrUnknownOutcome)
				} else if own.IntN(3) == 0 {
					_, err := q.DeleteSchedule(short, sch.Name)
					s.excuse(short, "delete", err)
				}
				_, err := q.Schedules(short)
				s.excuse(short, "list", err)
				cancel()
				world.SleepContext(trouble, time.Duration(own.Int64N(int64(8*time.Second))))
			}
		})
	}
	g := &world.FaultInjector{Server: w.Server, Clients: 4, Servers: servers, Rand: rand.New(rand.NewPCG(seed, 24)), Expire: s.Expire}
	// Waited for below; ends with trouble.
	all.Go(func() { g.Run(trouble, 3*time.Second) })
	all.Wait()
	roles.Wait()
	if err := s.Failed(); err != nil {
		return err
	}
	// Afterwards the slots are run on time.
	q := w.queue()
	for _, sch := range w.schedules(q) {
		_, err := q.DeleteSchedule(w.Within(time.Minute), sch.Name)
		s.Fail(err)
	}
	w.set(q, often("x"))
	w.master(nil)
	w.worker(echo, nil)
	s.Fail(onTime(w.Within(5*time.Minute), q))
	if log.count() == 0 {
		s.Fail(errors.New("no slot was run"))
	}
	return s.Failed()
}

func TestSchedulesInHistories(t *testing.T) {
	world.RunSeeds(t, world.Seeds(8), 1, func(w *world.World, seed uint64) error {
		return scheduleHistory(&World{World: w}, seed, 1)
	})
}

func TestSchedulesInHistoriesOfAnEnsemble(t *testing.T) {
	world.RunSeeds(t, world.Seeds(4), 3, func(w *world.World, seed uint64) error {
		return scheduleHistory(&World{World: w}, seed, 3)
	})
}

// A master on a server of an older release, without reads of several znodes in one request.
func TestSchedulesOnAnOldServer(t *testing.T) {
	inWorld(t, &zktest.Options{OldServer: true, Product: zktest.Apache}, func(w *World) {
		q := w.queue()
		for n := range 5 {
			w.set(q, minutely(fmt.Sprint("s", n)))
		}
		w.master(nil)
		w.worker(echo, nil)
		w.until("02:30")
		require.Len(w, w.ids(q), 10)
		require.Len(w, w.schedules(q), 5)
	})
}

// A schedule that the master may read, and not change, submits nothing, and does not keep the
// master from other work.
func TestScheduleThatTheMasterMayNotChange(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.set(q, minutely("x"))
		m := w.master(nil)
		ann := session.Options{Credentials: []session.Credential{session.Digest("ann", "secret")}}
		own := dispatch.New(w.ClientWith(ann), path, &dispatch.Options{ACL: slices.Concat(session.CreatorACL(), session.WorldACL(session.PermRead))})
		w.set(own, minutely("own"))
		w.until("02:30")
		require.Equal(w, []string{"x@2000-01-01T00:01:00Z"}, w.ids(q))
		require.Len(w, w.schedules(q), 2)
		require.Empty(w, m.done, "the master is still running")
	})
}

// A schedule that the master may not read does not keep it from other work.
func TestScheduleThatTheMasterMayNotRead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		ann := session.Options{Credentials: []session.Credential{session.Digest("ann", "secret")}}
		q := w.queue()
		w.set(q, minutely("x"))
		m := w.master(nil)
		secret := dispatch.New(w.ClientWith(ann), path, &dispatch.Options{ACL: session.CreatorACL()})
		w.set(secret, minutely("secret"))
		w.until("02:30")
		require.Len(w, w.ids(q), 1)
		require.NoError(w, m.end())
		w.master(nil)
		w.cancel(q)
		w.until("03:30")
		require.Len(w, w.ids(q), 2)
		_, err := q.Schedules(w.Ctx)
		require.ErrorIs(w, err, session.ErrNoAuth)
	})
}
