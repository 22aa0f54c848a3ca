package discoverycmd

import (
	"context"
	"iter"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/discovery"
)

// registration is a registration that the library keeps over lost sessions.
type registration interface {
	State() discovery.State
	States(context.Context) iter.Seq2[discovery.State, error]
}

// holdRegistered makes a hold of a registration; end ends the registration.
func holdRegistered(ctx context.Context, a *app, g registration, what string, vars []string, end func(context.Context) error) *supervise.Hold {
	return supervise.HoldRenewed(ctx, a.App, supervise.Renewed{
		Name: what, Again: "is registered again", Away: "is temporarily not registered",
		Vars: vars, End: end, Path: func() string { return g.State().Path },
		States: supervise.RenewedStates(g.States, func(s discovery.State) supervise.RenewedState {
			return supervise.RenewedState{Exists: s.Registered, Token: s.Token, Err: s.Err}
		}),
	}, g.State().Token)
}
