package keeping

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

// longestRefusal is how long a deletion that a server refuses waits at most before it
// is repeated.
const longestRefusal = 30 * time.Second

// errGone: our znode does not exist any more, or another znode has its name by now.
var errGone = fmt.Errorf("%w: %w", session.ErrLost, session.ErrNodeDeleted)

// registrar keeps the entry registered in one session after the other.
type registrar struct {
	k               *Registrant
	s               *session.Session
	have            *place // the present registration
	unseen          bool   // have is known from an earlier session: see recognizeOwn
	settled         *Entry // the entry that was registered last
	pendingCreation *Entry // may have been created in a session that is over
	// formers are the znodes that lost sessions have left; races counts the attempts
	// in a row to replace a former znode that failed, as other clients created znodes
	// at the same moment; and caughtUp says that reads in s see the writes of the lost
	// sessions.
	formers  []*formerNode
	races    int
	caughtUp bool
	// open: a write of a znode that outlives sessions got no answer, and may yet be
	// carried out; late is until when, if its session was given up over it.
	open bool
	late time.Time
	why  error // the error when nothing is wanted any more
	// refusals counts the removals in a row that a server has refused.
	refusals int
	// unconfirmed: the client was closed before a removal was answered.
	unconfirmed error

	// The watching over have: watching says that it has begun in this session.
	watching bool
	watch    *session.Watch  // for have's deletion; nil once watched by a hold
	hold     *session.Hold   // of a znode that goes with the session
	ctx      context.Context // of the registration
	end      context.CancelCauseFunc

	reports
}

// serveSession keeps the wanted entry registered in s. It returns nil when s is over,
// and otherwise the reason why nothing is left to do.
func (t *registrar) serveSession(ctx context.Context, s *session.Session) error {
	t.beginSession(s)
	t.wait(time.Until(t.late), nil)
	for s.Err() == nil {
		want, rev := t.k.wanted()
		if want == nil {
			t.k.beginRemoval()
		}
		err := t.advanceTo(ctx, want)
		var conflict *conflictError
		switch {
		case s.Err() != nil:
			// The session has ended, which explains err, whatever err is.
		case err == nil && want == nil && len(t.formers) > 0:
			t.pauseFor(t.racePause())
		case err == nil && want == nil:
			return t.why
		case err == nil:
			t.onRegistered(ctx, want, rev)
			t.awaitChange()
		case errors.Is(err, errGone):
			t.forgetOwn(err)
		case errors.As(err, &conflict):
			t.onConflict(ctx, conflict, want, rev)
		case t.k.idle.Err() != nil && want != nil:
			// Our waiting was ended: no entry is wanted any more.
		default:
			if want == nil {
				t.onRemovalRefused(err)
				continue
			}
			t.onRefused(ctx, err, want, rev)
		}
	}
	t.leaveSession()
	t.reportEnd(t.unconfirmed)
	return nil
}

// beginSession goes on in s.
func (t *registrar) beginSession(s *session.Session) {
	t.s, t.caughtUp, t.races, t.unseen = s, false, 0, t.have != nil
	t.k.cfg.Owned.addSession(s.ID())
}

// advanceTo takes the steps that lead to want.
func (t *registrar) advanceTo(ctx context.Context, want *Entry) error {
	if want == nil && t.pendingCreation.stays() {
		t.pendingCreation = nil
	}
	if t.pendingCreation != nil {
		if err := t.resolvePendingCreation(ctx); err != nil {
			return err
		}
	}
	for {
		if err := t.givenUp(want); err != nil {
			return err
		}
		var err error
		switch nextStep(t.have, want) {
		case stepNothing:
			if want != nil {
				if err := t.watchOwn(ctx); err != nil {
					return err
				}
			}
			return t.deleteFormers(ctx)
		case stepCreate:
			err = t.createOwn(ctx, want)
		case stepSet:
			err = t.setData(ctx, want)
		case stepConfirm:
			err = t.confirmData(ctx, want)
		case stepMove:
			err = t.moveTo(ctx, want)
		case stepRemove:
			err = t.deleteOwn(ctx)
		}
		if err != nil {
			return err
		}
		t.open = false
	}
}

// onRegistered handles that want is registered. If the first call has given up at the same
// moment, the entry will not be wanted any more: a znode that existed before stays.
func (t *registrar) onRegistered(ctx context.Context, want *Entry, rev int) {
	if t.settled == nil && !t.k.decideWait() {
		return
	}
	t.settled, t.have.adopted = want, false
	t.reportRegistered(ctx)
	t.k.answerRequests(nil, rev, nil)
}

// givenUp is not nil if want is not wanted any more: a further step towards it would
// follow the return of the call that has given up.
func (t *registrar) givenUp(want *Entry) error {
	if want == nil {
		return nil
	}
	return t.k.idle.Err()
}

// noteUnanswered notes that a write that changes have, or creates want, got no answer.
func (t *registrar) noteUnanswered(want *Entry) {
	t.open = want != nil && !want.Ephemeral() || t.have != nil && !t.have.entry.Ephemeral()
}

// forgetOwn handles that have has gone.
func (t *registrar) forgetOwn(why error) {
	t.stopWatching(why)
	t.k.cfg.Owned.release(t.have)
	t.have = nil
	t.k.setUnregistered(why, false)
	t.reportEnd(why)
}

// onRefused handles a server's refusal of a registration.
func (t *registrar) onRefused(ctx context.Context, err error, want *Entry, rev int) {
	if t.settled == nil {
		t.why = err
		t.k.endRegistration(err)
		return
	}
	if want != t.settled {
		t.rejectRequest(ctx, rev, err)
		return // the former registration is next
	}
	t.k.answerRequests(t.settled, rev, err)
	t.k.setUnregistered(err, false)
	t.pauseFor(pauseAfterRefusal)
}

// onRemovalRefused handles a server's refusal to delete have. The caller gets the
// error, and the deletion is repeated until have is gone, or goes with its session: the
// rights may come back, and no other client will delete the znode then.
func (t *registrar) onRemovalRefused(err error) {
	err = fmt.Errorf("%w (the deletion is retried in the background)", err)
	t.k.setUnregistered(fmt.Errorf("%w, but its znode still exists: %w", t.why, err), false)
	t.reportEnd(err)
	t.k.refuseLeavers(err)
	t.pauseFor(min(time.Second<<min(t.refusals, 5), longestRefusal))
	t.refusals++
}

// rejectRequest answers a request with err. The previous entry is wanted again: the
// caller that gets the answer finds that entry registered, with a context that lives,
// if its znode still exists.
func (t *registrar) rejectRequest(ctx context.Context, rev int, err error) {
	if t.have != nil {
		_ = t.watchOwn(ctx) // if it fails, the next step retries it
	} else {
		t.k.setUnregistered(err, false) // the znode of the move, if it exists, is not known
	}
	t.k.answerRequests(t.settled, rev, err)
}
