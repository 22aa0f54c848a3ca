package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// running runs a master and a worker until stop is called.
func running(client *session.Client, path string, h dispatch.Handler) (stop func()) {
	return roles(dispatch.NewMaster(client, path, nil).Run, dispatch.NewWorker(client, path, h, nil).Run)
}

// roles runs roles until stop is called.
func roles(runs ...func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, run := range runs {
		// Waited for by stop; ends with ctx.
		all.Go(func() { _ = run(ctx) })
	}
	return func() { cancel(); all.Wait() }
}

// A client submits tasks and collects the results; a worker does them.
func Example() {
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
	shout := func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
		return []byte(strings.ToUpper(string(a.Payload))), nil
	}
	defer running(client, "/queues/shout", shout)()

	queue := dispatch.New(client, "/queues/shout", nil)
	for _, word := range []string{"hello", "world"} {
		id, err := queue.Submit(ctx, dispatch.Task{Payload: []byte(word)})
		if err != nil {
			panic(err)
		}
		result, err := queue.Collect(ctx, id)
		if err != nil {
			panic(err)
		}
		fmt.Println(result.State, string(result.Output))
	}
	// Output:
	// done HELLO
	// done WORLD
}

// A task without any attempts left stays in the dead-letter list until a client
// requeues the task.
func ExampleQueue_Requeue() {
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
	var mu sync.Mutex
	broken := true
	deliver := func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			return nil, errors.New("the printer is on fire")
		}
		return []byte("printed"), nil
	}
	defer running(client, "/queues/print", deliver)()

	queue := dispatch.New(client, "/queues/print", nil)
	if _, err := queue.Submit(ctx, dispatch.Task{ID: "report-7", MaxAttempts: 1}); err != nil {
		panic(err)
	}
	if _, err := queue.Wait(ctx, "report-7"); err != nil {
		panic(err)
	}
	letters, err := queue.List(ctx, "dead")
	if err != nil {
		panic(err)
	}
	for _, task := range letters {
		fmt.Println(task.ID, "is", task.State, "since", task.LastFailure)
	}
	mu.Lock()
	broken = false
	mu.Unlock()
	if err := queue.Requeue(ctx, "report-7"); err != nil {
		panic(err)
	}
	result, err := queue.Collect(ctx, "report-7")
	if err != nil {
		panic(err)
	}
	fmt.Println(result.State, string(result.Output))
	// Output:
	// report-7 is dead since the printer is on fire
	// done printed
}
