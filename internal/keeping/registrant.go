package keeping

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// errPending is the reason why an entry that was just requested is not registered.
var errPending = errors.New("not registered yet")

// Registrant keeps one entry registered, in whatever session the client has. Only its
// goroutine talks to the server; callers make requests, and wait until these are
// carried out.
type Registrant struct {
	cfg   Config
	title string // in errors: the path that was first asked for

	kind     observe.Kind
	observer observe.Observer // may be nil
	waiting  *observing.Wait  // the wait of the first call; nil if it is not reported

	wake chan struct{}      // cap 1: there is something new to do
	idle context.Context    // ends when the entry is to be removed, and with it all waiting
	stop context.CancelFunc // ends idle
	over chan struct{}      // closed when nothing is kept any more, and it is known why

	// mu guards the fields below. Invariant: requests has the requests that callers
	// wait for, oldest first; want is the entry of the newest request, or the entry
	// that a failed request left. changes signals changes of state. decided says that the
	// first call has succeeded or given up.
	mu          sync.Mutex
	want        *Entry // the entry to register, or, once left, the last that was to be registered
	rev         int    // number of the newest request
	requests    []request
	leftBecause error // why nothing shall be registered any more; nil: it shall
	tries       int   // how many removals have begun
	decided     bool
	leavers     []*leaver
	state       State
	changes     await.Changes
	ctx         context.Context // of the present registration, or of the last one
	guard       session.Op      // of the same registration, not yet bound to ctx
}

// request is a call that waits until its entry is registered.
type request struct {
	rev    int
	answer chan error // cap 1
}

// leaver is a call that waits for the removal, or for the refusal of a removal that
// began after the call.
type leaver struct {
	tries   int        // Registrant.tries when the call began
	refused chan error // cap 1
}

// keepRegistered begins to keep e, and waits until it is registered. When it fails, or ctx
// ends first, nothing is left behind.
func (k *Registrant) keepRegistered(ctx context.Context, e *Entry) error {
	life := context.WithoutCancel(ctx)
	k.idle, k.stop = context.WithCancel(life)
	k.title = e.Path()
	k.wake, k.over = make(chan struct{}, 1), make(chan struct{})
	none, end := context.WithCancelCause(life)
	end(errPending)
	k.ctx, k.state.Err = none, errPending
	k.want, k.rev = e, 1
	mine := request{rev: 1, answer: make(chan error, 1)}
	k.requests = []request{mine}
	// Only calls that unregister wait for its removal. It ends when that is done and
	// lost sessions have left nothing behind, or with the client.
	go k.run(life)
	select {
	case err := <-mine.answer:
		return err
	case <-ctx.Done():
		if !k.decideWait() {
			return <-mine.answer // registered: the answer follows
		}
		conflict := k.State().Err
		k.beginLeaving()
		if errors.Is(conflict, k.cfg.Words.Conflict) {
			return fmt.Errorf("%w while waiting: %w", context.Cause(ctx), conflict)
		}
		return context.Cause(ctx)
	}
}

// ChangeEntry requests the entry that edit makes of the latest requested one, and waits
// until that entry, or one requested later, is registered. When ctx ends first, the
// request stays.
func (k *Registrant) ChangeEntry(ctx context.Context, edit func(now *Entry) (*Entry, error)) error {
	ctx, stop := session.WithoutRelease(ctx) // ctx may be that of the registration
	defer stop()
	k.mu.Lock()
	if k.leftBecause != nil {
		defer k.mu.Unlock()
		return k.leftBecause
	}
	e, err := edit(k.want)
	if err != nil {
		k.mu.Unlock()
		return err
	}
	k.rev++
	k.want = e
	mine := request{rev: k.rev, answer: make(chan error, 1)}
	k.requests = append(k.requests, mine)
	k.mu.Unlock()
	k.wakeUp()
	select {
	case err := <-mine.answer:
		return err
	case <-ctx.Done():
		k.withdrawRequest(mine)
		return context.Cause(ctx)
	}
}

// withdrawRequest removes a request whose caller does not wait any more; its entry
// stays wanted.
func (k *Registrant) withdrawRequest(w request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.requests = slices.DeleteFunc(k.requests, func(o request) bool { return o.rev == w.rev })
}

// beginLeaving requests that nothing is registered any more. Callers that still wait
// for another request get an error.
func (k *Registrant) beginLeaving() { k.endRegistration(k.cfg.Words.Unregistered) }

