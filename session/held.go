package session

import "context"

// Held is a hold of a client, which can be lost: a lock, a permit, a leadership, a seat
// in a barrier, a registration, a kept znode, a worker's id, a resource, a task. Every
// type of this module that stands for something held implements Held, so that one
// function can fence the writes of all of them, measure all of them, or give all of them
// back.
type Held interface {
	// Context ends when the hold is given back, and when it is lost, before the servers
	// can grant it to another client. The cause ([context.Cause]) wraps ErrReleased after
	// the owner gave the hold back, and ErrLost and a reason after a loss; the type
	// documents other causes.
	Context() context.Context
	// Token is a fencing token: it grows with every grant at the same path, so that a
	// protected resource can refuse a token below the highest that it has seen.
	Token() int64
	// Guard is one check for a transaction, which fails with nothing applied if the hold
	// has ended: s.Txn(ctx, held.Guard(), ...). Get s from the client that holds: some
	// types accept other sessions as well.
	Guard() Op
	// Release gives the hold back, without a claim that its work has succeeded. If the
	// hold was lost before, the error wraps ErrLost; packages that take the hold again
	// after a loss return nil. If ctx ends first, the giving back continues in the
	// background. The type documents the result of a second call, and the further
	// effects of its own verbs (Unlock, Resign, Leave, ...).
	Release(ctx context.Context) error
}
