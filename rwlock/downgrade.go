package rwlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// errTaken is a loss that a request has found out.
var errTaken = fmt.Errorf("%w: %w", session.ErrLost, session.ErrNodeDeleted) // read only

// readerName is the znode of the reader that can take the place of the writer whose
// znode is path.
func (m *RWMutex) readerName(path string) string {
	return znode.Join(m.path, m.opts.Layout.downgraded(znode.Base(path)))
}

// Downgrade turns a write lock into a read lock, and returns the read lock.
// Readers directly behind in the queue get in, too. No writer gets in before the
// returned Held is released: one transaction replaces the writer's znode by a
// reader's znode with the same place in the queue.
//
// The contexts of h end, with the cause session.ErrReleased, before the request
// is sent. If Downgrade then fails, for example with ctx, h must still be
// released with Unlock. In particular:
//   - the error of a server that refuses (session.ErrNoAuth), or of a ctx that
//     ended before the request was sent: h is held as before, with a new Context;
//   - an error that wraps session.ErrUnknownOutcome: ctx ended while the reply
//     was in flight. Only reading is safe then, and h's Context stays ended; a
//     second Downgrade finds out;
//   - session.ErrLost: h was lost.
//
// An observer of the client sees the end of h's hold, as released, and the beginning of the
// returned hold, without a wait. A Downgrade that fails, without a loss, ends no hold.
//
// Downgrade fails with ErrNotHeld after Unlock or Downgrade, and with ErrInvalidArgument
// for a reader.
func (h *Held) Downgrade(ctx context.Context) (*Held, error) {
	h = receiver.OrZero(h)
	if err := h.checkCall(ctx, "downgrade"); err != nil {
		return nil, err
	}
	ctx, stop := session.WithoutRelease(ctx) // ctx may be one of those that end
	defer stop()
	next, err := h.downgrade(ctx)
	if err != nil {
		return nil, failure(ctx, "downgrade", h.m.path, err)
	}
	h.observed.End(nil)
	next.observed.Begin()
	return next, nil
}

// downgrade makes the reader that takes h's place. The caller reports the end of h's hold
// and the beginning of the reader's.
func (h *Held) downgrade(ctx context.Context) (*Held, error) {
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case h.kind != writer:
		return nil, fmt.Errorf("%w: it is held for reading already", ErrInvalidArgument)
	}
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	h.observed.Ending()
	hold, err := h.replaceHold(ctx)
	if err != nil {
		h.observed.Continue(h.loss())
		return nil, err
	}
	return h.readHold(ctx, hold)
}

// replaceHold replaces the writer at the server by a reader, and returns the reader's hold.
// After an error, h is what keepWriting leaves of it.
func (h *Held) replaceHold(ctx context.Context) (*session.Hold, error) {
	if err := h.endHoldContext(); err != nil {
		return nil, err
	}
	if err := h.replaceWithReader(ctx); err != nil {
		return nil, h.keepWriting(err)
	}
	hold, err := h.Session().Hold(ctx, h.heir, nil)
	switch {
	case errors.Is(err, session.ErrNoNode):
		return nil, h.keepWriting(errTaken)
	case err != nil:
		return nil, h.keepWriting(unknownOutcome(err))
	}
	return hold, nil
}

// loss is the context whose end is the loss of the lock: of the session while it is unknown
// which znode stands for the lock.
func (h *Held) loss() context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unsure {
		return h.Session().Context()
	}
	return h.hold.Context()
}

// unknownOutcome says that the reader's znode exists, or may exist.
func unknownOutcome(err error) error { return fmt.Errorf("%w: %w", session.ErrUnknownOutcome, err) }

// endHoldContext ends the contexts that promise exclusive access.
func (h *Held) endHoldContext() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.given:
		return ErrNotHeld
	case h.unsure:
		return nil // an earlier call was left without an answer
	case h.hold.Err() != nil:
		return h.hold.Err()
	}
	h.cancel(session.ErrReleased)
	return nil
}

// replaceWithReader has the server replace the writer's znode by the reader's. Its error
// wraps session.ErrUnknownOutcome if that may have happened nevertheless.
//
// Retrying the transaction is safe, since it can be carried out only once: the
// name that it deletes is never used again. When a retry is refused, for any reason, an
// earlier attempt may have been carried out: a server refuses a client without the right
// to delete before it checks whether the znode exists. The reader's znode tells whether
// that happened: the refusal arrives after everything that was proposed before the
// retry.
func (h *Held) replaceWithReader(ctx context.Context) error {
	s := h.Session()
	for lost := 0; ; {
		sent, earlier := h.sendReplacement()
		if sent == nil {
			return ErrNotHeld
		}
		_, err := sent.Wait(ctx)
		var refusal error
		switch {
		case err == nil:
			return nil
		case session.NotSent(err):
		case !errors.Is(err, session.ErrUnknownOutcome):
			if refusal = err; errors.Is(err, session.ErrNoNode) {
				refusal = errTaken
			}
			if !earlier {
				return refusal
			}
		case ctx.Err() == nil && s.Err() == nil:
			_ = s.BackOff(ctx, lost) // not as fast as the network can
			lost++
		default:
			return err
		}
		stat, found, err := s.Exists(ctx, h.heir) // waits for a connection
		switch {
		case err == nil && found && stat.EphemeralOwner == s.ID():
			return nil
		case err == nil && refusal != nil:
			return refusal
		case err != nil && (earlier || lost > 0):
			return unknownOutcome(err)
		case err != nil:
			return err
		}
	}
}

// sendReplacement sends the transaction, unless the lock was given back, and tells whether
// one was sent before. Both are decided under mu: Unlock sends its deletion behind all
// sent transactions. Nothing blocks here, since the session only puts the request into a
// buffer.
func (h *Held) sendReplacement() (sent *session.Future[[]session.Result], earlier bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.given {
		return nil, false
	}
	earlier, h.unsure = h.unsure, true
	opts := &session.CreateOptions{ACL: h.m.opts.ACL}
	return h.Session().StartTxn(session.DeleteOp(h.hold.Path(), -1),
		session.CreateOp(h.heir, h.m.opts.Data, session.Ephemeral, opts)), earlier
}

// keepWriting keeps h a writer after its downgrade has failed with err.
func (h *Held) keepWriting(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.given:
		return ErrNotHeld // Unlock came meanwhile, and takes both znodes away
	case h.Session().Err() != nil:
		return h.Session().Err()
	case errors.Is(err, errTaken):
		h.hold.End(errTaken)
	case errors.Is(err, session.ErrUnknownOutcome):
		return err
	}
	h.unsure = false
	if lost := h.hold.Err(); lost != nil {
		return lost
	}
	h.startLocked()
	return err
}

// readHold makes the reader that takes h's place.
func (h *Held) readHold(ctx context.Context, hold *session.Hold) (*Held, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.given {
		hold.End(session.ErrReleased)
		return nil, ErrNotHeld // Unlock came meanwhile, and takes both znodes away
	}
	h.given = true
	h.hold.End(session.ErrReleased)
	next := newHeld(h.m, reader, hold, h.token, h.place)
	next.observe(observing.NewHold(ctx, h.m.client, observe.ReadLock, h.m.path, next))
	h.place.held.Store(next)
	return next, nil
}
