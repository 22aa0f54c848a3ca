package servecmd

import (
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const serveHelp = `Serves ZooKeeper's protocol for tests, demos and laptops: one server that keeps all
data in memory. INT (Ctrl-C) or TERM ends the server with the exit code 0, and the
data is gone. Every client that can reach --listen may connect.

The server grants session timeouts of 2 to 20 times --tick, as ZooKeeper does.`

// serve is "zkr serve".
func (a *app) serve() *cobra.Command {
	var listen string
	var tick time.Duration
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve ZooKeeper's protocol from this process, for tests and demos, without a disk",
		Long:  serveHelp,
		Example: "  zkr serve\n" +
			"  zkr serve --listen 127.0.0.1:0 --tick 200ms -o json",
		RunE: cli.RunE(func(cmd *cobra.Command, _ []string) error {
			if tick < time.Millisecond {
				return exit.Usage("--tick is %v; it must be 1ms or more", tick)
			}
			if err := cli.CheckListen(listen); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			srv, err := zktest.Start(&zktest.Options{Addr: listen, TickTime: tick})
			if err != nil {
				return cli.CannotListen(listen, err)
			}
			defer func() { _ = srv.Close() }()
			if err := a.showServer(srv.Addr(), tick); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		}),
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:2181", "`host:port` to listen on; port 0: any free port")
	cmd.Flags().DurationVar(&tick, "tick", 2*time.Second, "tickTime: sessions of 2 to 20 ticks are granted")
	return cmd
}

// showServer says where the server is.
func (a *app) showServer(addr string, tick time.Duration) error {
	if a.JSON() {
		return a.PrintJSON(struct {
			Servers string `json:"servers"`
		}{addr})
	}
	return a.Printf("Serving ZooKeeper's protocol on %s, with a tick of %v (sessions of %v to %v).\n"+
		"For tests, demos and laptops: nothing is on disk, all is gone when this ends (Ctrl-C).\n\n"+
		"    export ZKR_SERVERS=%s\n", addr, tick, 2*tick, 20*tick, addr)
}
