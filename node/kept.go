package node

import (
	"context"
	"iter"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/keeping"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Kept is a znode that is kept in existence.
type Kept struct {
	registrant *keeping.Registrant
	toucher    *toucher // nil without a TTL
}

// The names in the panic of a zero Kept.
const keptType, keptSource = "node.Kept", "node.Node"

// mustRegistrant is the registrant; a zero Kept has none.
func (k *Kept) mustRegistrant() *keeping.Registrant {
	holding.MustBeMade(k != nil && k.registrant != nil, keptType, keptSource)
	return k.registrant
}

var _ session.Held = (*Kept)(nil)

// Path is the path of the znode, or of the last znode while none exists. In a sequential
// mode, the number changes with each creation.
func (k *Kept) Path() string { return k.mustRegistrant().State().Path }

// Data returns a copy of the data to keep: that of the last SetData, unless it was refused.
func (k *Kept) Data() []byte { return slices.Clone(k.mustRegistrant().Latest().Data) }

// State says whether the znode exists at the moment.
func (k *Kept) State() State { return stateOf(k.mustRegistrant().State()) }

// States iterates over the states: first the present state, then each newer state. The
// iteration may skip states that passed while the loop's body ran, and never goes back. It
// ends after the release, after the client was closed, or with ctx, whose error is the
// last element.
func (k *Kept) States(ctx context.Context) iter.Seq2[State, error] {
	k = receiver.OrZero(k)
	return func(yield func(State, error) bool) {
		for s, err := range k.registrant.StatesOf(ctx, packageName, keptType, keptSource) {
			if !yield(stateOf(s), err) {
				return
			}
		}
	}
}

// Context returns the context of the present znode. The context ends when the znode is
// deleted or released, and, if the znode goes with a session, before the servers can
// expire the session; context.Cause says why. While no znode exists, the context has
// ended already. The next znode has another context; States reports it.
func (k *Kept) Context() context.Context { return k.mustRegistrant().Context() }

// Token is a fencing token: the czxid of the present znode, or of the last one. The token
// grows with every creation. A znode that was taken over has the token of its creation, also
// for its other keepers: only an ephemeral or a sequential znode has one owner.
func (k *Kept) Token() int64 { return k.mustRegistrant().State().Token }

// Guard is a check for a transaction, which fails once the znode is deleted or released,
// even if it was created again by then: call Guard for each transaction. The guard of a
// znode that does not exist fails. If the znode goes with a session, the transaction must
// be one of that session ([session.Client.Session] of the client).
//
// If another client deletes the znode, and creates one of the same path before this client
// has heard of the deletion, the guard does not fail.
func (k *Kept) Guard() session.Op { return k.mustRegistrant().Guard() }

// SetData replaces the data in place, nil meaning none, whatever another client has
// written. SetData returns when the server has the data, or newer data of this Kept. If
// the data is the one that is kept already, SetData reads the znode, and writes only if
// another client has changed the data. Without a connection or a session, SetData waits
// within ctx; if ctx ends, the data stays requested, and will be set. If the server refuses
// the data, the former data stays requested. While another client has the znode, the error wraps ErrConflict, and the
// data is kept for when that znode has gone.
func (k *Kept) SetData(ctx context.Context, data []byte) error {
	k = receiver.OrZero(k)
	if err := holding.BeginHeld(ctx, k.registrant != nil, keptType, keptSource, ErrInvalidArgument); err != nil {
		return failure(ctx, "set data", "", err)
	}
	data = append([]byte{}, data...)
	err := k.registrant.ChangeEntry(ctx, func(now *keeping.Entry) (*keeping.Entry, error) {
		next := *now
		next.Data = data
		return &next, nil
	})
	if err != nil {
		return failure(ctx, "set data", k.registrant.Title(), err)
	}
	return nil
}

// Release ends the keeping, and deletes the znode, unless its mode or its children keep
// it:
//
//   - a TTL znode stays, as other processes may keep it too, and expires;
//   - a container with children stays, and goes some time after its last child;
//   - any other znode with children stays, and the error wraps session.ErrNotEmpty.
//
// A persistent znode is deleted also if it existed before Keep. If other processes keep the
// znode, too, they create it again. To let it stay, close the client without a Release.
//
// Release returns nil if the znode is gone, or goes with a session that this client has
// lost. In the second case the znode may still exist: until the client has its next
// session, in which the znode is deleted in the background, or until the servers expire
// the lost session.
//
// If ctx ends first, or no server answers for a session timeout (the error wraps
// session.ErrLost), the deletion continues in the background. If a server refuses the
// deletion, Release returns that error, such as session.ErrNoAuth, and the deletion is
// retried in the background, at least every 30 seconds. Further calls wait for the same
// deletion. If the client is closed before a server has confirmed the deletion, the error
// wraps session.ErrClosed: a znode without a session may stay.
func (k *Kept) Release(ctx context.Context) error {
	k = receiver.OrZero(k)
	if err := holding.BeginHeld(ctx, k.registrant != nil, keptType, keptSource, ErrInvalidArgument); err != nil {
		return failure(ctx, "release", "", err)
	}
	k.toucher.stop()
	if err := k.registrant.AwaitLeft(ctx); err != nil {
		return failure(ctx, "release", k.registrant.Title(), err)
	}
	return nil
}
