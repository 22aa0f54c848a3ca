// Package grpcresolver lets gRPC clients find servers in a discovery.Registry.
//
// # What it is
//
//	registry := discovery.NewRegistry(client, "/services", nil)
//	conn, err := grpc.NewClient("zk:///web",
//		grpc.WithResolvers(grpcresolver.NewBuilder(ctx, registry, nil)),
//		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`), ...)
//
// The package is a module of its own, so that no other user of the library
// depends on gRPC.
//
// # Guarantees
//
// A connection has the addresses of the registered instances, and receives each
// change as [discovery.Registry.Watch] does: one read per change. While
// ZooKeeper is away the addresses stay unchanged. Disabled and malformed
// instances, and instances without a port, are left out.
//
// # How it is lost, and how you find out
//
// When the registry's client is closed, or the builder's context ends, the
// addresses stay, and calls without an address fail with that error. If a
// server refuses the watch, the addresses stay as well, and the watch is
// retried. A connection that becomes idle, by gRPC's default after 30 minutes
// without a call, forgets its addresses, and needs ZooKeeper for the next call.
//
// # Znodes
//
// This package has no znodes of its own; see package discovery.
//
// # Failures
//
// A target without a service name, a nil registry and a nil context are errors of
// the first call, as usual in gRPC.
//
// # Compatibility
//
// gRPC for Go from 1.85, the version in go.mod. All balancing policies work:
// policies that use endpoints, and policies that use addresses only.
//
// # Concurrency
//
// A builder serves any number of connections. gRPC ends the goroutine of a
// connection when the connection is closed or becomes idle.
package grpcresolver
