package node_test

import (
	"context"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// connected calls body with a client of a server for tests.
func connected(body func(ctx context.Context, server *zktest.Server, client *session.Client) error) {
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
	if err := body(ctx, server, client); err != nil {
		fmt.Println(err)
	}
}

// The znode says where this process listens. An operator deletes the znode, and the keeper
// creates it again, with the data of the last SetData.
func ExampleNode() {
	connected(func(ctx context.Context, server *zktest.Server, client *session.Client) error {
		kept, err := node.New(client, "/gateways/eu", session.Ephemeral, nil).Keep(ctx, []byte("10.0.0.7:80"))
		if err != nil {
			return err
		}
		defer kept.Release(context.WithoutCancel(ctx))
		if err := kept.SetData(ctx, []byte("10.0.0.8:80")); err != nil {
			return err
		}
		first := kept.Token()
		if err := server.Delete("/gateways/eu"); err != nil {
			return err
		}
		for state, err := range kept.States(ctx) {
			if err != nil {
				return err
			}
			if state.Exists && state.Token > first {
				break
			}
		}
		n, err := server.Get(kept.Path())
		fmt.Printf("%s: %s\n", n.Path, n.Data)
		return err
	})
	// Output: /gateways/eu: 10.0.0.8:80
}

// A TTL znode outlives the session of its keeper, and expires after the last keeper has
// gone: a flag that a restart of the process does not lower.
func ExampleNode_ttl() {
	connected(func(ctx context.Context, server *zktest.Server, client *session.Client) error {
		flag := node.New(client, "/maintenance/eu", session.PersistentTTL, &node.Options{TTL: 10 * time.Minute})
		kept, err := flag.Keep(ctx, []byte("disk replacement"))
		if err != nil {
			return err
		}
		if err := kept.Release(ctx); err != nil {
			return err
		}
		n, err := server.Get("/maintenance/eu")
		fmt.Printf("%s, for up to 10 minutes more\n", n.Data)
		return err
	})
	// Output: disk replacement, for up to 10 minutes more
}
