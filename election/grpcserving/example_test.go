package grpcserving_test

import (
	"context"
	"fmt"
	"net"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/grpcserving"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// A server whose calls only the leader serves, and whose health service says so.
func Example() {
	zookeeper, err := zktest.Start(nil) // in production: an ensemble
	if err != nil {
		panic(err)
	}
	defer zookeeper.Close()
	ctx, stop := context.WithCancel(context.Background()) // signal.NotifyContext in a program
	client, err := session.Connect(ctx, zookeeper.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(context.WithoutCancel(ctx))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}

	leader := serving.New(election.New(client, "/data/leader", nil), nil)
	server := grpc.NewServer(
		grpc.UnaryInterceptor(grpcserving.UnaryServerInterceptor(leader, nil)),
		grpc.StreamInterceptor(grpcserving.StreamServerInterceptor(leader, nil)))
	status := health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, status)
	reported, served := make(chan struct{}), make(chan error)
	// Waited for below; ends with ctx.
	go func() {
		defer close(reported)
		grpcserving.ReportHealth(ctx, leader, status, "data")
	}()
	// Waited for below; ends with ctx.
	go func() { served <- leader.Serve(ctx, grpcserving.NewServer(server), listener) }()

	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	following, cancel := context.WithCancel(ctx)
	watch, err := grpc_health_v1.NewHealthClient(conn).Watch(following, &grpc_health_v1.HealthCheckRequest{Service: "data"}, grpc.WaitForReady(true))
	if err != nil {
		panic(err)
	}
	for {
		r, err := watch.Recv()
		if err != nil {
			panic(err)
		}
		if r.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING {
			fmt.Println("it leads, and serves")
			break
		}
	}
	cancel()
	_ = conn.Close()

	stop() // drains, gives the leadership back, and stops gracefully
	fmt.Println(<-served)
	<-reported
	// Output:
	// it leads, and serves
	// <nil>
}
