package discovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// pauseAfterRefusal is how long a registration that a server refuses waits
// before it is tried again.
const pauseAfterRefusal = 5 * time.Second

// errGone: our znode is not there, or is another one by now.
var errGone = fmt.Errorf("%w: %w", session.ErrLost, session.ErrNodeDeleted)

// conflictError is somebody else's node under our name.
type conflictError struct {
	path  string
	owner int64 // session; 0 if the node goes with none
	// former: it is our own, of a session that this process has lost. The
	// servers delete it by themselves. We do not: between our look at it and
	// our deletion, or in the same transaction, it may have gone and another
	// one's have come.
	former bool
	watch  *session.Watch // for its deletion; may be nil
	// hidden: servers from 3.9.3 on tell nothing of it to who may not read it, nor
	// when it goes.
	hidden bool
}

// hiddenPause is how long a node that cannot be watched is left alone before its name
// is tried again.
const hiddenPause = 5 * time.Second

func (e *conflictError) Error() string {
	if e.hidden {
		return fmt.Sprintf("%v: %s may not be read by this client", ErrConflict, e.path)
	}
	return fmt.Sprintf("%v: %s belongs to session %#x", ErrConflict, e.path, e.owner)
}

func (e *conflictError) Unwrap() error { return ErrConflict }

// tenure is the keeping in one session after the other.
type tenure struct {
	k       *keeper
	s       *session.Session
	have    *place // what is registered
	settled *entry // what was registered last
	doubt   *entry // its creation in a session that is over may have happened
	// open: a write about what goes with no session got no answer, and may yet be
	// carried out; late is until when, if its session was given up over it.
	open bool
	late time.Time
	why  error // what to say when nothing is wanted any more

	// The watching over have: armed says that it has begun in this session.
	armed bool
	watch *session.Watch  // for have's deletion; nil once armed over a hold
	hold  *session.Hold   // of what goes with the session
	ctx   context.Context // of the registration
	end   context.CancelCauseFunc
}

// serve keeps what is wanted registered in s. It returns nil when s is over, and
// otherwise why there is nothing more to do.
func (t *tenure) serve(ctx context.Context, s *session.Session) error {
	t.s = s
	t.k.claims.use(s.ID())
	t.wait(time.Until(t.late), nil)
	for s.Err() == nil {
		want, rev := t.k.wanted()
		err := t.advance(ctx, want)
		var conflict *conflictError
		switch {
		case s.Err() != nil:
			// Whatever it was, that is why.
		case err == nil && want == nil:
			return t.why
		case err == nil:
			t.settled = want
			t.k.answer(nil, rev, nil)
			t.rest()
		case errors.Is(err, errGone):
			t.forget(err)
		case errors.As(err, &conflict):
			t.yield(ctx, conflict, want, rev)
		case t.k.idle.Err() != nil && want != nil:
			// Our waiting was ended: nothing is wanted any more.
		default:
			if want == nil {
				return err // it cannot be deleted
			}
			t.refused(ctx, err, want, rev)
		}
	}
	t.leaveSession()
	return nil
}

// advance takes the steps that lead to want.
func (t *tenure) advance(ctx context.Context, want *entry) error {
	if t.doubt != nil {
		if err := t.resolve(ctx); err != nil {
			return err
		}
	}
	for {
		var err error
		switch next(t.have, want) {
		case stepNothing:
			if want == nil {
				return nil
			}
			return t.arm(ctx)
		case stepCreate:
			err = t.create(ctx, want)
		case stepSet:
			err = t.set(ctx, want)
		case stepMove:
			err = t.move(ctx, want)
		case stepRemove:
			err = t.remove(ctx)
		}
		if err != nil {
			return err
		}
		t.open = false
	}
}

// unanswered notes that a write that changes have, or makes want, got no answer.
func (t *tenure) unanswered(want *entry) {
	t.open = want != nil && !want.ephemeral() || t.have != nil && !t.have.entry.ephemeral()
}

// forget is what follows when have has gone.
func (t *tenure) forget(why error) {
	t.disarm(why)
	t.k.claims.free(t.have)
	t.have = nil
	t.k.fall(why, false)
}

// leaveSession is what follows when the session is over.
func (t *tenure) leaveSession() {
	if t.open && !errors.Is(t.s.Err(), session.ErrExpired) {
		// The servers may keep the session that we gave up, and a request of it
		// that got stuck, for a timeout and a tick. It depends on a name or a
		// version at most: by then that could be another one's, or what we shall
		// have unregistered.
		t.late = time.Now().Add(t.s.Timeout() * 3 / 2)
	}
	t.open = false
	if t.doubt != nil && t.doubt.ephemeral() {
		t.doubt = nil // it has gone with the session, or will
	}
	if t.have != nil && t.have.entry.ephemeral() {
		t.forget(t.s.Err())
		return
	}
	t.disarm(nil)
	if t.have == nil {
		t.k.fall(t.s.Err(), false)
	}
}

// yield is what follows when somebody else has the name.
func (t *tenure) yield(ctx context.Context, c *conflictError, want *entry, rev int) {
	defer stop(c.watch)
	if t.have == nil {
		t.k.fall(c, false)
	}
	first := t.settled == nil
	switch {
	case c.former, first && t.k.opts.Wait:
		// It goes, sooner or later, and who asks has the time to wait.
	case first:
		t.why = c
		t.k.quit(c)
		return
	case !want.samePlace(t.settled):
		t.reject(ctx, rev, c)
		return
	default:
		// Ours was gone for a moment, and somebody else has come. What we
		// want is remembered, for when that one goes.
		t.k.answer(nil, rev, c)
	}
	var changed <-chan struct{}
	if c.watch != nil {
		changed = c.watch.Done()
	}
	var again <-chan time.Time
	if c.hidden {
		timer := time.NewTimer(hiddenPause)
		defer timer.Stop()
		again = timer.C
	}
	gone := t.s.Context().Done()
	if t.hold != nil {
		gone = t.hold.Context().Done()
	}
	select {
	case <-changed:
	case <-again:
	case <-t.k.wake:
	case <-gone:
		t.lost()
	}
}

// refused is what follows when a server does not let us.
func (t *tenure) refused(ctx context.Context, err error, want *entry, rev int) {
	if t.settled == nil {
		t.why = err
		t.k.quit(err)
		return
	}
	if want != t.settled {
		t.reject(ctx, rev, err)
		return // what was there before is next
	}
	t.k.answer(t.settled, rev, err)
	t.k.fall(err, false)
	t.pause(pauseAfterRefusal)
}

// reject answers a wish with err. What was there before is wanted again: whoever
// gets the answer finds it registered, with a context that lives, if it still is.
func (t *tenure) reject(ctx context.Context, rev int, err error) {
	if t.have != nil {
		_ = t.arm(ctx) // in vain it is tried again, as part of going on
	}
	t.k.answer(t.settled, rev, err)
}

// pause waits for d, for another wish or the session's end. Who calls it looks
// next at what is wanted.
func (t *tenure) pause(d time.Duration) { t.wait(d, t.k.wake) }

// calm waits before a request is repeated that has cost lost+1 connections: not at
// all after the first, and then longer each time, since it may be what the servers
// cut connections for. A wish that comes meanwhile does not wake it: the wake would
// be used up in the middle of something, and rest would not hear of the wish.
func (t *tenure) calm(lost int) {
	if lost > 0 {
		t.wait(min(50*time.Millisecond<<min(lost, 7), pauseAfterRefusal), nil)
	}
}

func (t *tenure) wait(d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-t.s.Context().Done():
	}
}
