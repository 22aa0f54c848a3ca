package discovery

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/keeping"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Registration is a kept registration of an instance.
type Registration struct {
	registry   *Registry
	registrant *keeping.Registrant
}

// The names in the panic of a zero Registration.
const registrationType, registrationSource = "discovery.Registration", "discovery.Registry"

// mustRegistrant is the registrant; a zero Registration has none.
func (g *Registration) mustRegistrant() *keeping.Registrant {
	holding.MustBeMade(g != nil && g.registrant != nil, registrationType, registrationSource)
	return g.registrant
}

var _ session.Held = (*Registration)(nil)

// Instance returns the requested instance: the argument of the last Update or
// Move, unless it was refused. Path and Token are of the present registration, or of
// the last one.
func (g *Registration) Instance() Instance {
	i := g.mustRegistrant().Latest().Subject.(Instance)
	i.Payload = slices.Clone(i.Payload)
	s := g.registrant.State()
	i.Path, i.Token = s.Path, s.Token
	return i
}

// State says whether the instance is registered at the moment.
func (g *Registration) State() State { return stateOf(g.mustRegistrant().State()) }

// States iterates over the states: first the present state, then each newer
// state. The iteration may skip states that passed while the loop's body ran, and
// never goes back. It ends after the unregistering, after the client was closed,
// or with ctx, whose error is the last element.
func (g *Registration) States(ctx context.Context) iter.Seq2[State, error] {
	g = receiver.OrZero(g)
	return states(ctx, g.registrant, registrationType, registrationSource)
}

// Context returns the context of the present registration. The context ends when
// the registration is lost, moved or given back, and, if the instance goes with a
// session, before the servers can expire the session; context.Cause says why.
// While the instance is not registered, the context has ended already. The
// registration after a loss has another context; States reports it.
func (g *Registration) Context() context.Context { return g.mustRegistrant().Context() }

// Token is a fencing token: the czxid of the znode of the present registration, or of
// the last one. The token grows with every registration of the path, also after a
// loss.
func (g *Registration) Token() int64 { return g.mustRegistrant().State().Token }

// Guard is a check for a transaction, which fails once the registration is lost, moved
// or given back, even if the instance is registered again by then: call Guard for each
// transaction. The guard of an instance that is not registered at the moment fails.
//
// Unless the instance is Static or Permanent, the transaction must be one of the
// session in which the instance is registered ([session.Client.Session] of the
// registry's client): in another session, the check could meet the znode of another
// instance that has the name by then. If an administrator deletes the znode, and another
// instance registers under the name before this client has heard of the deletion, the
// guard does not fail.
func (g *Registration) Guard() session.Op { return g.mustRegistrant().Guard() }

// Update replaces the instance in place: its znode stays, with new data. Service,
// ID and Type must be the same; a zero RegistrationTime keeps the former time.
// Update returns when the server has the instance, or something newer. An update
// without a change reads the znode, and writes only if another client has written into
// the znode. Without a connection or a session, Update waits within ctx; if ctx ends,
// the update stays requested, and will be registered. If the server refuses the update,
// the former instance stays requested. While another instance has the name, the error
// wraps ErrConflict, and the update is registered once the other instance has gone.
func (g *Registration) Update(ctx context.Context, i Instance) error {
	g = receiver.OrZero(g)
	return g.change(ctx, "update", i, func(old Instance) error {
		if i.Service == old.Service && i.ID == old.ID && i.Type == old.Type {
			return nil
		}
		return fmt.Errorf("%w: it is %s/%s (%v), and cannot become %s/%s (%v) in place",
			ErrInvalidArgument, old.Service, old.ID, old.Type, i.Service, i.ID, i.Type)
	})
}

// Move registers another instance instead, usually of another service, and
// removes this instance in the same transaction: a client that watches both
// services sees the instance in one of them, never in both. Afterwards the new
// instance is kept registered. After an ErrConflict, or another refusal, the old
// instance stays registered, under another [Registration.Context]. A zero
// RegistrationTime keeps the former time.
func (g *Registration) Move(ctx context.Context, service string, i Instance) error {
	g = receiver.OrZero(g)
	i.Service = service
	return g.change(ctx, "move to", i, func(Instance) error { return nil })
}

func (g *Registration) change(ctx context.Context, op string, i Instance, allowed func(old Instance) error) error {
	if err := holding.BeginHeld(ctx, g.registrant != nil, registrationType, registrationSource, ErrInvalidArgument); err != nil {
		return failure(ctx, op, "", err)
	}
	r, path := g.registry, g.registry.path(i.Service, i.ID)
	e, err := r.newEntry(ctx, i)
	if err != nil {
		return failure(ctx, op, path, err)
	}
	err = g.registrant.ChangeEntry(ctx, func(now *keeping.Entry) (*keeping.Entry, error) {
		was := now.Subject.(Instance)
		if err := allowed(was); err != nil || !i.RegistrationTime.IsZero() {
			return e, err
		}
		next := e.Subject.(Instance)
		next.RegistrationTime = was.RegistrationTime
		return r.makeEntry(next)
	})
	if err != nil {
		return failure(ctx, op, path, err)
	}
	return nil
}

// Unregister removes the instance and ends the keeping. Unregister returns nil if
// the znode is gone, or goes with a session that this client has lost. In the second
// case the instance may still be listed: until the client has its next session, in
// which the znode is deleted in the background, or until the servers expire the lost
// session. [session.Client.Close] does not wait for that deletion.
//
// If ctx ends first, or no server answers for a session timeout (the error wraps
// session.ErrLost), the removal continues in the background. If a server refuses
// the removal, Unregister returns that error, such as session.ErrNoAuth, and the
// removal is retried in the background, at least every 30 seconds; until it
// succeeds, State says why the instance is still listed, and Register of the same
// name waits. Further calls wait for the same removal, and start a retry of a
// refused removal.
//
// If the client is closed before a server has confirmed the removal, the error
// wraps session.ErrClosed. The instance may then be listed until its session
// expires, and a Static or Permanent instance stays.
func (g *Registration) Unregister(ctx context.Context) error {
	g = receiver.OrZero(g)
	if err := holding.BeginHeld(ctx, g.registrant != nil, registrationType, registrationSource, ErrInvalidArgument); err != nil {
		return failure(ctx, "unregister", "", err)
	}
	if err := g.registrant.AwaitLeft(ctx); err != nil {
		return failure(ctx, "unregister", g.registrant.Title(), err)
	}
	return nil
}

// Release is Unregister, by the name that everything held shares; see [session.Held].
// The result is that of Unregister: nil after a loss, too.
func (g *Registration) Release(ctx context.Context) error { return g.Unregister(ctx) }
