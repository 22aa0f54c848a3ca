package discovery

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/session"
)

// keeper keeps one entry registered, in whatever session the client has. Its
// goroutine alone talks to the server; callers say what they want, and wait for
// that to come about.
type keeper struct {
	client *session.Client
	opts   Options
	parent session.Mode
	claims *claims
	title  string // in errors: the path that was first asked for

	wake chan struct{}      // cap 1: there is something new to do
	idle context.Context    // ends when the entry is to be removed, and with it all waiting
	stop context.CancelFunc // ends idle
	over chan struct{}      // closed when the goroutine has ended

	// mu guards what follows. Invariant: asked are the wishes that somebody
	// waits for, oldest first; want is the newest one's, or what a failed
	// one left. changed is closed, and replaced, with every new state.
	mu      sync.Mutex
	want    *entry // what shall be registered, or, once left, what was to be
	rev     int    // number of the newest wish
	asked   []wish
	left    error // why nothing shall be registered any more; nil: it shall
	state   State
	changed chan struct{}
	ctx     context.Context // of the present registration, or of the last one
}

// wish is somebody who waits for what he wants.
type wish struct {
	rev    int
	answer chan error // cap 1
}

// keep begins to keep e, and waits until it is registered. When it fails, or ctx
// ends first, nothing is left behind.
func (k *keeper) keep(ctx context.Context, e *entry) error {
	life := context.WithoutCancel(ctx)
	k.idle, k.stop = context.WithCancel(life)
	k.title = e.path()
	k.wake, k.over, k.changed = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	none, end := context.WithCancelCause(life)
	end(errPending)
	k.ctx, k.state.Err = none, errPending
	k.want, k.rev = e, 1
	mine := wish{rev: 1, answer: make(chan error, 1)}
	k.asked = []wish{mine}
	// Nobody waits for it but who unregisters; it ends when that is done, or
	// with the client.
	go k.run(life)
	select {
	case err := <-mine.answer:
		return err
	case <-ctx.Done():
		k.leave()
		return context.Cause(ctx)
	}
}

// change wants what edit makes of what was wanted before, and waits until that,
// or what somebody wanted later, is registered. When ctx ends first, it is wanted
// still.
func (k *keeper) change(ctx context.Context, edit func(now *entry) (*entry, error)) error {
	k.mu.Lock()
	if k.left != nil {
		defer k.mu.Unlock()
		return k.left
	}
	e, err := edit(k.want)
	if err != nil {
		k.mu.Unlock()
		return err
	}
	k.rev++
	k.want = e
	mine := wish{rev: k.rev, answer: make(chan error, 1)}
	k.asked = append(k.asked, mine)
	k.mu.Unlock()
	k.poke()
	select {
	case err := <-mine.answer:
		return err
	case <-ctx.Done():
		k.withdraw(mine)
		return context.Cause(ctx)
	}
}

// withdraw forgets somebody who does not wait any more, not what he wants.
func (k *keeper) withdraw(w wish) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = slices.DeleteFunc(k.asked, func(o wish) bool { return o.rev == w.rev })
}

// leave wants nothing to be registered any more. Those who still wait for
// something else are told.
func (k *keeper) leave() { k.quit(ErrUnregistered) }

// quit is leave for another reason.
func (k *keeper) quit(why error) {
	k.mu.Lock()
	if k.left == nil {
		k.left = why
	}
	rev := k.rev
	k.mu.Unlock()
	k.answer(nil, rev, why)
	k.stop()
	k.poke()
}

// leaving is leave that waits until it is done, within ctx.
func (k *keeper) leaving(ctx context.Context) error {
	k.leave()
	select {
	case <-k.over:
		if err := k.State().Err; !errors.Is(err, ErrUnregistered) {
			return err
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *keeper) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// wanted is what shall be registered, nil if nothing, and the number of the wish.
func (k *keeper) wanted() (*entry, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left != nil {
		return nil, k.rev
	}
	return k.want, k.rev
}

// latest is what was wanted last.
func (k *keeper) latest() *entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.want
}

// answer answers all wishes up to rev. If they failed and nobody wants
// something else by now, settled is wanted again, unless it is nil.
func (k *keeper) answer(settled *entry, rev int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil && settled != nil && k.rev == rev && k.left == nil {
		k.want = settled
	}
	n := 0
	for n < len(k.asked) && k.asked[n].rev <= rev {
		k.asked[n].answer <- err // has room: it gets one answer
		n++
	}
	k.asked = k.asked[n:]
}

// run keeps what is wanted registered until nothing is, or the client is closed.
// life never ends: every request is waited for, so that its outcome is known.
func (k *keeper) run(life context.Context) {
	defer close(k.over)
	t := tenure{k: k, why: ErrUnregistered}
	for {
		s, err := k.client.Session(k.idle)
		if k.idle.Err() != nil {
			if t.have == nil && t.doubt == nil {
				err = t.why // nothing of ours can be left
			} else {
				// What does not go with a session is still to be deleted,
				// and is not registered any more from now on.
				t.abandon()
				k.fall(t.why, false)
				s, err = k.client.Session(life)
			}
		}
		if err == nil {
			err = t.serve(life, s)
		}
		if err != nil {
			k.quit(err)
			k.claims.free(t.have)
			t.disarm(err)
			k.fall(err, true)
			return
		}
	}
}
