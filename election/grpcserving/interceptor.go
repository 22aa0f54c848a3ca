package grpcserving

import (
	"context"
	"errors"
	"strings"

	"github.com/zkrecipes/zkrecipes/election/serving"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// LeaderKey is the key of the trailer with the leader's address of a call that was refused.
const LeaderKey = "leader-address"

// Options of the interceptors; nil and the zero value mean all defaults.
type Options struct {
	// Exempt reports whether calls of a method, such as "/grpc.health.v1.Health/Check", are
	// served by all processes, with a context without a leadership. Default:
	// [DefaultExempt].
	Exempt func(method string) bool
}

// DefaultExempt exempts the health service and the reflection service of gRPC.
func DefaultExempt(method string) bool {
	return strings.HasPrefix(method, "/grpc.health.") || strings.HasPrefix(method, "/grpc.reflection.")
}

func (o *Options) isExempt(method string) bool {
	if o == nil || o.Exempt == nil {
		return DefaultExempt(method)
	}
	return o.Exempt(method)
}

// UnaryServerInterceptor refuses calls while leader does not admit them. The context of the
// handler is that of serving.Leader.Admit. o may be nil.
func UnaryServerInterceptor(leader *serving.Leader, o *Options) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, call *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if o.isExempt(call.FullMethod) {
			return handle(ctx, req)
		}
		admitted, done, err := leader.Admit(ctx)
		if err != nil {
			// It fails only without a transport, as in tests of handlers.
			_ = grpc.SetTrailer(ctx, trailer(leader))
			return nil, refusal(ctx, err)
		}
		defer done()
		reply, err := handle(admitted, req)
		return reply, result(ctx, admitted, err)
	}
}

// StreamServerInterceptor is UnaryServerInterceptor for streams: a stream is admitted at
// its begin, and is in progress until its handler returns.
func StreamServerInterceptor(leader *serving.Leader, o *Options) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, call *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if o.isExempt(call.FullMethod) {
			return handle(srv, stream)
		}
		ctx := stream.Context()
		admitted, done, err := leader.Admit(ctx)
		if err != nil {
			stream.SetTrailer(trailer(leader))
			return refusal(ctx, err)
		}
		defer done()
		return result(ctx, admitted, handle(srv, admittedStream{stream, admitted}))
	}
}

// admittedStream is a stream with the context of its admission. Messages that are received
// and sent wait for the client also after the end of that context; the handler must look
// at the context.
type admittedStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context is that of the admission.
func (s admittedStream) Context() context.Context { return s.ctx }

// trailer has the leader's address, if it is known.
func trailer(leader *serving.Leader) metadata.MD {
	if address := leader.Address(); address != "" {
		return metadata.Pairs(LeaderKey, address)
	}
	return nil
}

// refusal is the error of a call that was not admitted.
func refusal(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, serving.ErrInvalidArgument):
		return status.Error(codes.Internal, err.Error())
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Error(codes.Unavailable, serving.ErrNotLeading.Error())
}

// result is the error of a call whose handler has returned err.
func result(ctx, admitted context.Context, err error) error {
	isEnd := status.Code(err) == codes.Canceled || errors.Is(err, context.Canceled)
	if err != nil && isEnd && ctx.Err() == nil && admitted.Err() != nil {
		return status.Error(codes.Aborted, "this instance stopped leading during the call")
	}
	return err
}
