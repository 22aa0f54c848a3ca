package grpcfence

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/fence"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// FromIncomingContext returns the token of a call, for a server. The error wraps
// fence.ErrNoToken if the call has none, and fence.ErrInvalidArgument if it has several, or
// an invalid one.
func FromIncomingContext(ctx context.Context) (fence.Token, error) {
	switch values := metadata.ValueFromIncomingContext(ctx, Key); len(values) {
	case 0:
		return fence.Token{}, fmt.Errorf("grpcfence: %w: send the metadata %s", fence.ErrNoToken, Key)
	case 1:
		token, err := fence.ParseToken(values[0])
		if err != nil {
			return fence.Token{}, fmt.Errorf("grpcfence: metadata %s: %w", Key, err)
		}
		return token, nil
	default:
		return fence.Token{}, fmt.Errorf("grpcfence: metadata %s: %w: the key must appear once, got %d", Key, fence.ErrInvalidArgument, len(values))
	}
}

// UnaryServerInterceptor runs the handler in checker.Do, with the token of the call, and
// returns the errors of the package documentation if the token is refused. resource returns
// the name of the resource that a request writes; a call with the name "" is passed on
// without a check. The context of the handler has the token, for fence.FromContext, and is
// derived from the context that Do passes on.
//
// The function that the interceptor passes to Do returns the error of the handler: a Checker
// that is a transaction rolls back. The error of Do is the error of the call.
//
// An invalid argument is an error of each call, with the code Internal.
func UnaryServerInterceptor(checker fence.Checker, resource func(method string, req any) string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, call *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if checker == nil || resource == nil {
			return nil, status.Error(codes.Internal, "grpcfence: UnaryServerInterceptor: checker or resource is nil")
		}
		name := resource(call.FullMethod, req)
		if name == "" {
			return handle(ctx, req)
		}
		token, err := FromIncomingContext(ctx)
		if err != nil {
			return nil, ToError(err)
		}
		var reply any
		called := false
		err = checker.Do(ctx, name, token, func(ctx context.Context) error {
			called = true
			var err error
			reply, err = handle(fence.NewContext(ctx, token), req)
			return err
		})
		switch err := ToError(err); {
		case err == nil:
			return reply, nil
		case called || isStatus(err):
			return nil, err
		case ctx.Err() != nil:
			return nil, status.FromContextError(ctx.Err()).Err()
		default:
			return nil, status.Error(codes.Unavailable, "grpcfence: the check of the token could not be made; nothing was written")
		}
	}
}

// isStatus reports whether err has a code of gRPC.
func isStatus(err error) bool {
	_, ok := status.FromError(err)
	return ok
}
