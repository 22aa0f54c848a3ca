package exportercmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exporter"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/webconfig"
	"github.com/zkrecipes/zkrecipes/session"
)

const exporterHelp = `Serves Prometheus metrics of all coordination in ZooKeeper at /metrics: holders and
waiters of locks and elections with the longest wait and hold, leaders, their terms and
changes, permits, missing parties of barriers, counters, services, members, jobs,
rebalancers, queues of tasks, sessions, and problems such as orphans. It also asks the
servers every 30 seconds with four-letter words, as zkr doctor does, and serves what it
finds as zkr_finding; over TLS it does not. No application needs to change: zkr exporter recognizes the layouts of zkr, Curator and Kazoo, as zkr
ui does. It never writes.

All scrapes share one view of the tree, which is at most two seconds older than zkr's
copy of the znodes. While ZooKeeper is away, or the tree may not be read, zkr exporter
keeps running: zkr_up or zkr_view_current is 0, and there are no series of the tree, so
that no old value looks like a new one. /healthz then answers 503, and 200 otherwise.

Each path is a value of a label, and costs memory in the metrics store. The first
--max-paths things have series of their own, and keep them while they exist. Further
things share series with the path "other". Of things found at the same time, as at the
start, elections are the first and locks the last.

Without --allow-remote, only this machine can reach the metrics. --web-config names a
file of the Prometheus exporter toolkit with TLS and basic authentication, which is read
again for each request: https://github.com/prometheus/exporter-toolkit`

// settings are the arguments of "zkr exporter".
type settings struct {
	root, listen, webConfig string
	remote                  bool
	maxPaths                int
	adminPort               int
	// file is opened by check.
	file *webconfig.File
}

// exporter is "zkr exporter".
func (a *app) exporter() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Connects, cli.Reads),
		Use:         "exporter",
		Short:       "Serve Prometheus metrics of locks, elections, jobs, tasks, sessions and problems",
		Long:        exporterHelp,
		Example: "  zkr exporter\n" +
			"  zkr exporter --servers zk1:2181,zk2:2181,zk3:2181 --root /apps --listen :9381 --allow-remote\n" +
			"  zkr exporter --listen :9381 --allow-remote --web-config web.yml\n" +
			"  curl -s http://127.0.0.1:9381/metrics | grep longest_wait",
		Args: cobra.NoArgs,
		RunE: cli.RunE(func(cmd *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return a.serve(ctx, s)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&s.root, "root", "/", "`path` of the root of the tree")
	f.StringVar(&s.listen, "listen", "127.0.0.1:9381", "`host:port` to listen on; port 0: any free port")
	f.BoolVar(&s.remote, "allow-remote", false, "listen on an address that other machines can reach")
	f.StringVar(&s.webConfig, webconfig.Flag, "", webconfig.Usage)
	f.IntVar(&s.maxPaths, "max-paths", 1000, "how many things have series of their own")
	cli.AdminPortFlag(cmd, &s.adminPort, doctor.AdminPort)
	return cmd
}

func (s *settings) check() error {
	if err := cli.CheckPath(s.root); err != nil {
		return err
	}
	if s.maxPaths < 1 {
		return exit.Usage("--max-paths is %d; it must be 1 or more", s.maxPaths)
	}
	var err error
	if s.file, err = webconfig.Open(s.webConfig); err != nil {
		return exit.Usage("--web-config: %w", err)
	}
	return web.CheckListen(s.listen, s.remote, "any client that reaches the metrics sees the paths that zkr may read; --allow-remote permits that, --web-config adds a password")
}

// serve serves metrics until ctx ends. The servers need not be reachable.
func (a *app) serve(ctx context.Context, s settings) error {
	servers, err := a.ConnectString()
	if err != nil {
		return err
	}
	options, err := a.Options()
	if err != nil {
		return err
	}
	l, err := web.Listen(ctx, s.listen, s.remote)
	if err != nil {
		return cli.ExplainOccupiedPort("zkr exporter", err)
	}
	if err := a.PrintAddress(s.file.URL(l)+"metrics", "serves metrics, and changes nothing"); err != nil {
		_ = l.Close()
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e := exporter.New(s.root, s.maxPaths)
	var following sync.WaitGroup
	defer following.Wait()
	// Waited for above; ends with ctx, or when the servers refuse the client.
	following.Go(func() { cancel(follow(ctx, e, servers, options)) })
	if !a.Flags.TLS {
		// Waited for above; ends with ctx.
		following.Go(func() { e.Audit(ctx, doctor.Addresses(servers), s.adminPort) })
	}
	err = serveMetrics(ctx, l, e, s.file)
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// follow connects, however long that takes, and follows the tree.
func follow(ctx context.Context, e *exporter.Exporter, servers string, o *session.Options) error {
	o.Observer = e
	client, err := session.Connect(ctx, servers, o)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = client.Close(within)
	}()
	return e.Run(ctx, client)
}

// serveMetrics serves until ctx ends.
func serveMetrics(ctx context.Context, l net.Listener, e *exporter.Exporter, file *webconfig.File) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", e.Handler(registry))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !e.IsCurrent() {
			text := "The view of the tree is not current."
			if err := e.Failure(); err != nil {
				text = "The tree cannot be read: " + err.Error()
			}
			http.Error(w, text, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	landing, err := toolkit.NewLandingPage(toolkit.LandingConfig{
		Name: "zkr exporter", Description: "Prometheus metrics of all coordination in ZooKeeper",
		Links: []toolkit.LandingLinks{{Address: "metrics", Text: "Metrics"}, {Address: "healthz", Text: "Health"}},
	})
	if err != nil {
		return err
	}
	mux.Handle("GET /{$}", landing)
	return web.Serve(ctx, file.Listener(l), file.Handler(mux))
}
