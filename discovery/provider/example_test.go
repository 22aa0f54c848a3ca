package provider_test

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/provider"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A client of a service uses its instances in turn, and sets those aside that
// fail.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(context.WithoutCancel(ctx))
	registry := discovery.NewRegistry(client, "/services", nil)
	for _, id := range []string{"a", "b"} {
		if _, err := registry.Register(ctx, discovery.Instance{Service: "web", ID: id}); err != nil {
			panic(err)
		}
	}

	p := provider.New(registry, "web", provider.RoundRobin(), &provider.Options{DownThreshold: 1})
	over := make(chan struct{})
	// Waited for below; ends with ctx.
	go func() { defer close(over); _ = p.Run(ctx) }()
	for range 4 {
		lease, err := p.Get(ctx)
		if err != nil {
			fmt.Println(err)
			break
		}
		err = call(lease.Instance())
		lease.Done(err)
		fmt.Println(lease.Instance().ID, err)
	}
	cancel()
	<-over
	// Output:
	// a connection refused
	// b <nil>
	// b <nil>
	// b <nil>
}

// call stands for the use of an instance.
func call(i discovery.Instance) error {
	if i.ID == "a" {
		return fmt.Errorf("connection refused")
	}
	return nil
}
