package rebalanser

import (
	"context"

	"github.com/zkrecipes/zkrecipes/session"
)

// Resource is something that this member owns for a while.
type Resource struct {
	name  string
	token int64
	guard []session.Op
	ctx   context.Context
	end   context.CancelCauseFunc
}

// Name is the name of its znode below "resources".
func (r *Resource) Name() string { return r.name }

// Context ends when the resource is not owned any more: with the cause ErrRevoked
// when the handler's Revoked has returned, with session.ErrLost and a reason when it
// was lost, and with ErrRevokeTimeout when the handler takes too long to give it up.
// It ends before the servers can let anybody else own it, unless this process itself
// was paused; then its Err tells the truth as soon as the process runs again.
func (r *Resource) Context() context.Context { return r.ctx }

// Token is a fencing token: of two owners of a resource, the later one has the
// greater. It is the zxid of the transaction in which the barrier was taken, or, in
// global mode, in which the generation was assigned that brought it. Whatever the
// resource protects can refuse a token below one that it has seen.
func (r *Resource) Token() int64 { return r.token }

// Guard are checks for a transaction, which then fails if the resource is lost, and,
// in resource mode, if it has been given up: session.Txn(ctx, append(r.Guard(),
// ...)...). In global mode it fails once this client is no member any more. It is of no
// use after the handler's Revoked has returned: in resource mode it could pass again
// if the resource is removed, added again, and taken by somebody else.
func (r *Resource) Guard() []session.Op {
	return append([]session.Op(nil), r.guard...)
}

// lasting is a context that ends with another, which looks at the clock whenever it
// is asked: so does this one.
type lasting struct {
	context.Context
	cancel context.CancelCauseFunc
	hold   context.Context
}

// last makes ctx, which cancel ends, look at that of hold: of the client's node, or of
// a resource.
func last(ctx context.Context, cancel context.CancelCauseFunc, hold interface{ Context() context.Context }) context.Context {
	return lasting{ctx, cancel, hold.Context()}
}

func (l lasting) Err() error {
	if l.hold.Err() != nil {
		l.cancel(context.Cause(l.hold))
	}
	return l.Context.Err()
}
