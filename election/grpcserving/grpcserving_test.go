package grpcserving_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/grpcserving"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// TestMain fails if any test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a service with a unary method and a stream: gRPC's health service, as if it
// were an application's.
type service struct {
	grpc_health_v1.UnimplementedHealthServer
	begun  chan context.Context
	finish chan error
}

// do reports that a call has begun, and returns what the test says, or the end of ctx.
func (s *service) do(ctx context.Context) error {
	s.begun <- ctx
	select {
	case err := <-s.finish:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Check is the unary method.
func (s *service) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{}, s.do(ctx)
}

// Watch is the stream.
func (s *service) Watch(_ *grpc_health_v1.HealthCheckRequest, stream grpc_health_v1.Health_WatchServer) error {
	if err := s.do(stream.Context()); err != nil {
		return err
	}
	return stream.Send(&grpc_health_v1.HealthCheckResponse{})
}

// instance is a server with its leader.
type instance struct {
	*serving.Leader
	*service
	session *session.Client
	address string
	conn    *grpc.ClientConn
	calls   grpc_health_v1.HealthClient
	stop    context.CancelFunc
	out     chan error
}

func startZooKeeper(t *testing.T) *zktest.Server {
	t.Helper()
	zookeeper, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = zookeeper.Close() })
	return zookeeper
}

func start(t *testing.T, zookeeper *zktest.Server, o serving.Options) *instance {
	t.Helper()
	i := &instance{service: &service{begun: make(chan context.Context, 10), finish: make(chan error, 10)}, out: make(chan error, 1)}
	var err error
	i.session, err = session.Connect(t.Context(), zookeeper.Addr(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.session.Close(context.Background())) })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	i.address = ln.Addr().String()
	o.Address = func(c election.Candidate) string { return c.ID }
	i.Leader = serving.New(election.New(i.session, "/data/leader", &election.Options{ID: i.address}), &o)
	gated := &grpcserving.Options{Exempt: func(string) bool { return false }}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(grpcserving.UnaryServerInterceptor(i.Leader, gated)),
		grpc.StreamInterceptor(grpcserving.StreamServerInterceptor(i.Leader, gated)))
	grpc_health_v1.RegisterHealthServer(server, i.service)
	ctx, stop := context.WithCancel(t.Context())
	i.stop = stop
	// Waited for by the tests through out; ends with ctx.
	go func() { i.out <- i.Serve(ctx, grpcserving.NewServer(server), ln) }()
	i.conn, err = grpc.NewClient(i.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = i.conn.Close() })
	i.calls = grpc_health_v1.NewHealthClient(i.conn)
	return i
}

// unary makes a call, and returns its error and its trailer.
func (i *instance) unary(ctx context.Context) (metadata.MD, error) {
	var md metadata.MD
	_, err := i.calls.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.Trailer(&md))
	return md, err
}

// stream makes a stream, and returns its error and its trailer.
func (i *instance) stream(ctx context.Context) (metadata.MD, error) {
	s, err := i.calls.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return nil, err
	}
	_, err = s.Recv()
	if err == nil {
		_, end := s.Recv()
		_ = end // io.EOF
	}
	return s.Trailer(), err
}

// admits waits until the instance admits calls, or does not.
func (i *instance) admits(t *testing.T, want bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for admits := range i.Observe(ctx) {
		if admits == want {
			return
		}
	}
	t.Fatalf("admission is not %v", want)
}

// Calls and streams are admitted by the leader only, and drain before another serves.
func TestCallsAreServedByTheLeaderAndDrain(t *testing.T) {
	for name, call := range map[string]func(i *instance, ctx context.Context) (metadata.MD, error){
		"unary": (*instance).unary, "stream": (*instance).stream,
	} {
		t.Run(name, func(t *testing.T) {
			zookeeper := startZooKeeper(t)
			a := start(t, zookeeper, serving.Options{})
			a.admits(t, true)
			b := start(t, zookeeper, serving.Options{})
			require.Eventually(t, func() bool { return b.Address() == a.address }, time.Minute, time.Millisecond)
			md, err := call(b, t.Context())
			require.Equal(t, codes.Unavailable, status.Code(err))
			require.Equal(t, []string{a.address}, md.Get(grpcserving.LeaderKey))

			ended := make(chan error, 1)
			// Waited for below; ends with the call.
			go func() {
				_, err := call(a, t.Context())
				ended <- err
			}()
			ctx := <-a.begun
			lead, ok := serving.FromContext(ctx)
			require.True(t, ok)
			require.Equal(t, a.address, lead.ID())
			a.stop()
			a.admits(t, false)
			md, err = call(a, t.Context())
			require.Equal(t, codes.Unavailable, status.Code(err))
			require.Empty(t, md.Get(grpcserving.LeaderKey), "the leader is about to end")
			require.Empty(t, a.out)
			require.Nil(t, b.Held())
			a.finish <- nil
			require.NoError(t, <-ended)
			require.NoError(t, <-a.out)
			b.admits(t, true)
			b.finish <- nil
			_, err = call(b, t.Context())
			require.NoError(t, err)
			b.stop()
			require.NoError(t, <-b.out)
			_, err = call(b, t.Context())
			require.Equal(t, codes.Unavailable, status.Code(err), "the server has stopped")
		})
	}
}

