package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/revocation"
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
		err = revocation.Ask(ctx, m.client, c.Path)
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
	err := holding.BeginHeld(ctx, h.lock != nil, "lock.Held", "lock.Mutex", ErrInvalidArgument)
	if err == nil {
		err = revocation.Await(ctx, h.ctx, h.Session(), h.Path())
	}
	if err != nil {
		return failure(ctx, "await revocation", h.lockPath(), err)
	}
	return nil
}
