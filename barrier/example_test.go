package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// connect makes a server and a client for an example.
func connect() (*session.Client, func()) {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	client, err := session.Connect(context.Background(), server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	return client, func() {
		_ = client.Close(context.Background())
		_ = server.Close()
	}
}

// Three workers go through the phases of a job together.
func ExampleBarrier() {
	client, done := connect()
	defer done()
	ctx := context.Background()
	phase := barrier.New(client, "/jobs/7/phase", 3, nil)
	var workers sync.WaitGroup
	for i := range 3 {
		// Waited for below; ends after two phases.
		workers.Go(func() {
			for range 2 {
				round, err := phase.Await(ctx)
				if err != nil {
					fmt.Println(err)
				} else if i == 0 {
					fmt.Println("all are through with phase", round)
				}
			}
		})
	}
	workers.Wait()
	// Output:
	// all are through with phase 1
	// all are through with phase 2
}

// Two parties do something together.
func ExampleDouble() {
	client, done := connect()
	defer done()
	ctx := context.Background()
	work := func(ctx context.Context, party int) error {
		if party == 0 {
			fmt.Println("working, allowed:", ctx.Err() == nil)
		}
		return ctx.Err()
	}
	d := barrier.NewDouble(client, "/jobs/7/work", 2, nil)
	var parties sync.WaitGroup
	for i := range 2 {
		// Waited for below; ends when both have left.
		parties.Go(func() {
			seat, err := d.Enter(ctx)
			if err != nil {
				fmt.Println(err)
				return
			}
			if err := errors.Join(work(seat.Context(), i), seat.Leave(ctx)); err != nil {
				fmt.Println(err)
			}
		})
	}
	parties.Wait()
	inside, err := d.Waiting(ctx)
	fmt.Println(len(inside), err)
	// Output:
	// working, allowed: true
	// 0 <nil>
}

// A caller of Wait waits until the gate is open.
func ExampleGate() {
	client, done := connect()
	defer done()
	ctx := context.Background()
	gate := barrier.NewGate(client, "/maintenance", nil)
	fmt.Println("close:", gate.Set(ctx))
	passed := make(chan error)
	// Waited for below; ends when the gate opens.
	go func() { passed <- gate.Wait(ctx) }()
	closed, err := gate.Closed(ctx)
	fmt.Println("closed:", closed, err)
	fmt.Println("open:", gate.Remove(ctx))
	fmt.Println("passed:", <-passed)
	// Output:
	// close: <nil>
	// closed: true <nil>
	// open: <nil>
	// passed: <nil>
}
