package dispatch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// viewBuffer is how many changes may wait for the master. If more wait, the view sends a
// snapshot of all tasks instead, which costs more.
const viewBuffer = 1 << 16

// Master assigns the tasks of a queue to its workers. Of all masters of a queue,
// one leads. The other masters stand by, and each of them watches only the two
// masters before it.
type Master struct {
	store
}

// NewMaster makes a master of the queue at path, which is created with its first
// use. NewMaster sends nothing; Run reports an invalid argument. o may be nil.
func NewMaster(client *session.Client, path string, o *Options) *Master {
	return &Master{newStore(client, path, o)}
}

// Run stands for election, and gives tasks to workers whenever it leads, until ctx
// ends. It returns nil when ctx has ended and the leadership, if there was one, was
// given back, confirmed, and otherwise an error that wraps the failure: an error that
// a retry would not mend (session.ErrClosed, session.ErrNoAuth, ...), or
// session.ErrLost. A ctx that had ended before the call is an error that wraps the
// context's. It blocks; the goroutine is the caller's.
//
// A master decides only by data that it has read since it leads, and each of its
// writes is one transaction with the guard of its leadership: a master that was
// paused, or cut off, changes nothing once another master leads.
//
// A task takes it two reads, and its part of a transaction that gives out up to 64 of
// them; many tasks share requests. To take over takes a list of each bucket, and a read of
// each task, up to 128 of them with one request. A master that has read for a second begins
// to assign the tasks that it has read.
// While the numbers of tasks change, a master publishes them for [Queue.Stats], once a
// second on average.
func (m *Master) Run(ctx context.Context) error {
	m = receiver.OrZero(m)
	const op = "lead the workers of"
	if err := m.store.checkCall(ctx, "dispatch.NewMaster"); err != nil {
		return wrapError(ctx, op, string(m.layout), err)
	}
	// Here, so that the election does not make the path in its own way.
	err := retryConflicts(ctx, m.client, func(s *session.Session) error { return m.ensureCreated(ctx, s) })
	if err != nil {
		return unlessEnded(ctx, wrapError(ctx, op, string(m.layout), err))
	}
	el := election.New(m.client, m.at(mastersDir), &election.Options{ID: m.opts.ID, ACL: m.opts.ACL})
	led := false
	err = el.Run(ctx, func(ctx context.Context, l *election.Leadership) error {
		led = true
		t := &mastership{
			store: m.store, l: l, s: l.Session(), scheduler: newScheduler(), kick: make(chan struct{}, 1),
			counts: publication{news: make(chan struct{}, 1)},
		}
		err := t.lead(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx) // the next master reads the outcome of the last write
		}
		return err
	})
	switch {
	case err == nil:
		return nil
	case !led: // ctx may have ended just before the election began
		return unlessEnded(ctx, wrapError(ctx, op, string(m.layout), err))
	}
	return wrapError(context.WithoutCancel(ctx), op, string(m.layout), err) // that ctx has ended is not why
}

// unlessEnded is err, or nil if ctx has ended: for a Run that holds nothing.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// mastership is one leadership of a master.
type mastership struct {
	store
	l *election.Leadership
	s *session.Session
	// kick has an element when the scheduler has changed.
	kick   chan struct{}
	serial int64 // counts assignments; the loop's
	// admission, as it is in ZooKeeper; the loop's. stale: it must be read again. Assignments
	// depend on its version.
	limit   int
	open    bool
	version int32
	stale   atomic.Bool
	clock   serverClock // the loop's
	auditAt time.Time   // when to look for folders next; the loop's
	// sweepAt is when to look for parts without a task, swept counts the buckets that
	// were looked at; the loop's.
	sweepAt time.Time
	swept   int64
	hasKeys bool // the queue has a folder of keys, as far as the last audit tells; the loop's
	// schedules of periodic tasks; the loop's.
	schedules scheduleTable
	lost      int // counts rounds in a row that have cost the connection; the loop's

	// mu guards the fields below: scheduler, the number of views that have shown it the
	// state at the beginning of the mastership, the view of the tasks, and what is
	// published.
	mu        sync.Mutex
	scheduler *scheduler
	loaded    int
	early     early
	earlyAt   time.Time // when it begins to assign at the latest; the loop's
	view      *taskView // nil if the tasks are shown by a cache.Tree
	counts    publication
}

// views is how many views a master has.
const views = 4

