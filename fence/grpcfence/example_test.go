package grpcfence_test

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/grpcfence"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// A server whose calls are fenced by method, and the calls of two holds. The health service
// stands for your own.
func Example() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	byMethod := func(method string, _ any) string { return method }
	server := grpc.NewServer(grpc.UnaryInterceptor(grpcfence.UnaryServerInterceptor(&fence.Memory{}, byMethod)))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	over := make(chan error)
	// Waited for below; ends with the server.
	go func() { over <- server.Serve(listener) }()

	conn, err := grpc.NewClient(listener.Addr().String(),
		grpc.WithUnaryInterceptor(grpcfence.UnaryClientInterceptor()),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	call := func(token fence.Token) error {
		ctx := fence.NewContext(context.Background(), token)
		_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		return grpcfence.FromError(err)
	}
	fmt.Println(call(fence.Token{Epoch: 1, Number: 7}))
	fmt.Println(call(fence.Token{Epoch: 1, Number: 9}))
	fmt.Println("refused:", errors.Is(call(fence.Token{Epoch: 1, Number: 7}), fence.ErrStale))

	fmt.Println(conn.Close())
	server.GracefulStop()
	fmt.Println(<-over)
	// Output:
	// <nil>
	// <nil>
	// refused: true
	// <nil>
	// <nil>
}
