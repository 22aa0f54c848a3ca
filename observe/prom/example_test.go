package prom_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/health"
	"github.com/zkrecipes/zkrecipes/observe/prom"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"golang.org/x/sync/errgroup"
)

// service is an HTTP service of which one instance, the leader, serves by a configuration
// in ZooKeeper.
type service struct {
	metrics *prom.Observer
	client  *session.Client
	config  *cache.Value[string]
	leads   atomic.Pointer[election.Leadership] // the last one
	web     *http.ServeMux
}

func newService(ctx context.Context, servers string) (*service, error) {
	s := &service{metrics: prom.New(nil), web: http.NewServeMux()}
	var err error
	if s.client, err = session.Connect(ctx, servers, &session.Options{Observer: s.metrics}); err != nil {
		return nil, err
	}
	s.config = cache.NewValue(s.client, "/app/config", func(n session.Node) (string, error) { return string(n.Data), nil }, nil)
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.metrics)
	s.web.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	s.web.Handle("/livez", health.Handler(health.Alive(s.client)))
	s.web.Handle("/healthz", health.Handler(
		health.Connected(s.client, 0),
		health.Current("config", s.config, time.Minute),
		health.Held("leader", func() session.Held { return s.leads.Load() }),
	))
	return s, nil
}

// run serves while it leads, until work returns.
func (s *service) run(ctx context.Context, work func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	// Waited for below; ends with ctx.
	group.Go(func() error { return s.config.Run(ctx) })
	// Waited for below; ends with work, or with ctx.
	group.Go(func() error {
		defer stop()
		return election.New(s.client, "/app/leader", nil).Run(ctx, func(ctx context.Context, l *election.Leadership) error {
			s.leads.Store(l)
			if err := s.config.WaitSynced(ctx); err != nil {
				return err
			}
			return work(ctx)
		})
	})
	return group.Wait()
}

// A service of which one instance leads: metrics at /metrics, and requests for the leader
// only, by /healthz.
func Example() {
	ctx := context.Background()
	server, err := zktest.Start(nil) // in production: an ensemble
	if err != nil {
		panic(err)
	}
	defer server.Close()
	s, err := newService(ctx, server.Addr())
	if err != nil {
		panic(err)
	}
	defer s.client.Close(ctx)
	web := httptest.NewServer(s.web)
	defer web.Close()

	err = s.run(ctx, func(context.Context) error {
		for _, path := range []string{"/healthz", "/metrics"} {
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
				if path == "/healthz" || strings.HasPrefix(line, "zkrecipes_held{") {
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
	// {"healthy":true,"checks":{"config":"ok","leader":"ok","session":"ok"}}
	// zkrecipes_held{kind="leadership",path="/app/leader"} 1
}
