// Package grpcresolver lets gRPC clients find servers in a discovery.Registry.
//
// # What it is
//
//	registry := discovery.NewRegistry(client, "/services", nil)
//	conn, err := grpc.NewClient("zk:///web",
//		grpc.WithResolvers(grpcresolver.NewBuilder(ctx, registry, nil)),
//		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`), ...)
//
// It is a module of its own, so that who does not use gRPC need not have it.
//
// # Guarantees
//
// A connection has the addresses of the instances that are registered, and hears
// of each change as [discovery.Registry.Watch] does: one read per change. While
// ZooKeeper is away the addresses stay as they were. Disabled and malformed
// instances, and those without a port, are left out.
//
// # How it is lost, and how you find out
//
// When the registry's client is closed, or the builder's context ends, the addresses
// stay, and calls that have none fail with that error. If a server refuses the
// watching, they stay as well, and it is tried again. A connection that becomes idle,
// by gRPC's default after 30 minutes without a call, forgets them, and needs ZooKeeper
// for the next call.
//
// # Znodes
//
// None of its own; see package discovery.
//
// # Failures
//
// A target that names no service is an error of the first call, as gRPC has it.
//
// # Compatibility
//
// gRPC for Go from 1.85, the version in go.mod. Any balancing policy will do: those that
// know endpoints, and those that know addresses only.
//
// # Concurrency
//
// A builder serves any number of connections. The goroutine of each is gRPC's to
// end: it does when the connection is closed or becomes idle.
package grpcresolver
