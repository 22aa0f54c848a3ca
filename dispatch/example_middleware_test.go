package dispatch_test

import (
	"context"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// timeLimit ends the context of an attempt after a time. The task has another attempt then,
// as far as Task.MaxAttempts allows.
func timeLimit(limit time.Duration) func(next dispatch.Handler) dispatch.Handler {
	return func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			return next(ctx, a)
		}
	}
}

// traced shows each attempt and its end, also after a panic.
func traced(next dispatch.Handler) dispatch.Handler {
	return func(ctx context.Context, a *dispatch.Attempt) (out []byte, err error) {
		fmt.Println("attempt", a.Number, "of", a.ID)
		defer func() { fmt.Println("ended with", err) }()
		return next(ctx, a)
	}
}

// Middleware runs around every attempt.
func ExampleWorkerOptions() {
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
	slowAtFirst := func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		if a.Number == 1 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return []byte("sent"), nil
	}
	worker := dispatch.NewWorker(client, "/queues/mail", slowAtFirst, &dispatch.WorkerOptions{
		Middleware: []func(dispatch.Handler) dispatch.Handler{traced, timeLimit(20 * time.Millisecond)},
	})
	defer roles(worker.Run, dispatch.NewMaster(client, "/queues/mail", nil).Run)()

	queue := dispatch.New(client, "/queues/mail", nil)
	id, err := queue.Submit(ctx, dispatch.Task{ID: "letter-1", Backoff: time.Millisecond})
	if err != nil {
		panic(err)
	}
	result, err := queue.Collect(ctx, id)
	if err != nil {
		panic(err)
	}
	fmt.Println(result.State, string(result.Output))
	// Output:
	// attempt 1 of letter-1
	// ended with context deadline exceeded
	// attempt 2 of letter-1
	// ended with <nil>
	// done sent
}
