package grpcserving

import (
	"context"
	"net"

	"github.com/zkrecipes/zkrecipes/election/serving"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// NewServer makes a server for serving.Leader.Serve. Its Shutdown is s.GracefulStop, which
// waits for all calls, also exempt ones, within its context; its Close is s.Stop.
func NewServer(s *grpc.Server) serving.Server { return &server{s} }

type server struct{ s *grpc.Server }

// Serve serves the connections of ln.
func (s *server) Serve(ln net.Listener) error { return s.s.Serve(ln) }

// Shutdown stops gracefully, unless ctx ends first.
func (s *server) Shutdown(ctx context.Context) error {
	stopped := make(chan struct{})
	// Waited for below; after the end of ctx, Close ends it.
	go func() {
		defer close(stopped)
		s.s.GracefulStop()
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends all calls.
func (s *server) Close() error {
	s.s.Stop()
	return nil
}

// ReportHealth sets the status of a service in h: SERVING while leader admits calls, and
// NOT_SERVING otherwise, also at the end. The service "" is the server as a whole.
// ReportHealth blocks until ctx ends; the caller owns the goroutine.
func ReportHealth(ctx context.Context, leader *serving.Leader, h *health.Server, service string) {
	defer h.SetServingStatus(service, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	for admits := range leader.Observe(ctx) {
		now := grpc_health_v1.HealthCheckResponse_NOT_SERVING
		if admits {
			now = grpc_health_v1.HealthCheckResponse_SERVING
		}
		h.SetServingStatus(service, now)
	}
}
