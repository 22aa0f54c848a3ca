package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// serve is "zkr serve".
func (a *app) serve() *cobra.Command {
	var listen string
	var tick time.Duration
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve ZooKeeper's protocol from this process, for tests and demos: nothing is on disk",
		Args:  cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			srv, err := zktest.Start(&zktest.Options{Addr: listen, TickTime: tick})
			if errors.Is(err, zktest.ErrOption) {
				return usage("%w", err)
			}
			if err != nil {
				return err
			}
			defer func() { _ = srv.Close() }()
			if a.json() {
				line, _ := json.Marshal(map[string]string{"servers": srv.Addr()})
				fmt.Fprintf(a.stdout, "%s\n", line)
			} else {
				fmt.Fprintf(a.stdout, "Serving ZooKeeper's protocol on %s, with a tick of %v (sessions of %v to %v).\n"+
					"For tests, demos and laptops: nothing is on disk, all is gone when this ends (Ctrl-C).\n\n"+
					"    export ZKR_SERVERS=%s\n", srv.Addr(), tick, 2*tick, 20*tick, srv.Addr())
			}
			<-ctx.Done()
			return nil
		}),
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:2181", "`host:port` to listen on; port 0: any that is free")
	cmd.Flags().DurationVar(&tick, "tick", 2*time.Second, "tickTime: sessions of 2 to 20 ticks are granted")
	return cmd
}
