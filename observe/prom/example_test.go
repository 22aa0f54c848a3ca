package prom_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/health"
	"github.com/zkrecipes/zkrecipes/observe/prom"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A service of which one instance leads shows its leadership at /metrics, and is ready at
// /readyz while it has a session.
func Example() {
	ctx := context.Background()
	server, err := zktest.Start(nil) // in production: an ensemble
	if err != nil {
		panic(err)
	}
	defer server.Close()

	metrics := prom.New(nil)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	web := httptest.NewServer(mux)
	defer web.Close()

	client, err := session.Connect(ctx, server.Addr(), &session.Options{Observer: metrics})
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	mux.Handle("/readyz", health.Handler(health.Connected(client, 0)))
	err = election.New(client, "/app/leader", nil).Run(ctx, func(context.Context, *election.Leadership) error {
		for _, path := range []string{"/readyz", "/metrics"} {
			response, err := http.Get(web.URL + path)
			if err != nil {
				return err
			}
			text, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				if path == "/readyz" || strings.HasPrefix(line, "zkrecipes_held{") {
					fmt.Print(line)
				}
			}
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// {"healthy":true,"checks":{"session":"ok"}}
	// zkrecipes_held{kind="leadership",path="/app/leader"} 1
}
