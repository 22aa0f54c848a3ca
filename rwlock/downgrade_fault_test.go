package rwlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// A downgrade under every fault at every one of its requests, with a reader and
// a writer that wait behind.

// watcher is the contender behind the writer that downgrades.
type watcher struct {
	writer, reader chan *rwlock.Held
	failed         chan error // cap 2
}

// watch has a writer and a reader of the other client queue up. The reader
// stands before the writer.
func watch(p *world.Party) *watcher {
	w := &watcher{writer: make(chan *rwlock.Held, 1), reader: make(chan *rwlock.Held, 1), failed: make(chan error, 2)}
	wait := func(f take, out chan<- *rwlock.Held) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		h, err := f(ctx)
		if err != nil {
			w.failed <- err
			return
		}
		out <- h
	}
	// Waited for in finish; ends when it is granted.
	go wait(rwlock.New(p.Other, dir, nil).RLock, w.reader)
	world.Pause(100 * time.Millisecond)
	// Waited for in finish; ends when it is granted.
	go wait(rwlock.New(p.Other, dir, nil).Lock, w.writer)
	world.Pause(100 * time.Millisecond)
	return w
}

// keptOut checks, while r reads, that the writer is not in.
func (w *watcher) keptOut(p *world.Party, r *rwlock.Held) error {
	select {
	case h := <-w.writer:
		w.writer <- h
		if err := p.Overlap(r.Context(), r.Guard(), r.Token(), h.Token()); err != nil {
			return fmt.Errorf("beside a downgraded reader: %w", err)
		}
	default:
	}
	return nil
}

// finish wants both to get in, one after the other.
func (w *watcher) finish() error {
	for _, out := range []chan *rwlock.Held{w.reader, w.writer} {
		select {
		case h := <-out:
			if err := h.Unlock(context.Background()); err != nil {
				return fmt.Errorf("the waiters: %w", err)
			}
		case err := <-w.failed:
			return fmt.Errorf("the waiters: %w", err)
		}
	}
	return nil
}

// downgradeUnder is the operation; pause is how long each hold lasts.
func downgradeUnder(ctx context.Context, p *world.Party, o *rwlock.Options, pause time.Duration) (err error) {
	h, err := rwlock.New(p.Tested, dir, o).Lock(ctx)
	if err != nil {
		return err
	}
	w := watch(p)
	defer func() { err = errors.Join(err, w.finish()) }()
	world.Pause(pause)
	was := h.Context()
	r, err := h.Downgrade(ctx)
	if err != nil {
		// Nothing may be left of the hold, a writer's or a reader's.
		if e := h.Unlock(context.Background()); e != nil && !isLoss(e) {
			return fmt.Errorf("unlock: %w, after: %w", e, err)
		}
		return err
	}
	if was.Err() == nil {
		return errors.New("the writer's context goes on")
	}
	if err := w.keptOut(p, r); err != nil {
		return err
	}
	world.Pause(pause)
	if err := w.keptOut(p, r); err != nil {
		return err
	}
	if r.Context().Err() == nil && pause > 0 && len(w.reader) == 0 {
		return errors.New("the reader behind is not let in")
	}
	return r.Unlock(ctx)
}

func TestDowngradeUnderEveryFault(t *testing.T) {
	t.Parallel()
	for layout, o := range map[string]*rwlock.Options{"Curator": nil, "Kazoo": {Layout: rwlock.Kazoo}} {
		t.Run(layout, func(t *testing.T) {
			world.Trial{
				Name: "Lock, Downgrade, Unlock", Paths: []string{dir}, Next: nextLocks,
				Op: func(ctx context.Context, p *world.Party) error { return downgradeUnder(ctx, p, o, 0) },
			}.Run(t)
		})
	}
}

func TestLongDowngradeUnderEveryFaultAtEveryHeartbeat(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "Lock, hold, Downgrade, hold, Unlock", Paths: []string{dir}, Next: nextLocks,
		Op:     func(ctx context.Context, p *world.Party) error { return downgradeUnder(ctx, p, nil, 2*time.Second) },
		Counts: func(r zktest.Request) bool { return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" },
	}.Run(t)
}

// Two faults: the answer is lost, and then the search for the outcome.
func TestDowngradeUnderPairsOfFaults(t *testing.T) {
	t.Parallel()
	c := world.Trial{
		Name: "Lock, Downgrade, Unlock", Paths: []string{dir}, Next: nextLocks,
		Op: func(ctx context.Context, p *world.Party) error { return downgradeUnder(ctx, p, nil, 0) },
	}.Case()
	c.Pairs = world.Pairs(matrix.LostRequest, matrix.LostReply, matrix.SilentReply, matrix.CancelUnknown)
	res := matrix.Run(t, c)
	t.Logf("%d requests, %d cases", res.Requests, res.Cases)
}

// A writer of the tested client waits behind one that downgrades: it must look
// at the queue, under every fault, and wait for the reader.
func TestWriterBehindADowngradeUnderEveryFault(t *testing.T) {
	t.Parallel()
	var held *rwlock.Held
	world.Trial{
		Name: "Lock behind a Downgrade", Paths: []string{dir}, Next: nextLocks,
		Setup: func(_ *matrix.Env, p *world.Party) (err error) {
			held, err = rwlock.New(p.Other, dir, nil).Lock(context.Background())
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			released := make(chan error, 1)
			var r *rwlock.Held
			// Waited for below; ends with the release.
			go func() {
				world.Pause(time.Second)
				var err error
				if r, err = held.Downgrade(context.Background()); err == nil {
					world.Pause(3 * time.Second)
					err = r.Unlock(context.Background())
				}
				released <- err
			}()
			began := time.Now()
			h, err := rwlock.New(p.Tested, dir, nil).Lock(ctx)
			if err == nil && time.Since(began) < 4*time.Second {
				return world.ErrBroken
			}
			if e := <-released; e != nil {
				return fmt.Errorf("the first holder: %w", e)
			}
			if err != nil {
				return err
			}
			if h.Token() <= r.Token() {
				return fmt.Errorf("token %d after %d", h.Token(), r.Token())
			}
			if err := alone(p, h); err != nil {
				return err
			}
			return h.Unlock(ctx)
		},
	}.Run(t)
}
