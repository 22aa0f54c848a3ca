package dispatch_test

import (
	"context"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A task every second. A handler learns the slot from the id.
func ExampleQueue_SetSchedule() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(context.Background())

	queue := dispatch.New(client, "/queues/reports", nil)
	report := dispatch.Schedule{Name: "report", Every: time.Second, Task: dispatch.Task{Payload: []byte("all")}}
	if err := queue.SetSchedule(ctx, report); err != nil {
		panic(err)
	}
	ran := make(chan string)
	handler := func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		select {
		case ran <- a.ID:
		case <-ctx.Done():
		}
		return nil, ctx.Err()
	}
	done := make(chan error, 2)
	// Waited for below; ends with ctx.
	go func() { done <- dispatch.NewMaster(client, "/queues/reports", nil).Run(ctx) }()
	// Waited for below; ends with ctx.
	go func() { done <- dispatch.NewWorker(client, "/queues/reports", handler, nil).Run(ctx) }()

	slot, err := time.Parse("report@"+time.RFC3339, <-ran)
	if err != nil {
		panic(err)
	}
	fmt.Println("a slot at a whole second:", slot.Equal(slot.Truncate(time.Second)))
	cancel()
	if err := <-done; err != nil {
		panic(err)
	}
	if err := <-done; err != nil {
		panic(err)
	}
	// Output:
	// a slot at a whole second: true
}
