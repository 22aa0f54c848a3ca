package democmd

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cluster"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/session"
	"golang.org/x/sync/errgroup"
)

// TokenEnv names the variable with the secret that nodes and the page
// share.
const TokenEnv = "ZKR_DEMO_TOKEN"

// nodeTimeouts are the session timeouts that a node asks for, one after the
// other, without --session-timeout: the timeout of the demonstration, the
// shortest timeout that servers grant by default, and the servers' choice.
//
// read only
var nodeTimeouts = []time.Duration{time.Second, 4 * time.Second, 0}

// demoNode is a process that "zkr demo cluster" starts; deploy/compose.yaml
// starts demoNodes as containers.
func (a *app) demoNode() *cobra.Command {
	var listen, advertise string
	var tick time.Duration
	var untilEOF bool
	cmd := &cobra.Command{
		Use: "node NAME", Hidden: true, Args: cli.Arguments("a node", "NAME"),
		Short: "Be a node of the cluster of \"zkr demo cluster\"",
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			if untilEOF {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				// The process does not wait for this goroutine: the goroutine ends with
				// the process, or with the demonstration, and then ends the process's
				// work.
				go func() {
					_, _ = io.Copy(io.Discard, a.Stdin)
					cancel()
				}()
			}
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
			if err != nil {
				return exit.Usage("--listen: %w", err)
			}
			defer l.Close()
			address, err := reachable(ctx, l, advertise)
			if err != nil {
				return exit.Usage("--advertise: %w", err)
			}
			return a.beNode(ctx, args[0], address, l, tick)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:0", "`host:port` to answer on")
	f.StringVar(&advertise, "advertise", "", "`host` name or IP address at which other nodes reach this node; default: that of --listen")
	f.DurationVar(&tick, "tick", 0, "the servers' tickTime, if it is known")
	f.BoolVar(&untilEOF, "until-eof", false, "end at the end of stdin")
	return cmd
}

// reachable returns the address that other processes are told: an IP address,
// so that no name server is asked.
func reachable(ctx context.Context, l net.Listener, advertise string) (string, error) {
	address := l.Addr().(*net.TCPAddr)
	if advertise == "" {
		return address.String(), nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", advertise)
	if err != nil {
		return "", err
	}
	ip := found[0].Unmap()
	for _, other := range found {
		if other.Unmap().Is4() { // containers reach each other by IPv4
			ip = other.Unmap()
			break
		}
	}
	return netip.AddrPortFrom(ip, address.AddrPort().Port()).String(), nil
}

func (a *app) beNode(ctx context.Context, name, address string, l net.Listener, tick time.Duration) error {
	secret, _, err := a.demoSecret()
	if err != nil {
		return err
	}
	node, err := cluster.NewNode(name, address, func(ctx context.Context, dial cluster.Dialer) (*session.Client, error) {
		return a.connectNode(ctx, dial, tick)
	})
	if err != nil {
		return exit.Usage("%w", err)
	}
	if err := a.PrintJSON(cluster.Ready{Name: name, Address: address, PID: os.Getpid()}); err != nil {
		return err
	}
	die := func() { os.Exit(exit.CodeSignal + int(syscall.SIGKILL)) } // nothing is given back, as in a crash
	g, ctx := errgroup.WithContext(ctx)
	handler := node.Handler(secret, die)
	// Waited for below; both end with ctx.
	g.Go(func() error { return web.Serve(ctx, l, handler) })
	// Waited for with the group; ends with ctx, when the node has left.
	g.Go(func() error { return node.Run(ctx) })
	return g.Wait()
}

// connectNode connects with the shortest session that the servers grant.
func (a *app) connectNode(ctx context.Context, dial cluster.Dialer, tick time.Duration) (*session.Client, error) {
	timeouts := nodeTimeouts
	if t := a.Flags.SessionTimeout; t != 0 {
		timeouts = []time.Duration{t}
	}
	var err error
	for _, t := range timeouts {
		var o *session.Options
		if o, err = a.Options(); err != nil {
			return nil, err
		}
		o.Timeout, o.TickTime, o.Dialer = t, tick, dial
		var client *session.Client
		client, err = a.Connect(ctx, o)
		if !errors.Is(err, session.ErrTimeoutRefused) && !errors.Is(err, session.ErrTimeoutTooShort) {
			return client, err
		}
	}
	return nil, err
}
