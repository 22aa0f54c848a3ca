package rebalanser_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// queues is a handler that reports its calls.
type queues struct{ done chan string }

func (q *queues) Assigned(_ context.Context, rs []*rebalanser.Resource) error {
	q.done <- fmt.Sprintf("consumes %d queues", len(rs))
	return nil
}

func (q *queues) Revoked(_ context.Context, rs []*rebalanser.Resource) error {
	q.done <- fmt.Sprintf("has finished with %d queues", len(rs))
	return nil
}

func (q *queues) Lost(rs []*rebalanser.Resource) {
	q.done <- fmt.Sprintf("has lost %d queues", len(rs))
}

// One member owns all queues; a second member gets half of them. With StartWhenComplete,
// one call tells a member of all its new queues.
func Example() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(context.Background())
	admin := rebalanser.Open(client, "/rebalanser/orders", nil)
	if err := admin.Create(ctx); err != nil {
		panic(err)
	}
	if _, err := admin.AddResources(ctx, "orders-1", "orders-2", "orders-3", "orders-4"); err != nil {
		panic(err)
	}

	var all sync.WaitGroup
	member := func() *queues {
		q := &queues{done: make(chan string, 4)}
		// Waited for below; ends with ctx.
		all.Go(func() {
			o := &rebalanser.Options{StartWhenComplete: true}
			if err := rebalanser.New(client, "/rebalanser/orders", q, o).Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				panic(err)
			}
		})
		return q
	}
	first := member()
	fmt.Println("the first", <-first.done)
	second := member()
	fmt.Println("the first", <-first.done)
	fmt.Println("the second", <-second.done)
	stop()
	all.Wait()
	// Output:
	// the first consumes 4 queues
	// the first has finished with 2 queues
	// the second consumes 2 queues
}

// Each runs a function for each owned resource.
func ExampleEach() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(context.Background())
	admin := rebalanser.Open(client, "/rebalanser/files", nil)
	if err := admin.Create(ctx); err != nil {
		panic(err)
	}
	if _, err := admin.AddResources(ctx, "a.log", "b.log"); err != nil {
		panic(err)
	}

	begun := make(chan string, 2)
	group := rebalanser.New(client, "/rebalanser/files", rebalanser.Each(func(ctx context.Context, r *rebalanser.Resource) error {
		begun <- r.Name()
		<-ctx.Done() // finish the work in progress
		return nil
	}), nil)
	over := make(chan error)
	// Waited for below; ends with ctx.
	go func() { over <- group.Run(ctx) }()
	names := []string{<-begun, <-begun}
	slices.Sort(names)
	fmt.Println(names)
	stop()
	fmt.Println(<-over, group.State().Phase)
	// Output:
	// [a.log b.log]
	// <nil> stopped
}
