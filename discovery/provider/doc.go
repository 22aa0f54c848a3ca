// Package provider picks an instance of a service from the instances that are
// registered in a discovery.Registry.
//
// # What it is
//
//	p := provider.New(registry, "web", provider.RoundRobin(), nil)
//	go p.Run(ctx) // keeps the list up to date; the caller owns the goroutine
//
//	lease, err := p.Get(ctx)
//	if err != nil {
//		return err
//	}
//	err = call(ctx, lease.Instance())
//	lease.Done(err)
//
// A [Provider] keeps a local list of instances, leaves out instances that are
// disabled, malformed, filtered out or down, and lets a [Picker] choose among
// the rest.
//
// # Guarantees
//
//   - Get sends no request. Get waits only until the list has been loaded
//     once.
//   - While ZooKeeper is away the list stays unchanged; [Provider.Status]
//     reports its age.
//   - An instance is set aside for [Options.DownFor] after
//     [Options.DownThreshold] failures without a success between. If all
//     instances are set aside, they are used nevertheless.
//   - The failures of an instance are forgotten when the instance registers
//     again.
//
// # How it is lost, and how you find out
//
// An instance that goes is not picked any more as soon as the list shows the
// change; present users of the instance are not told. [Provider.Run] returns
// when the list cannot be kept up to date any more, and Get then fails. Get
// does not fail only because ZooKeeper is away, or because the context of Run
// has ended: see Status.
//
// # Znodes
//
// This package has no znodes of its own; see package discovery.
//
// # Failures
//
// Errors wrap ErrNoInstance, ErrInvalidArgument, the context's error and cause, or an
// error of package session.
//
// # Compatibility
//
// The defaults for setting aside are those of Curator's DownInstancePolicy, and
// the pickers include Curator's strategies.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. A picker belongs to
// one provider, which calls it from one goroutine at a time.
package provider