// endRegistration is beginLeaving for another reason.
func (k *Registrant) endRegistration(why error) {
	k.mu.Lock()
	if k.leftBecause == nil {
		k.leftBecause = why
	}
	rev := k.rev
	k.mu.Unlock()
	k.answerRequests(nil, rev, why)
	k.stop()
	k.wakeUp()
}

// AwaitLeft waits until the removal is done, or refused, within ctx.
func (k *Registrant) AwaitLeft(ctx context.Context) error {
	ctx, stop := session.WithoutRelease(ctx) // ctx may be that of the registration
	defer stop()
	ctx, cancel := k.cfg.Client.GiveBackContext(ctx)
	defer cancel()
	l := &leaver{refused: make(chan error, 1)}
	k.mu.Lock()
	l.tries = k.tries
	k.leavers = append(k.leavers, l)
	k.mu.Unlock()
	k.beginLeaving()
	select {
	case <-k.over:
	case err := <-l.refused:
		return err
	case <-ctx.Done():
		k.mu.Lock()
		k.leavers = slices.DeleteFunc(k.leavers, func(o *leaver) bool { return o == l })
		k.mu.Unlock()
	}
	if err := await.Closed(ctx, k.over); err != nil {
		return err
	}
	if err := k.State().Err; !errors.Is(err, k.cfg.Words.Unregistered) {
		return err
	}
	return nil
}

// beginRemoval counts a removal that begins now.
func (k *Registrant) beginRemoval() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tries++
}

// refuseLeavers returns err, which ended the present removal, to the calls that began
// before that removal. A later call gets a removal of its own: the rights may have come
// back since this one was refused.
func (k *Registrant) refuseLeavers(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.leavers = slices.DeleteFunc(k.leavers, func(l *leaver) bool {
		if l.tries >= k.tries {
			return false
		}
		l.refused <- err // has room: it gets one answer
		return true
	})
}

// hasLeft reports whether nothing shall be registered any more.
func (k *Registrant) hasLeft() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.leftBecause != nil
}

func (k *Registrant) wakeUp() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// wanted returns the entry to register, or nil, and the number of its request.
func (k *Registrant) wanted() (*Entry, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leftBecause != nil {
		return nil, k.rev
	}
	return k.want, k.rev
}

// Latest returns the entry that was requested last.
func (k *Registrant) Latest() *Entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.want
}

// answerRequests answers all requests up to rev. If they failed and no newer request
// has come, settled is wanted again, unless it is nil.
func (k *Registrant) answerRequests(settled *Entry, rev int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil && settled != nil && k.rev == rev && k.leftBecause == nil {
		k.want = settled
	}
	n := 0
	for n < len(k.requests) && k.requests[n].rev <= rev {
		k.requests[n].answer <- err // has room: it gets one answer
		n++
	}
	k.requests = k.requests[n:]
}

// run keeps the wanted entry registered until none is wanted, or the client is closed.
// life never ends: every request is waited for, so that its outcome is known.
func (k *Registrant) run(life context.Context) {
	t := registrar{k: k, why: k.cfg.Words.Unregistered}
	err := k.serveSessions(life, &t)
	k.endRegistration(err)
	k.cfg.Owned.release(t.have)
	t.stopWatching(err)
	t.reportEnd(nil)
	k.setUnregistered(err, true)
	close(k.over)
	t.deleteFormersUntilGone(life)
}

// serveSessions registers in one session after the other until nothing is left to
// register; it returns the reason.
func (k *Registrant) serveSessions(life context.Context, t *registrar) error {
	for {
		s, err := k.cfg.Client.Session(k.idle)
		if k.idle.Err() != nil {
			if t.have.stays() && t.pendingCreation.stays() {
				// No znode of ours can be left that is to be deleted, except znodes of a lost session, unless
				// the client was closed before the servers confirmed the removal.
				if t.unconfirmed != nil {
					return t.unconfirmed
				}
				return t.why
			}
			// A znode that does not go with a session is still to be deleted, and
			// is not registered any more from now on.
			t.endWatching()
			k.setUnregistered(t.why, false)
			s, err = k.cfg.Client.Session(life)
		}
		if err == nil {
			err = t.serveSession(life, s)
		}
		if err != nil {
			return err
		}
	}
}
