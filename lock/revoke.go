package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Revoke asks a contender of this lock to give the lock back, as Curator's
// Revoker.attemptRevoke does. The request replaces the contender's description (its ID), and
// stays until the contender's znode goes. A holder that does not wait for requests
// (Held.AwaitRevocation, in Java makeRevocable) ignores them: nothing is taken away.
//
// The error wraps ErrNotHeld if the contender has gone, and ErrInvalidArgument if the
// contender waits beside the queue, or contends for another lock.
func (m *Mutex) Revoke(ctx context.Context, c Contender) error {
	m = receiver.OrZero(m)
	err := m.checkCall(ctx)
	if name, below := strings.CutPrefix(c.Path, m.path+"/"); err == nil && (!below || name == "" || strings.Contains(name, "/")) {
		err = fmt.Errorf("%w: the contender %q is not in the queue of this lock", ErrInvalidArgument, c.Path)
	}
	if err == nil {
		err = m.client.Retry(ctx, func(s *session.Session) error {
			_, err := s.Set(ctx, c.Path, []byte(lockformat.RevokeData), -1)
			return err
		})
	}
	if errors.Is(err, session.ErrNoNode) {
		err = fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	if err != nil {
		return failure(ctx, "revoke", m.path, err)
	}
	return nil
}

// AwaitRevocation waits until another client asks this holder to give the lock back
// (Mutex.Revoke, or Curator's Revoker), and returns nil. The lock is held as before: release
// it when the work allows. A request that came before the call counts too; holders that hand
// the lock over within a process (Options.LocalHandover) share the requests.
//
// The call ends with the hold, with the cause of the hold's end, and with ctx.
func (h *Held) AwaitRevocation(ctx context.Context) error {
	h = receiver.OrZero(h)
	if err := holding.BeginHeld(ctx, h.lock != nil, "lock.Held", "lock.Mutex", ErrInvalidArgument); err != nil {
		return failure(ctx, "await revocation", h.lockPath(), err)
	}
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })()
	for {
		data, _, w, err := h.Session().GetW(both, h.Path())
		switch {
		case err == nil && string(data) == lockformat.RevokeData:
			w.Stop()
			return nil
		case err == nil:
			_, err = w.Wait(both)
			w.Stop()
		}
		if h.ctx.Err() != nil {
			err = context.Cause(h.ctx)
		}
		if err != nil {
			return failure(ctx, "await revocation", h.lockPath(), err)
		}
	}
}
