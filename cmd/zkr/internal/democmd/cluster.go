package democmd

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cluster"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"golang.org/x/sync/errgroup"
)

// clusterTick is the tick of the cluster's own server: sessions of 0.2 to 2 s, or of
// --session-timeout.
const clusterTick = 100 * time.Millisecond

const clusterHelp = `Starts node processes that elect a leader, and serves a page that shows the nodes:
the leader, the znode that each node watches, as the node itself reports, and the time
until which each node trusts its session. On the page you can kill nodes, freeze them,
cut them off from ZooKeeper, start them again, and add nodes. The page shows how long
each failover took.

zkr runs its own ZooKeeper in this process, unless --servers or ZKR_SERVERS names
servers: there zkr writes /election, /coordinators_service_registry and
/workers_service_registry (below --chroot).

With --nodes 0 the nodes run elsewhere. The page can give them orders only if
ZKR_DEMO_TOKEN has the same value for the page and for the nodes (16 bytes or more:
openssl rand -hex 16).

With --kills N zkr kills the leader N times, prints how long the failovers took, and
exits.`

// clusterDemo has the arguments of "zkr demo cluster".
type clusterDemo struct {
	app                    *app
	nodes, firstPort       int
	kills                  int
	listen                 string
	allowRemote, allowKill bool
	tick                   time.Duration
	servers                string         // of --servers; "" for the demo's own server
	told                   cluster.Secret // shown to the user; "" if none
}

// demoCluster is "zkr demo cluster".
func (a *app) demoCluster() *cobra.Command {
	c := &clusterDemo{app: a}
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Connects),
		Use:         "cluster",
		Short:       "Run an election among nodes, and serve a page on which you can kill the nodes",
		Long:        clusterHelp,
		Example: "  zkr demo cluster\n" +
			"  zkr demo cluster --listen 127.0.0.1:0 --nodes 7\n" +
			"  zkr demo cluster --kills 100",
		Args: cobra.NoArgs,
		RunE: cli.RunE(func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			if err := c.check(cmd.Flags().Changed("servers")); err != nil {
				return err
			}
			return c.run(ctx)
		}),
	}
	f := cmd.Flags()
	f.IntVar(&c.nodes, "nodes", 4, "how many nodes to start; 0: they run elsewhere")
	f.IntVar(&c.firstPort, "node-port", 8081, "`port` of the first node; the other nodes take the next ports; 0, or a port in use: any free port")
	f.IntVar(&c.kills, "kills", 0, "how often to kill the leader; then print how long the failovers took, and exit")
	f.StringVar(&c.listen, "listen", "127.0.0.1:8080", "`host:port` of the page; port 0: any free port")
	f.BoolVar(&c.allowRemote, "allow-remote", false, "allow a --listen address that other machines can reach")
	f.BoolVar(&c.allowKill, "allow-kill", false, "also take orders from other machines, with the token")
	f.DurationVar(&c.tick, "tick", 0, "tickTime of --servers, if known")
	return cmd
}

func (c *clusterDemo) check(given bool) error {
	if given {
		servers, err := c.app.ConnectString()
		if err != nil {
			return err
		}
		c.servers = servers
		if err := c.checkTLS(); err != nil {
			return err
		}
	}
	if err := web.CheckListen(c.listen, c.allowRemote, "--allow-remote lets other machines see the page"); err != nil {
		return err
	}
	switch {
	case c.nodes < 0 || c.nodes > cluster.MaxNodes:
		return exit.Usage("--nodes is %d; it must be from 0 to %d", c.nodes, cluster.MaxNodes)
	case c.nodes == 0 && c.servers == "":
		return exit.Usage("--nodes 0 needs --servers, where the nodes are")
	case c.kills < 0 || c.kills > 0 && c.nodes < 2:
		return exit.Usage("--kills is %d with %d nodes; it needs two nodes that zkr starts", c.kills, c.nodes)
	case c.firstPort < 0 || c.firstPort > 65000:
		return exit.Usage("--node-port is %d; it must be from 0 (any) to 65000", c.firstPort)
	case c.tick < 0:
		return exit.Usage("--tick is %v; it must be 0 (not known) or more", c.tick)
	}
	return nil
}

// checkTLS names the servers for nodes that connect through a proxy: the servers'
// certificates do not have the proxy's address.
func (c *clusterDemo) checkTLS() error {
	name := &c.app.Flags.TLSServerName
	if !c.app.Flags.TLS || *name != "" || c.nodes == 0 {
		return nil
	}
	for i, server := range cluster.Servers(c.servers) {
		host, _, err := net.SplitHostPort(server)
		if err != nil || i > 0 && host != *name {
			return exit.Usage("--tls with nodes that are started here, and with several --servers, needs --tls-server-name")
		}
		*name = host
	}
	return nil
}