// A loss ends the contexts of calls; a handler that returns the end of its context aborts
// the call, and its own errors are passed on.
func TestLossEndsTheCalls(t *testing.T) {
	zookeeper := startZooKeeper(t)
	a := start(t, zookeeper, serving.Options{})
	for name, call := range map[string]func(i *instance, ctx context.Context) (metadata.MD, error){
		"unary": (*instance).unary, "stream": (*instance).stream,
	} {
		a.admits(t, true)
		ended := make(chan error, 1)
		// Waited for below; ends with the call.
		go func() {
			_, err := call(a, t.Context())
			ended <- err
		}()
		ctx := <-a.begun
		lead, _ := serving.FromContext(ctx)
		require.NoError(t, zookeeper.ExpireSession(lead.Session().ID()))
		require.Equal(t, codes.Aborted, status.Code(<-ended), name)
		require.ErrorIs(t, context.Cause(lead.Context()), session.ErrLost)
	}
	require.Eventually(t, func() bool { return a.Held() != nil }, time.Minute, time.Millisecond)
	a.finish <- status.Error(codes.NotFound, "no such thing")
	_, err := a.unary(t.Context())
	require.Equal(t, codes.NotFound, status.Code(err))
	<-a.begun
	// A client that goes away is not told that the leadership was lost.
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() {
		_, err := a.unary(ctx)
		ended <- err
	}()
	inside := <-a.begun
	cancel()
	require.Equal(t, codes.Canceled, status.Code(<-ended))
	<-inside.Done()
	a.stop()
	require.NoError(t, <-a.out)
}

// Exempt calls are served by all processes, and one that does not end is cut off. The health
// service says which process serves.
func TestExemptCallsAreServedByAllAndCutOff(t *testing.T) {
	zookeeper := startZooKeeper(t)
	a := start(t, zookeeper, serving.Options{})
	a.admits(t, true)
	client, err := session.Connect(t.Context(), zookeeper.Addr(), nil)
	require.NoError(t, err)
	defer client.Close(context.Background())
	standby := serving.New(election.New(client, "/data/leader", nil), &serving.Options{DrainTimeout: 20 * time.Millisecond})
	server := grpc.NewServer(
		grpc.UnaryInterceptor(grpcserving.UnaryServerInterceptor(standby, nil)),
		grpc.StreamInterceptor(grpcserving.StreamServerInterceptor(standby, nil)))
	h := health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, h)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, reported := make(chan error, 1), make(chan struct{})
	// Waited for below; ends with ctx.
	go func() { out <- standby.Serve(ctx, grpcserving.NewServer(server), ln) }()
	// Waited for below; ends with ctx.
	go func() {
		defer close(reported)
		grpcserving.ReportHealth(ctx, standby, h, "data")
	}()
	conn, err := grpc.NewClient(ln.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	checks := grpc_health_v1.NewHealthClient(conn)
	stream, err := checks.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "data"}, grpc.WaitForReady(true))
	require.NoError(t, err)
	// awaits a status of the health service
	awaits := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		for {
			r, err := stream.Recv()
			require.NoError(t, err)
			if r.GetStatus() == want {
				return
			}
		}
	}
	awaits(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	r, err := checks.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, r.GetStatus(), "the process as a whole")
	a.stop()
	require.NoError(t, <-a.out)
	awaits(grpc_health_v1.HealthCheckResponse_SERVING)
	stop()
	awaits(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	require.ErrorIs(t, <-out, serving.ErrDrainTimeout, "the stream of the health service did not end")
	<-reported
	_, err = stream.Recv()
	require.Error(t, err)
}

func TestInvalidLeaderIsAnErrorOfEachCall(t *testing.T) {
	var leader *serving.Leader
	_, err := grpcserving.UnaryServerInterceptor(leader, nil)(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/a/b"}, nil)
	require.Equal(t, codes.Internal, status.Code(err))
	require.ErrorContains(t, err, "serving.New")
	require.True(t, grpcserving.DefaultExempt("/grpc.health.v1.Health/Check"))
	require.True(t, grpcserving.DefaultExempt("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"))
	require.False(t, grpcserving.DefaultExempt("/data.Data/Set"))
}

func TestCallWhoseClientHasGoneIsNotCalledUnavailable(t *testing.T) {
	leader := serving.New(election.New(nil, "/e", nil), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := grpcserving.UnaryServerInterceptor(leader, nil)(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a/b"}, nil)
	require.Equal(t, codes.Canceled, status.Code(err))
}
