// Package grpcfence carries fencing tokens over gRPC: clients send them, and servers refuse
// late writes.
//
// # What it is
//
// The client puts the token of its hold into the context of its calls:
//
//	conn, err := grpc.NewClient(target, grpc.WithUnaryInterceptor(grpcfence.UnaryClientInterceptor()), ...)
//	...
//	ctx = fence.NewContext(ctx, token)
//	_, err = reports.NewReportsClient(conn).Set(ctx, request)
//	if errors.Is(grpcfence.FromError(err), fence.ErrStale) {
//		return // another client holds
//	}
//
// The server checks the token and runs the handler as one step:
//
//	server := grpc.NewServer(grpc.UnaryInterceptor(grpcfence.UnaryServerInterceptor(&tokens, resource)))
//
// where resource returns the name of the resource that a request writes, and "" for methods
// that are not fenced. A handler that writes to a database gets the token from
// [FromIncomingContext], calls Guard of package sqlfence in its transaction, and returns
// ToError(err). So does the handler of a stream, for each message that writes: one check at
// the begin of a stream would let later messages through, and a step for the whole stream
// would let a frozen client keep all others waiting. Therefore there is no interceptor for
// the server's streams.
//
// The package is a module of its own, so that no other user of the library depends on gRPC.
//
// # Guarantees
//
// [UnaryServerInterceptor] runs the handler in the Do method of a fence.Checker: no handler
// whose token has passed the check writes behind the handler of a higher token of the same
// resource. See fence.Memory for what it remembers. The interceptor gets whole requests, and
// its response is sent after Do: a frozen client keeps no other client waiting.
//
// # How it is lost, and how you find out
//
//	FailedPrecondition  the token is lower than the highest seen, or the call has none;
//	                    gRPC's clients do not retry this code
//	InvalidArgument     the metadata is not one valid token
//	Unavailable         the check could not be made; retry
//
// The details of the status tell a refused token: an ErrorInfo with the domain "zkrecipes",
// the reason STALE_FENCING_TOKEN or NO_FENCING_TOKEN, and both tokens. [FromError] turns it
// into a *fence.StaleError.
//
// # Znodes
//
// None; see package fence.
//
// # Failures
//
// The errors are fence.ErrStale, fence.ErrNoToken and fence.ErrInvalidArgument.
//
// # Compatibility
//
// gRPC for Go from 1.85, the version in go.mod. The metadata is fencing-token:
// <epoch>-<number>, both decimal: the header of package httpfence.
//
// # Concurrency
//
// All functions may be used from any number of goroutines. No goroutine is started.
package grpcfence