// lead leads until ctx ends.
func (t *mastership) lead(ctx context.Context) error {
	if err := t.retryInSession(ctx, func() error { return t.prepareQueue(ctx) }); err != nil {
		return err
	}
	t.earlyAt = time.Now().Add(earlyAfter)
	while, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	alive := cache.NewChildren(t.client, t.at(aliveDir), decodeProfile, nil)
	clients := cache.NewChildren(t.client, t.at(clientsDir), cache.Bytes, nil)
	admission := cache.NewTree(t.client, t.at(admissionDir), cache.Bytes, &cache.Options{MaxDepth: 1})
	for _, run := range []func(context.Context) error{
		t.followTasks, alive.Run, clients.Run, admission.Run, t.publishCounts,
		func(ctx context.Context) error { return followView(ctx, t, alive.View, workerChanged()) },
		func(ctx context.Context) error { return followView(ctx, t, clients.View, clientChanged()) },
		func(ctx context.Context) error { return followView(ctx, t, admission.View, t.admissionChanged) },
	} {
		// Waited for above; ends with while.
		watching.Go(func() { end(run(while)) })
	}
	err := t.runLoop(while)
	if ctx.Err() != nil {
		return err
	}
	if cause := context.Cause(while); cause != nil {
		return cause // a view cannot go on
	}
	return err
}

// runLoop carries out the scheduler's decisions, until ctx ends.
func (t *mastership) runLoop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if err := t.refreshAdmission(ctx); err != nil {
			return err
		}
		moves, loaded := t.planMoves()
		err, again := t.carryOutMoves(ctx, moves), len(moves) > 0
		switch {
		case err != nil:
		case loaded:
			var ran bool
			if err = t.tidyUp(ctx); err == nil {
				ran, err = t.runSlots(ctx)
			}
			again = again || ran
		default:
			err = t.readAssigned(ctx)
		}
		if err != nil {
			return err
		}
		if again {
			continue
		}
		if loaded {
			if err := t.recallTasks(ctx); err != nil {
				return err
			}
			t.noteRest()
		}
		t.mu.Lock()
		at, ever := t.scheduler.nextWake()
		t.mu.Unlock()
		wait := t.untilSlot(min(time.Until(t.auditAt), time.Until(t.sweepAt)))
		switch {
		case !loaded:
			wait = auditEvery
			if now := time.Now(); now.Before(t.earlyAt) {
				wait = t.earlyAt.Sub(now)
			}
		case ever:
			wait = min(wait, at.Sub(t.clock.now()))
		}
		timer.Reset(wait)
		select {
		case <-t.kick:
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// planMoves plans, once everything was shown. A master that has much to read plans
// assignments earlier.
func (t *mastership) planMoves() (moves []move, loaded bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	loaded = t.loaded >= views
	if !loaded && (t.loaded < views-1 || t.early != earlyReady) {
		return nil, false
	}
	if t.view != nil && t.scheduler.needsTasks() {
		t.view.inbox.want()
	}
	serial := func() string {
		t.serial++
		return newSerial(t.l.Token(), t.serial)
	}
	if !loaded {
		return t.scheduler.planEarly(t.clock.now(), maxMoves, serial), false
	}
	return t.scheduler.planMoves(t.clock.now(), maxMoves, serial), true
}

// updateScheduler changes the scheduler.
func (t *mastership) updateScheduler(f func(sc *scheduler)) {
	t.mu.Lock()
	f(t.scheduler)
	if t.view != nil && len(t.scheduler.changed) > 0 {
		t.view.inbox.requestReads(t.taskPaths(t.scheduler.changed), false)
		t.scheduler.changed = nil
	}
	t.counts.noteChangeLocked()
	t.mu.Unlock()
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

// retryInSession does f until it succeeds, over lost connections, as long as the
// leadership's session lives. f finds out the outcome of its own writes.
func (t *mastership) retryInSession(ctx context.Context, f func() error) error {
	return t.s.Retry(ctx, func() error {
		err := f()
		if t.isDeposed(err) {
			// The guard has failed: ctx ends as soon as that is known here.
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return err
	})
}

// applyGuarded is store.applyTxn under the leadership's guard: one transaction of the master.
func (t *mastership) applyGuarded(ctx context.Context, f func(tx *stm.Tx) error) error {
	return t.store.applyTxn(ctx, func(tx *stm.Tx) error {
		if err := tx.Guard(t.l.Guard()); err != nil {
			return err
		}
		return f(tx)
	})
}

// isDeposed reports whether a transaction has failed since another master leads.
func (t *mastership) isDeposed(err error) bool {
	path, reason := optimistic.Culprit(err)
	return reason != nil && path == t.l.Path() && errors.Is(reason, session.ErrNoNode)
}
