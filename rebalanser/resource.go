package rebalanser

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
)

// Resource is a resource that this member owns.
type Resource struct {
	name  string
	token int64
	// member is a check of the client's node, and barrier is held in resource mode.
	member  session.Op
	barrier *locktable.Held
	ctx     context.Context
	end     context.CancelCauseFunc
	// released: Release was called.
	released atomic.Bool
	observed *observedHold // nil without an observer, and until the handler is told
}

var _ session.Held = (*Resource)(nil)

// Name returns the name of the resource's znode below "resources".
func (r *Resource) Name() string { return r.orZero().name }

// Context ends when the resource is not owned any more: with the cause ErrRevoked
// when the handler's Revoked has returned, with session.ErrLost and a reason when
// the resource was lost, and with ErrRevokeTimeout when the handler takes too
// long to give the resource up. After Release the cause is session.ErrReleased. The context ends before the servers can let
// another member own the resource, unless this process was paused; after a pause,
// its Err is correct as soon as the process runs again.
func (r *Resource) Context() context.Context { return r.orZero().ctx }

// Token is a fencing token: of two owners of a resource, the later owner has the
// greater token. It is the zxid of the transaction that took the barrier, or, in
// global mode, of the assignment of the generation. The protected resource can
// refuse a token below the highest that it has seen.
func (r *Resource) Token() int64 { return r.orZero().token }

// Guard is one check for a transaction, which fails once the resource is lost, revoked
// or released: s.Txn(ctx, r.Guard(), ...). The servers check that this client is
// still a member, and in resource mode that it still has the barrier; whether the
// resource was revoked or released is checked in this process, when the transaction
// begins.
func (r *Resource) Guard() session.Op {
	guard := r.orZero().member
	if r.barrier != nil {
		guard = r.barrier.Guard()
	}
	return guard.While(r.ctx)
}

// Release ends the resource's context for good, and sends no request: this member does
// not work on the resource any more. The group still assigns the resource to this
// member: no other member owns the resource, and the handler's Revoked or Lost is called
// for the resource as usual, when the group moves it or the member leaves.
//
// If the resource was lost before, the error wraps session.ErrLost; if it was revoked,
// ErrRevoked or ErrRevokeTimeout. A second call returns an error that wraps
// session.ErrReleased.
func (r *Resource) Release(ctx context.Context) error {
	const op = "release"
	switch {
	case ctx == nil:
		return failure(ctx, op, "a resource", fmt.Errorf("%w: the context is nil", ErrInvalidArgument))
	case r == nil || r.ctx == nil:
		return failure(ctx, op, "a resource", fmt.Errorf("%w: %s", ErrInvalidArgument, zeroResource))
	case r.ctx.Err() != nil:
		return failure(context.WithoutCancel(ctx), op, r.name, context.Cause(r.ctx))
	case !r.released.CompareAndSwap(false, true):
		return failure(context.WithoutCancel(ctx), op, r.name, session.ErrReleased)
	}
	hold := r.observed.beginEnd()
	r.end(session.ErrReleased)
	hold.End(nil)
	return nil
}

// zeroResource is the error text of a Resource that is nil or zero: a guard without checks
// would guard nothing.
const zeroResource = "the Resource owns nothing: get one from a Handler, or a function of Each"

// orZero panics for a Resource that is nil or zero.
func (r *Resource) orZero() *Resource {
	if r == nil || r.ctx == nil {
		panic("rebalanser: " + zeroResource)
	}
	return r
}
