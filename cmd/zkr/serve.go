package main

import (
	"errors"
	"fmt"
	"net"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const serveHelp = `Serves ZooKeeper's protocol, for tests, demos and laptops: one server, of which nothing
is on disk, and all is gone when it ends: by INT (Ctrl-C) or TERM with the exit code 0.
It lets everybody in who can reach --listen.

Sessions of 2 to 20 --tick are granted, as ZooKeeper does.`

// serve is "zkr serve".
func (a *app) serve() *cobra.Command {
	var listen string
	var tick time.Duration
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve ZooKeeper's protocol from this process, for tests and demos: nothing is on disk",
		Long:  serveHelp,
		Example: "  zkr serve\n" +
			"  zkr serve --listen 127.0.0.1:0 --tick 200ms -o json",
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			if tick < time.Millisecond {
				return usage("--tick is %v; it must be 1ms or more", tick)
			}
			if err := checkListen(listen); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			srv, err := zktest.Start(&zktest.Options{Addr: listen, TickTime: tick})
			if err != nil {
				return cannotListen(listen, err)
			}
			defer func() { _ = srv.Close() }()
			if err := a.showServer(srv.Addr(), tick); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		}),
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:2181", "`host:port` to listen on; port 0: any that is free")
	cmd.Flags().DurationVar(&tick, "tick", 2*time.Second, "tickTime: sessions of 2 to 20 ticks are granted")
	return cmd
}

// showServer says where the server is.
func (a *app) showServer(addr string, tick time.Duration) error {
	if a.json() {
		return a.line(struct {
			Servers string `json:"servers"`
		}{addr})
	}
	return a.printf("Serving ZooKeeper's protocol on %s, with a tick of %v (sessions of %v to %v).\n"+
		"For tests, demos and laptops: nothing is on disk, all is gone when this ends (Ctrl-C).\n\n"+
		"    export ZKR_SERVERS=%s\n", addr, tick, 2*tick, 20*tick, addr)
}

// checkListen checks the form of --listen.
func checkListen(listen string) error {
	_, port, err := net.SplitHostPort(listen)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 0 || n > 65535 {
		return usage("--listen is %q; it must be host:port, such as 127.0.0.1:2181", listen)
	}
	return nil
}

// cannotListen says why, and what to do about it.
func cannotListen(listen string, err error) error {
	f := &failure{code: exitFailed, err: fmt.Errorf("cannot listen on %s: %w", listen, err)}
	if errors.Is(err, syscall.EADDRINUSE) {
		f.hint = "somebody does already, perhaps another \"zkr serve\"; --listen 127.0.0.1:0 takes any port that is free"
	}
	return f
}
