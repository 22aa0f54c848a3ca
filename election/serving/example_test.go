package serving_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A web server whose requests only the leader serves.
func Example() {
	zookeeper, err := zktest.Start(nil) // in production: an ensemble
	if err != nil {
		panic(err)
	}
	defer zookeeper.Close()
	ctx, stop := context.WithCancel(context.Background()) // signal.NotifyContext in a program
	client, err := session.Connect(ctx, zookeeper.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(context.WithoutCancel(ctx))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}

	address := listener.Addr().String()
	elector := election.New(client, "/web/leader", &election.Options{ID: address})
	leader := serving.New(elector, &serving.Options{Address: func(c election.Candidate) string { return c.ID }})
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lead, _ := serving.FromContext(r.Context())
		fmt.Fprintln(w, "served by a leader with a token:", lead.Token() > 0)
	})
	server := &http.Server{Handler: leader.Handler(hello), ReadHeaderTimeout: 5 * time.Second}
	over := make(chan error)
	// Waited for below; ends with ctx.
	go func() { over <- leader.Serve(ctx, server, listener) }()

	for admits := range leader.Observe(ctx) {
		if admits {
			break
		}
	}
	response, err := http.Get("http://" + address)
	if err != nil {
		panic(err)
	}
	body, _ := io.ReadAll(response.Body)
	response.Body.Close()
	fmt.Printf("%d %s", response.StatusCode, body)
	http.DefaultClient.CloseIdleConnections()

	stop() // drains, then gives the leadership back, then shuts down
	fmt.Println(<-over)
	// Output:
	// 200 served by a leader with a token: true
	// <nil>
}
