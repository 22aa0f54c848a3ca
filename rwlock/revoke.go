package rwlock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/revocation"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Revoke asks a contender of this lock, one of Contenders, to give the lock back, as Curator's
// Revoker.attemptRevoke does. The request replaces the contender's description (its ID), and
// stays until the contender's znode goes: a writer that is downgraded afterwards has another
// znode, without the request. A holder that does not wait for requests (Held.AwaitRevocation,
// in Java makeRevocable of readLock or writeLock) ignores them: nothing is taken away. A
// waiting writer waits for all readers, so ask each of them.
//
// The error wraps ErrNotHeld if the contender has gone or was downgraded, and
// ErrInvalidArgument if c has no name of a contender.
func (m *RWMutex) Revoke(ctx context.Context, c Contender) error {
	m = receiver.OrZero(m)
	err := m.checkCall(ctx)
	if err == nil && (c.Name == "" || strings.Contains(c.Name, "/")) {
		err = fmt.Errorf("%w: the contender's name is %q; it must be that of one of Contenders", ErrInvalidArgument, c.Name)
	}
	if err == nil {
		err = revocation.Ask(ctx, m.client, znode.Join(m.path, c.Name))
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
// (RWMutex.Revoke, or Curator's Revoker), and returns nil. The lock is held as before: release
// it, or downgrade it, when the work allows. A request that came before the call counts too.
//
// The call ends with the hold, with the cause of the hold's end, also when the hold is
// downgraded; and with ctx.
func (h *Held) AwaitRevocation(ctx context.Context) error {
	h = receiver.OrZero(h)
	const op = "await revocation"
	if err := h.checkCall(ctx, op); err != nil {
		return err
	}
	if err := revocation.Await(ctx, h.Context(), h.Session(), h.Path()); err != nil {
		return failure(ctx, op, h.m.path, err)
	}
	return nil
}
