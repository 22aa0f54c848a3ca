package discovery_test

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// connected calls body with a client of a server for tests.
func connected(body func(ctx context.Context, client *session.Client) error) {
	ctx := context.Background()
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	if err := body(ctx, client); err != nil {
		fmt.Println(err)
	}
}

// An instance is registered for as long as the server serves, over lost sessions as
// well; the clients that use it watch the service.
func ExampleRegistry() {
	connected(func(ctx context.Context, client *session.Client) error {
		registry := discovery.NewRegistry(client, "/services", nil)
		reg, err := registry.Register(ctx, discovery.Instance{
			Service: "web", ID: "web-1", Address: "10.0.0.7", Port: 8080, URISpec: "{scheme}://{address}:{port}/",
		})
		if err != nil {
			return err
		}
		for instances, err := range registry.Watch(ctx, "web") {
			if err != nil {
				return err
			}
			fmt.Println(len(instances), "instances")
			if len(instances) == 0 {
				break
			}
			uri, err := instances[0].BuildURI(nil)
			if err != nil {
				return err
			}
			fmt.Println(uri)
			if err := reg.Unregister(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	// Output:
	// 1 instances
	// http://10.0.0.7:8080/
	// 0 instances
}

// A worker becomes the coordinator in one transaction: it is in one registry or
// the other, never in both.
func ExampleRegistration_Move() {
	connected(func(ctx context.Context, client *session.Client) error {
		registry := discovery.NewRegistry(client, "/services", nil)
		reg, err := registry.Register(ctx, discovery.Instance{Service: "workers", ID: "n1", Address: "10.0.0.7", Port: 8080})
		if err != nil {
			return err
		}
		if err := reg.Move(ctx, "coordinators", reg.Instance()); err != nil {
			return err
		}
		for _, service := range []string{"workers", "coordinators"} {
			instances, err := registry.Instances(ctx, service)
			if err != nil {
				return err
			}
			fmt.Println(service, len(instances))
		}
		return reg.Unregister(ctx)
	})
	// Output:
	// workers 0
	// coordinators 1
}

// Members of a group come and go, and know of each other.
func ExampleGroup() {
	connected(func(ctx context.Context, client *session.Client) error {
		group := discovery.NewGroup(client, "/members", nil)
		for _, id := range []string{"b", "a"} {
			if _, err := group.Join(ctx, id, []byte("on "+id)); err != nil {
				return err
			}
		}
		members, err := group.Members(ctx)
		for _, m := range members {
			fmt.Printf("%s: %s\n", m.ID, m.Data)
		}
		return err
	})
	// Output:
	// b: on b
	// a: on a
}
