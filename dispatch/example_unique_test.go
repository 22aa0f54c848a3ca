package dispatch_test

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Several machines submit a report; one of them makes the task, and all get its id.
func ExampleQueue_SubmitUnique() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	for _, machine := range []string{"a", "b", "c"} {
		client, err := session.Connect(ctx, server.Addr(), nil)
		if err != nil {
			panic(err)
		}
		defer client.Close(ctx)
		report := dispatch.Task{ID: "from-" + machine, Payload: []byte("all")}
		id, isNew, err := dispatch.New(client, "/queues/reports", nil).SubmitUnique(ctx, report, "report", 0)
		if err != nil {
			panic(err)
		}
		fmt.Println(machine, "gets", id, isNew)
	}
	// Output:
	// a gets from-a true
	// b gets from-a false
	// c gets from-a false
}
