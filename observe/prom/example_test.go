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
	"github.com/zkrecipes/zkrecipes/observe/prom"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A service shows its leadership at /metrics.
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
	err = election.New(client, "/app/leader", nil).Run(ctx, func(context.Context, *election.Leadership) error {
		response, err := http.Get(web.URL + "/metrics")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "zkrecipes_held{") {
				fmt.Print(line)
			}
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	// Output: zkrecipes_held{kind="leadership",path="/app/leader"} 1
}
