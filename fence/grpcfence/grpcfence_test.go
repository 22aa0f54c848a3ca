package grpcfence_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/grpcfence"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestMain fails if any test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// at is a token of epoch 1.
func at(number int64) fence.Token { return fence.Token{Epoch: 1, Number: number} }

// setMethod is the method of the service in this test, which sets a value.
const setMethod = "/test.Data/Set"

// data is a value in memory.
type data struct {
	// mu guards the fields.
	mu    sync.Mutex
	value string
	seen  fence.Token // of the handler's context
	err   error       // of the handler
}

func (d *data) set(ctx context.Context, value string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.value = value
	d.seen, _ = fence.FromContext(ctx)
	return d.err
}

func (d *data) get() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.value
}

// service describes a service with one method, and one stream that sets each value it gets,
// each with a check of its own.
func (d *data) service(tokens *fence.Memory) *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "test.Data",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Set", Handler: func(_ any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
			in := &wrapperspb.StringValue{}
			if err := dec(in); err != nil {
				return nil, err
			}
			handle := func(ctx context.Context, req any) (any, error) {
				return in, d.set(ctx, req.(*wrapperspb.StringValue).GetValue())
			}
			if interceptor == nil {
				return handle(ctx, in)
			}
			return interceptor(ctx, in, &grpc.UnaryServerInfo{FullMethod: setMethod}, handle)
		}}},
		Streams: []grpc.StreamDesc{{StreamName: "SetAll", ClientStreams: true, ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			token, err := grpcfence.FromIncomingContext(stream.Context())
			for err == nil {
				in := &wrapperspb.StringValue{}
				if err = stream.RecvMsg(in); err != nil {
					break
				}
				err = tokens.Do(stream.Context(), "data", token, func(ctx context.Context) error { return d.set(ctx, in.GetValue()) })
				if err == nil {
					err = stream.SendMsg(in)
				}
			}
			return grpcfence.ToError(err)
		}}},
	}
}

// resource is the resource of each call, but of those that ask not to be fenced.
func resource(_ string, req any) string {
	if strings.HasPrefix(req.(*wrapperspb.StringValue).GetValue(), "unfenced") {
		return ""
	}
	return "data"
}

// serve serves d and returns the address.
func serve(t *testing.T, d *data, tokens *fence.Memory, o ...grpc.ServerOption) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(o...)
	server.RegisterService(d.service(tokens), d)
	over := make(chan error, 1)
	// Waited for by the clean-up; ends with the server.
	go func() { over <- server.Serve(l) }()
	t.Cleanup(func() { server.Stop(); require.NoError(t, <-over) })
	return l.Addr().String()
}

// fenced is the option of a server with an interceptor.
func fenced(c fence.Checker) grpc.ServerOption {
	return grpc.UnaryInterceptor(grpcfence.UnaryServerInterceptor(c, resource))
}

// dial makes a connection that sends tokens.
func dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpcfence.UnaryClientInterceptor()), grpc.WithStreamInterceptor(grpcfence.StreamClientInterceptor()))
}

