package dispatch_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// convert has a worker of the queue do a task, and returns the result.
func convert(ctx context.Context, client *session.Client, image []byte) (dispatch.Result, error) {
	queue := dispatch.New(client, "/queues/images", nil)
	id, err := queue.Submit(ctx, dispatch.Task{Payload: image})
	if err != nil {
		return dispatch.Result{}, err
	}
	return queue.Collect(ctx, id)
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
	handler := func(_ context.Context, a *dispatch.Attempt) ([]byte, error) { return bytes.ToUpper(a.Payload), nil }
	defer running(client, "/queues/images", handler)()

	result, err := convert(ctx, client, []byte("image"))
	fmt.Println(result.State, string(result.Output), err)
	// Output: done IMAGE <nil>
}
