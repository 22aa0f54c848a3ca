package election_test

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// lead runs plan in one process at a time, until ctx ends.
func lead(ctx context.Context, client *session.Client) error {
	return election.New(client, "/election/scheduler", nil).Run(ctx, func(ctx context.Context, l *election.Leadership) error {
		return plan(ctx, l.Token()) // this ctx ends before another process can lead
	})
}

// plan stands for the work of the leader.
func plan(ctx context.Context, token int64) error {
	fmt.Println("leads:", ctx.Err() == nil, "token:", token > 0)
	return nil
}

// The function of README.md.
func Example_readme() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	fmt.Println(lead(ctx, client))
	// Output:
	// leads: true token: true
	// <nil>
}