func connect(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := dial(address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// set calls the method, with a token unless it is zero.
func set(ctx context.Context, conn *grpc.ClientConn, token fence.Token, value string) error {
	if !token.IsZero() {
		ctx = fence.NewContext(ctx, token)
	}
	return conn.Invoke(ctx, setMethod, wrapperspb.String(value), &wrapperspb.StringValue{})
}

func TestALowerTokenIsRefusedWithBothTokens(t *testing.T) {
	var d data
	conn := connect(t, serve(t, &d, nil, fenced(&fence.Memory{})))
	require.NoError(t, set(t.Context(), conn, at(5), "five"))
	require.Equal(t, at(5), d.seen, "the handler has the token")
	require.NoError(t, set(t.Context(), conn, at(6), "six"))
	err := set(t.Context(), conn, at(5), "too late")
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	require.ErrorContains(t, err, "token 1-5 is lower than 1-6")
	require.Equal(t, &fence.StaleError{Resource: "data", Token: at(5), Highest: at(6)}, grpcfence.FromError(err))
	require.ErrorIs(t, grpcfence.FromError(err), fence.ErrStale)
	require.Equal(t, "six", d.get())
}

func TestACallWithoutAValidTokenIsRefused(t *testing.T) {
	var d data
	conn := connect(t, serve(t, &d, nil, fenced(&fence.Memory{})))
	err := set(t.Context(), conn, fence.Token{}, "x")
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	require.ErrorIs(t, grpcfence.FromError(err), fence.ErrNoToken)
	require.NotErrorIs(t, grpcfence.FromError(err), fence.ErrStale)
	for _, values := range [][]string{{""}, {"5"}, {"1-0"}, {"1-5", "1-6"}} {
		ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{grpcfence.Key: values})
		err = set(ctx, conn, fence.Token{}, "x")
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%q", values)
		require.ErrorContains(t, err, "metadata fencing-token")
	}
	require.Equal(t, codes.InvalidArgument, status.Code(set(t.Context(), conn, fence.Token{Epoch: 1}, "x")), "not sent")
	require.Empty(t, d.get())
	require.NoError(t, set(t.Context(), conn, fence.Token{}, "unfenced"))
	require.Equal(t, "unfenced", d.get())
}

func TestTheTokenReplacesOtherMetadataOfItsKeyOnly(t *testing.T) {
	var d data
	conn := connect(t, serve(t, &d, nil, fenced(&fence.Memory{})))
	md := metadata.MD{grpcfence.Key: {"1-1"}, "other": {"kept"}}
	require.NoError(t, set(metadata.NewOutgoingContext(t.Context(), md), conn, at(5), "five"))
	require.Equal(t, at(5), d.seen)
	require.Equal(t, []string{"1-1"}, md.Get(grpcfence.Key), "the caller's metadata is not changed")
}

// checker is a Checker that does what a test wants.
type checker func(write func() error) error

func (c checker) Do(ctx context.Context, _ string, _ fence.Token, write func(context.Context) error) error {
	return c(func() error { return write(ctx) })
}

func TestErrorsOfHandlerAndCheckerAreToldApart(t *testing.T) {
	errDisk := errors.New("secret disk")
	for name, c := range map[string]struct {
		checker fence.Checker
		handler error
		code    codes.Code
	}{
		"handler":         {&fence.Memory{}, status.Error(codes.NotFound, "no such thing"), codes.NotFound},
		"handler's fence": {&fence.Memory{}, fence.Check("inner", at(1), at(2)), codes.FailedPrecondition},
		"check not made":  {checker(func(func() error) error { return errDisk }), nil, codes.Unavailable},
		"commit failed":   {checker(func(write func() error) error { return errors.Join(write(), errDisk) }), nil, codes.Unknown},
		"no checker":      {nil, nil, codes.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			d := data{err: c.handler}
			err := set(t.Context(), connect(t, serve(t, &d, nil, fenced(c.checker))), at(5), "x")
			require.Equal(t, c.code, status.Code(err), "%v", err)
			if c.code == codes.Unavailable {
				require.NotContains(t, err.Error(), "secret")
				require.Empty(t, d.get())
			}
		})
	}
	require.NoError(t, grpcfence.FromError(nil))
	require.NoError(t, grpcfence.ToError(nil))
	require.Equal(t, errDisk, grpcfence.FromError(errDisk))
	require.Equal(t, errDisk, grpcfence.ToError(errDisk))
}

// The token of a stream is sent at its begin, and checked for each message.
func TestEachMessageOfAStreamIsChecked(t *testing.T) {
	var d data
	tokens := &fence.Memory{}
	conn := connect(t, serve(t, &d, tokens, fenced(tokens)))
	stream, err := conn.NewStream(fence.NewContext(t.Context(), at(5)), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/test.Data/SetAll")
	require.NoError(t, err)
	require.NoError(t, stream.SendMsg(wrapperspb.String("five")))
	require.NoError(t, stream.RecvMsg(&wrapperspb.StringValue{}))
	require.Equal(t, "five", d.get())
	require.NoError(t, set(t.Context(), conn, at(6), "six"))
	require.NoError(t, stream.SendMsg(wrapperspb.String("too late")))
	require.ErrorIs(t, grpcfence.FromError(stream.RecvMsg(&wrapperspb.StringValue{})), fence.ErrStale)
	require.Equal(t, "six", d.get())
	_, err = conn.NewStream(fence.NewContext(t.Context(), fence.Token{}), &grpc.StreamDesc{}, "/test.Data/SetAll")
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}
