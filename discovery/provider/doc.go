// Package provider picks an instance of a service to use, out of those that are
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
// A [Provider] has the list of instances at hand, leaves out those that are
// disabled, malformed, filtered out or down, and lets a [Picker] choose among the
// rest.
//
// # Guarantees
//
//   - Get asks nothing of a server; it waits only until the list has been loaded
//     once.
//   - While ZooKeeper is away the list stays as it was; [Provider.Status] has its
//     age.
//   - An instance whose uses fail is set aside for a while: after
//     [Options.DownThreshold] failures without a success between, for
//     [Options.DownFor]. If all are, they are used nevertheless: a list of
//     suspects is better than none.
//   - What failed is forgotten when the instance registers anew.
//
// # How it is lost, and how you find out
//
// An instance that goes is not picked any more as soon as the list says so; who
// uses it already is not told. [Provider.Run] returns when the list cannot be kept
// up to date any more, and Get fails then. It does not only because ZooKeeper is
// away, or the context of Run has ended: Status tells.
//
// # Znodes
//
// None of its own; see package discovery.
//
// # Failures
//
// Errors wrap ErrNoInstance, ErrArgument, the context's error and cause, or an
// error of package session.
//
// # Compatibility
//
// The defaults of setting aside are those of Curator's DownInstancePolicy, and the
// pickers have Curator's strategies among them.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. A picker is called by
// one at a time for each provider, and belongs to one provider.
package provider
