package grpcresolver_test

import (
	"context"
	"fmt"
	"net"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/grpcresolver"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// A server that registers itself, and a client that finds it by the service's name.
func Example() {
	zookeeper, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer zookeeper.Close()
	ctx := context.Background()
	client, err := session.Connect(ctx, zookeeper.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	registry := discovery.NewRegistry(client, "/services", nil)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	over := make(chan error)
	// Waited for below; ends with the server.
	go func() { over <- server.Serve(listener) }()
	registration, err := registry.Register(ctx, discovery.Instance{
		Service: "web", ID: "web-1", Address: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port,
	})
	if err != nil {
		panic(err)
	}

	conn, err := grpc.NewClient("zk:///web",
		grpc.WithResolvers(grpcresolver.NewBuilder(ctx, registry, nil)),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	fmt.Println(answer.GetStatus(), err)

	fmt.Println(conn.Close(), registration.Unregister(ctx)) // first off the list, then gone
	server.GracefulStop()
	fmt.Println(<-over)
	// Output:
	// SERVING <nil>
	// <nil> <nil>
	// <nil>
}
