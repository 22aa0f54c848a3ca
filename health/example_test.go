package health_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/zkrecipes/zkrecipes/health"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Probes for Kubernetes, say.
func Example() {
	ctx := context.Background()
	server, err := zktest.Start(nil) // in production: an ensemble
	if err != nil {
		panic(err)
	}
	defer server.Close()
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	mux := http.NewServeMux()
	mux.Handle("/livez", health.Handler(health.Alive(client)))
	mux.Handle("/readyz", health.Handler(health.Connected(client, 0)))
	web := httptest.NewServer(mux)
	defer web.Close()

	for _, path := range []string{"/livez", "/readyz"} {
		response, err := http.Get(web.URL + path)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		fmt.Printf("%d %s", response.StatusCode, body)
	}
	// Output:
	// 200 {"healthy":true,"checks":{"client":"ok"}}
	// 200 {"healthy":true,"checks":{"session":"ok"}}
}
