package discovery

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// Registration is an instance that is kept registered.
type Registration struct {
	registry *Registry
	keeper   *keeper
}

// Instance is what is wanted to be registered: what the last Update or Move was
// given, unless it was refused. Path and Token are those of the present
// registration, or of the last one.
func (g *Registration) Instance() Instance {
	i := g.keeper.latest().instance
	i.Payload = slices.Clone(i.Payload)
	s := g.keeper.State()
	i.Path, i.Token = s.Path, s.Token
	return i
}

// State says whether the instance is registered at the moment.
func (g *Registration) State() State { return g.keeper.State() }

// States iterates over the states: first the present one, then each newer one.
// It may skip states that passed while the loop's body ran; it never goes back.
// It ends after the unregistering, after the client's closing, or with ctx, whose
// error is the last element.
func (g *Registration) States(ctx context.Context) iter.Seq2[State, error] {
	return g.keeper.States(ctx)
}

// Context is that of the present registration: it ends when that is lost, moved
// or given back, and for what goes with a session before the servers can expire
// it; context.Cause says why. While the instance is not registered it has ended
// already. The registration that follows on a lost one has another; States tells
// of it.
func (g *Registration) Context() context.Context { return g.keeper.Context() }

// Update replaces the instance in place: its znode stays, and says something
// else. Service, ID and Type must be the same; a RegistrationTime of zero is that
// of before. It returns when the server has it, or something newer. While there
// is no connection or no session it waits, within ctx; when that ends, the update
// is wanted still, and will be registered. If the server refuses it, what was
// before stays wanted. While somebody else has the name the error wraps
// ErrConflict, and the update is registered once that one has gone.
func (g *Registration) Update(ctx context.Context, i Instance) error {
	return g.change(ctx, "update", i, func(old Instance) error {
		if i.Service == old.Service && i.ID == old.ID && i.Type == old.Type {
			return nil
		}
		return fmt.Errorf("%w: it is %s/%s (%v), and cannot become %s/%s (%v) in place",
			ErrArgument, old.Service, old.ID, old.Type, i.Service, i.ID, i.Type)
	})
}

// Move registers another instance instead, of another service as a rule, and
// takes this one away in the same transaction: whoever watches both sees it in
// one or the other, never in both. Afterwards that one is kept registered. An
// ErrConflict, or another refusal, leaves the old one registered, under another
// [Registration.Context]. A RegistrationTime of zero is that of before.
func (g *Registration) Move(ctx context.Context, service string, i Instance) error {
	i.Service = service
	return g.change(ctx, "move to", i, func(Instance) error { return nil })
}

func (g *Registration) change(ctx context.Context, op string, i Instance, allowed func(old Instance) error) error {
	r, path := g.registry, g.registry.path(i.Service, i.ID)
	e, err := r.begin(ctx, i)
	if err != nil {
		return failure(ctx, op, path, err)
	}
	err = g.keeper.change(ctx, func(now *entry) (*entry, error) {
		if err := allowed(now.instance); err != nil || !i.RegistrationTime.IsZero() {
			return e, err
		}
		next := e.instance
		next.RegistrationTime = now.instance.RegistrationTime
		return r.entry(next)
	})
	if err != nil {
		return failure(ctx, op, path, err)
	}
	return nil
}

// Unregister takes the instance away and ends the keeping. When ctx ends first,
// that goes on in the background; it ends with the client at the latest, and a
// Static or Permanent instance may then be left. Further calls wait for the same.
func (g *Registration) Unregister(ctx context.Context) error {
	if err := g.keeper.leaving(ctx); err != nil {
		return failure(ctx, "unregister", g.keeper.title, err)
	}
	return nil
}
