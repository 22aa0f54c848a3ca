package dispatch_test

import (
	"context"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A handler reports its progress, and another process shows it.
func ExampleAttempt_ReportProgress() {
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
	shown := make(chan struct{})
	convert := func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
		a.ReportProgress(300, 1200, "frames")
		<-shown
		return nil, nil
	}
	defer running(client, "/queues/films", convert)()

	queue := dispatch.New(client, "/queues/films", nil)
	id, err := queue.Submit(ctx, dispatch.Task{ID: "film-1"})
	if err != nil {
		panic(err)
	}
	for range time.Tick(time.Millisecond) {
		list, err := queue.Running(ctx, id)
		if err != nil {
			panic(err)
		}
		if len(list) == 1 && !list[0].Reported.IsZero() {
			fmt.Printf("%s: %d of %d %s\n", list[0].ID, list[0].Done, list[0].Total, list[0].Note)
			break
		}
	}
	close(shown)
	if _, err := queue.Collect(ctx, id); err != nil {
		panic(err)
	}
	// Output: film-1: 300 of 1200 frames
}
