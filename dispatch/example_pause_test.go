package dispatch_test

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// An operator pauses a queue while the mail server moves. Tasks can be submitted meanwhile.
func ExampleQueue_Pause() {
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

	queue := dispatch.New(client, "/queues/mail", nil)
	for _, who := range []string{"ann", "bob"} {
		isNew, err := queue.Pause(ctx, who, "the mail server moves")
		if err != nil {
			panic(err)
		}
		fmt.Println("paused by", who+":", isNew)
	}
	if _, err := queue.Submit(ctx, dispatch.Task{Payload: []byte("Dear Ann")}); err != nil {
		panic(err)
	}
	stats, err := queue.Stats(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d waiting; paused by %s: %s\n", stats.Tasks["waiting"], stats.PausedBy, stats.PauseReason)
	existed, err := queue.Resume(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("resumed:", existed)
	// Output:
	// paused by ann: true
	// paused by bob: false
	// 1 waiting; paused by ann: the mail server moves
	// resumed: true
}
