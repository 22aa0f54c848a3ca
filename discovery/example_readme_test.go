package discovery_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
)

// announce registers an instance of the service web, until ctx ends.
func announce(ctx context.Context, client *session.Client) error {
	registry := discovery.NewRegistry(client, "/services", nil)
	r, err := registry.Register(ctx, discovery.Instance{Service: "web", ID: "web-1", Address: "10.0.0.7", Port: 8080})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return r.Unregister(context.WithoutCancel(ctx))
}

// The function of README.md.
func Example_readme() {
	connected(func(ctx context.Context, client *session.Client) error {
		serving, stop := context.WithCancel(ctx)
		defer stop()
		over := make(chan error, 1)
		// Waited for below; ends with serving.
		go func() { over <- announce(serving, client) }()
		for instances, err := range discovery.NewRegistry(client, "/services", nil).Watch(ctx, "web") {
			if err != nil {
				return err
			}
			if len(instances) == 1 {
				fmt.Println(instances[0].Address, instances[0].Port)
				break
			}
		}
		stop()
		if err := <-over; !errors.Is(err, context.Canceled) { // Register may not have returned yet
			return err
		}
		return nil
	})
	// Output: 10.0.0.7 8080
}