func (c *clusterDemo) run(ctx context.Context) error {
	if c.servers == "" {
		srv, err := zktest.Start(&zktest.Options{TickTime: clusterTick, MaxSessionTimeout: max(20*clusterTick, c.app.Flags.SessionTimeout)})
		if err != nil {
			return err
		}
		defer func() { _ = srv.Close() }()
		c.servers, c.tick = srv.Addr(), clusterTick
	}
	l, err := web.Listen(ctx, c.listen, c.allowRemote)
	if err != nil {
		return &exit.Failure{Code: exit.CodeFailed, Err: err, Hint: "--listen 127.0.0.1:0 takes any free port"}
	}
	client, err := c.connect(ctx)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { _ = cli.CloseClient(ctx, client) }()
	secret, shared, err := c.app.demoSecret()
	if err != nil {
		return err
	}
	if !shared {
		secret = cluster.NewSecret()
	}
	monitor := cluster.NewMonitor(client)
	var crew *cluster.Crew
	if c.nodes > 0 {
		crew = cluster.NewCrew(c.servers, c.firstPort, c.spawn(secret), monitor.Look)
		monitor.Watch(crew)
	}
	o := cluster.SiteOptions{
		Servers: c.servers, Hosts: web.Hosts{Remote: c.allowRemote}, Secret: secret,
		// With --allow-remote, other machines may come through a proxy on this
		// machine: a local --listen proves nothing then.
		Open: !c.allowRemote, Orders: (!c.allowRemote || c.allowKill) && (c.nodes > 0 || shared),
	}
	// A given secret is known to the user, and stays out of logs.
	if o.Orders && !o.Open && !shared {
		c.told = secret
	}
	return c.show(ctx, l, monitor, crew, cluster.NewSite(monitor, crew, o))
}

// show runs everything until ctx ends.
func (c *clusterDemo) show(
	ctx context.Context, l net.Listener, monitor *cluster.Monitor, crew *cluster.Crew, site *cluster.Site,
) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	g, ctx := errgroup.WithContext(ctx)
	// Waited for below, like all goroutines of the group; they end with ctx.
	g.Go(func() error { return ignoreEnd(ctx, monitor.Run(ctx)) })
	// Waited for with the group; ends with ctx, and closes the listener.
	g.Go(func() error { return web.Serve(ctx, l, site.Handler()) })
	if crew != nil {
		// Waited for with the group; waits for its processes, which Run ends.
		g.Go(func() error {
			crew.Run(ctx)
			return nil
		})
	}
	// Waited for with the group; ends the group when all leaders have been
	// killed.
	g.Go(func() error {
		if err := c.hello(l); err != nil {
			return err
		}
		if err := crew.Gather(ctx, monitor, c.nodes); err != nil {
			return ignoreEnd(ctx, err)
		}
		if c.kills == 0 {
			return ignoreEnd(ctx, c.printFailovers(ctx, monitor))
		}
		defer end()
		return ignoreEnd(ctx, c.measure(ctx, site))
	})
	return g.Wait()
}

// ignoreEnd is err, unless the user has ended the demonstration.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// connect connects the page: by a server's own address, not by a proxy of a
// node, and with a session without holds.
func (c *clusterDemo) connect(ctx context.Context) (*session.Client, error) {
	o, err := c.app.Options()
	if err != nil {
		return nil, err
	}
	before := c.app.Flags
	c.app.Flags.Servers, c.app.Flags.Chroot = c.servers, ""
	defer func() { c.app.Flags = before }()
	return c.app.Connect(ctx, o)
}

// demoSecret returns the secret of the environment, if there is one.
func (a *app) demoSecret() (secret cluster.Secret, given bool, err error) {
	secret, err = cluster.ParseSecret(a.Getenv(TokenEnv))
	if err != nil {
		return "", false, exit.Usage("%s: %w", TokenEnv, err)
	}
	return secret, secret != "", nil
}

// spawn prepares nodes.
func (c *clusterDemo) spawn(secret cluster.Secret) cluster.Spawn {
	return func(name, listen, servers string) *exec.Cmd {
		args := []string{"demo", "node", name, "--listen", listen, "--servers", servers, "--chroot", "", "--tick", c.tick.String(), "--until-eof"}
		cmd := exec.Command(selfPath(), args...)
		cmd.Env = append(c.app.handedDown(), TokenEnv+"="+string(secret))
		cmd.Stderr = c.app.Stderr
		// Ctrl-C is for the demonstration, which then ends its nodes.
		subprocess.OwnGroup(cmd)
		supervise.DieWithParent(cmd.SysProcAttr)
		return cmd
	}
}

// handedDown is the environment with the global flags of the session in it.
// Process lists therefore show no secrets.
func (a *app) handedDown() []string {
	g := &a.Flags
	env := append(os.Environ(), "ZKR_TLS="+strconv.FormatBool(g.TLS), "ZKR_OUTPUT=table")
	if secret, err := a.Credentials(); err == nil {
		env = append(env, "ZKR_AUTH="+secret, "ZKR_AUTH_FILE=")
	}
	for name, value := range map[string]string{
		"SESSION_TIMEOUT": g.SessionTimeout.String(), "TLS_CA": g.TLSCA, "TLS_CERT": g.TLSCert, "TLS_KEY": g.TLSKey,
		"TLS_SERVER_NAME": g.TLSServerName, "AUTH_SCHEME": g.AuthScheme,
		"KERBEROS_KEYTAB": g.Kerberos.Keytab, "KERBEROS_PRINCIPAL": g.Kerberos.Principal, "KERBEROS_SERVER": g.Kerberos.Server,
		"KERBEROS_KEEP_HOST_NAMES": strconv.FormatBool(g.Kerberos.KeepHostNames),
	} {
		env = append(env, "ZKR_"+name+"="+value)
	}
	return env
}

// selfPath is this program.
func selfPath() string {
	self, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return self
}

// address is the address of the page, for people.
func address(page string, secret cluster.Secret) string {
	if secret != "" {
		page += "?token=" + url.QueryEscape(string(secret))
	}
	return page
}
