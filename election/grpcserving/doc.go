// Package grpcserving lets a gRPC server serve calls only while its process leads; it is
// package serving for gRPC.
//
// # What it is
//
//	leader := serving.New(election.New(client, "/data/leader", nil), nil)
//	server := grpc.NewServer(
//		grpc.UnaryInterceptor(grpcserving.UnaryServerInterceptor(leader, nil)),
//		grpc.StreamInterceptor(grpcserving.StreamServerInterceptor(leader, nil)))
//	err := leader.Serve(ctx, grpcserving.NewServer(server), listener)
//
// While this process does not lead, the interceptors refuse calls with the code
// Unavailable, and with the leader's address in the trailer [LeaderKey] if
// serving.Options has Address. [ReportHealth] makes gRPC's health service say so: clients
// with health checks and a balancing policy then use the leader only.
//
// The package is a module of its own, so that no other user of the library depends on gRPC.
//
// # Guarantees
//
// Those of package serving, for calls instead of requests: at a graceful end, the server
// admits no further call, waits for the calls and streams in progress, gives the leadership
// back, and stops gracefully; at a loss, the contexts of calls and streams end before
// another process can lead.
//
// The interceptors must be the first of their chains, so that no other interceptor works
// for a call that is refused, or after the call.
//
// # How it is lost, and how you find out
//
// The context of a call ends, and context.Cause says why. If a handler then returns the
// context's error, or the code Canceled, the client gets Aborted: the call may have done a
// part of its work. Other errors and replies of the handler are passed on.
//
// # Znodes
//
// This package has no znodes of its own; see package election.
//
// # Failures
//
// An invalid argument is an error of each call, with the code Internal.
//
// # Compatibility
//
// gRPC for Go from 1.85, the version in go.mod.
//
// # Concurrency
//
// All functions may be called from any number of goroutines.
package grpcserving
