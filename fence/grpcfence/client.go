package grpcfence

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/fence"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Key is the key of the token in the metadata.
const Key = "fencing-token"

// UnaryClientInterceptor sends the token of a call's context, as set by fence.NewContext.
// Calls without a token are sent unchanged. An invalid token is an error with the code
// InvalidArgument; nothing is sent then.
func UnaryClientInterceptor() grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
		ctx, err := outgoing(ctx)
		if err != nil {
			return err
		}
		return invoke(ctx, method, req, reply, conn, o...)
	}
}

// StreamClientInterceptor is [UnaryClientInterceptor] for streams: the token is sent once, at
// the begin.
func StreamClientInterceptor() grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
		ctx, err := outgoing(ctx)
		if err != nil {
			return nil, err
		}
		return stream(ctx, desc, conn, method, o...)
	}
}

// outgoing returns ctx with the metadata of its token, which replaces any other.
func outgoing(ctx context.Context) (context.Context, error) {
	token, ok := fence.FromContext(ctx)
	if !ok {
		return ctx, nil
	}
	if err := token.Validate(); err != nil {
		return nil, ToError(err)
	}
	md, _ := metadata.FromOutgoingContext(ctx) // a copy
	if md == nil {
		md = metadata.MD{}
	}
	md.Set(Key, token.String())
	return metadata.NewOutgoingContext(ctx, md), nil
}

// The details of a status.
const (
	domain      = "zkrecipes"
	reasonStale = "STALE_FENCING_TOKEN"
	reasonNone  = "NO_FENCING_TOKEN"
)

// ToError returns the status error of an error of package fence, for a handler to return, and
// err itself if it is nil, or does not wrap fence.ErrStale, fence.ErrNoToken or
// fence.ErrInvalidArgument.
func ToError(err error) error {
	info := &errdetails.ErrorInfo{Domain: domain}
	var stale *fence.StaleError
	switch {
	case errors.As(err, &stale):
		info.Reason = reasonStale
		info.Metadata = map[string]string{"resource": stale.Resource, "token": stale.Token.String(), "highest": stale.Highest.String()}
	case errors.Is(err, fence.ErrNoToken):
		info.Reason = reasonNone
	case errors.Is(err, fence.ErrInvalidArgument):
		return status.Error(codes.InvalidArgument, err.Error())
	default:
		return err
	}
	plain := status.New(codes.FailedPrecondition, err.Error())
	detailed, failed := plain.WithDetails(info)
	if failed != nil {
		return plain.Err()
	}
	return detailed.Err()
}

// FromError returns, for the error of a call, a *fence.StaleError if the server has refused
// the token, an error that wraps fence.ErrNoToken if the server requires one, and err
// otherwise.
func FromError(err error) error {
	for _, detail := range status.Convert(err).Details() {
		info, ok := detail.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != domain {
			continue
		}
		switch info.GetReason() {
		case reasonNone:
			return fmt.Errorf("%w: %w", fence.ErrNoToken, err)
		case reasonStale:
			stale := &fence.StaleError{Resource: info.GetMetadata()["resource"]}
			var errToken, errHighest error
			stale.Token, errToken = fence.ParseToken(info.GetMetadata()["token"])
			stale.Highest, errHighest = fence.ParseToken(info.GetMetadata()["highest"])
			if errToken == nil && errHighest == nil {
				return stale
			}
		}
	}
	return err
}
