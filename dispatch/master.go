package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

// viewBuffer is how many changes may wait for the master before it is shown all
// tasks anew, which costs more.
const viewBuffer = 1 << 16

// Master gives the tasks of a queue to its workers. Of all masters of a queue one
// leads; the others stand by, and each watches the one before it, nothing else.
type Master struct {
	store
}

// NewMaster makes a master of the queue at path, which comes to be when it is first
// used. It does nothing yet; a wrong argument is reported by Run. o may be nil.
func NewMaster(client *session.Client, path string, o *Options) *Master {
	return &Master{newStore(client, path, o)}
}

// Run stands for election, and gives tasks to workers whenever it leads, until ctx
// ends; its error wraps that of ctx, or is one that another try would not mend
// (session.ErrClosed, session.ErrNoAuth, ...). It blocks; the goroutine is the
// caller's.
//
// Whatever it knows it has read from ZooKeeper since it leads, and whatever it
// writes is one transaction with the guard of its leadership: a master that was
// paused, or cut off, changes nothing once another one leads.
//
// A task takes it up to three reads, and its part of a transaction that gives out up
// to 64 of them; to take over takes one read for each task, and one for each bucket.
func (m *Master) Run(ctx context.Context) error {
	const op = "lead the workers of"
	if err := m.begin(ctx); err != nil {
		return failure(ctx, op, string(m.layout), err)
	}
	// Here, so that the election does not make the path in its own way.
	err := persist(ctx, m.client, func(s *session.Session) error { return m.make(ctx, s) })
	if err != nil {
		return failure(ctx, op, string(m.layout), err)
	}
	el := election.New(m.client, m.at(mastersDir), &election.Options{ID: m.opts.ID, ACL: m.opts.ACL})
	err = el.Run(ctx, func(ctx context.Context, l *election.Leadership) error {
		t := &term{store: m.store, l: l, s: l.Session(), board: newBoard(), kick: make(chan struct{}, 1)}
		return t.run(ctx)
	})
	return failure(ctx, op, string(m.layout), err)
}

// term is one leadership of a master.
type term struct {
	store
	l *election.Leadership
	s *session.Session
	// kick has an element when the board has changed.
	kick   chan struct{}
	serial int64 // counts assignments; the loop's
	// admission, as it is in ZooKeeper; the loop's.
	limit int
	open  bool
	audit time.Time // when to look for folders next; the loop's
	lost  int       // counts rounds in a row that have cost the connection; the loop's

	// mu guards what follows: board, and how many views have shown on it what
	// there was when the term began.
	mu     sync.Mutex
	board  *board
	loaded int
}

// views is how many views a master has.
const views = 3

// run leads until ctx ends.
func (t *term) run(ctx context.Context) error {
	if err := t.patiently(ctx, func() error { return t.prepare(ctx) }); err != nil {
		return err
	}
	while, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	tasks := cache.NewTree(t.client, t.at(tasksDir), t.decodeTask, &cache.Options{MaxDepth: 2, Buffer: viewBuffer})
	alive := cache.NewChildren(t.client, t.at(aliveDir), decodeProfile, nil)
	clients := cache.NewChildren(t.client, t.at(clientsDir), cache.Bytes, nil)
	for _, run := range []func(context.Context) error{
		tasks.Run, alive.Run, clients.Run,
		func(ctx context.Context) error { return follow(ctx, t, tasks.View, t.taskChanged) },
		func(ctx context.Context) error { return follow(ctx, t, alive.View, workerChanged()) },
		func(ctx context.Context) error { return follow(ctx, t, clients.View, clientChanged()) },
	} {
		// Waited for above; ends with while.
		watching.Go(func() { end(run(while)) })
	}
	err := t.loop(while)
	if ctx.Err() != nil {
		return err
	}
	if cause := context.Cause(while); cause != nil {
		return cause // a view cannot go on
	}
	return err
}

// loop does what is to be done, until ctx ends.
func (t *term) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		moves, loaded := t.plan()
		var err error
		if loaded {
			if err = t.act(ctx, moves); err == nil {
				err = t.tidy(ctx)
			}
		}
		if err != nil {
			return err
		}
		if len(moves) > 0 {
			continue
		}
		t.mu.Lock()
		at, ever := t.board.next()
		t.mu.Unlock()
		switch {
		case !loaded:
			at = time.Now().Add(auditEvery)
		case !ever || at.After(t.audit):
			at = t.audit
		}
		timer.Reset(time.Until(at))
		select {
		case <-t.kick:
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// plan plans, once everything was shown.
func (t *term) plan() (moves []move, loaded bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loaded < views {
		return nil, false
	}
	return t.board.plan(time.Now(), maxMoves, func() string {
		t.serial++
		return serial(t.l.Token(), t.serial)
	}), true
}

// update changes the board.
func (t *term) update(f func(b *board)) {
	t.mu.Lock()
	f(t.board)
	t.mu.Unlock()
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

// patiently does f until it succeeds, over lost connections, as long as the
// leadership's session lives. f finds out what has become of its writes.
func (t *term) patiently(ctx context.Context, f func() error) error {
	return t.s.Retry(ctx, func() error {
		err := f()
		if t.deposed(err) {
			// The guard has failed: ctx ends as soon as that is known here.
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return err
	})
}

// deposed reports whether a transaction has failed since another master leads.
func (t *term) deposed(err error) bool {
	path, reason := culprit(err)
	return reason != nil && path == t.l.Path() && errors.Is(reason, session.ErrNoNode)
}
