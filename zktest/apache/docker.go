package apache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/internal/containers"
)

// dockerBackend runs containers of an image with the interface of the official
// image: ZOO_* variables and /data. The command zktest-docker talks to the
// daemon.
type dockerBackend struct {
	cmd *exec.Cmd
	rpc *rpc.Client
	// wait waits for the end of the command.
	wait func() error
	// said is the command's output on stderr; read only after the command has
	// ended.
	said *bytes.Buffer
}

// daemonTimeout bounds the search for a daemon; a running daemon answers at
// once.
const daemonTimeout = 2 * time.Second

// canDocker says whether a daemon answers and has or can pull the image.
// canDocker also selects the image if none is named.
func canDocker(ctx context.Context, f *Options) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%w: containers are reached by their addresses, which works on Linux only: set %s", ErrUnavailable, EnvServers)
	}
	if err := dialDaemon(ctx, os.Getenv("DOCKER_HOST")); err != nil {
		return fmt.Errorf("%w: no Docker daemon: install and start docker.io: %w", ErrUnavailable, err)
	}
	b, err := startDocker()
	if err != nil {
		return err
	}
	wanted := []string{f.Image}
	if f.Image == "" {
		wanted = []string{DefaultImage, LocalImage}
	}
	var broken rpc.ServerError
	err = b.callCommand(ctx, containers.Find, wanted, &f.Image)
	if errors.As(err, &broken) {
		err = fmt.Errorf("%w: no image %s: run scripts/build-image.sh, which makes %s: %w", ErrUnavailable, wanted[0], LocalImage, err)
	}
	return errors.Join(err, b.close())
}

// dialDaemon fails if no Docker daemon listens at host. The command is built
// only if dialDaemon succeeds.
func dialDaemon(ctx context.Context, host string) error {
	network, address, ok := strings.Cut(or(host, "unix:///var/run/docker.sock"), "://")
	if !ok {
		return fmt.Errorf("DOCKER_HOST: %q is not a URL", host)
	}
	if network != "unix" {
		network = "tcp"
	}
	ctx, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// startDocker starts zktest-docker: from PATH, or else from the workspace or
// from the requirements of the tested module, by the go command.
func startDocker() (*dockerBackend, error) {
	args := []string{containers.Command}
	if _, err := exec.LookPath(args[0]); err != nil {
		args = []string{"go", "run", containers.Package}
	}
	b := &dockerBackend{cmd: exec.Command(args[0], args[1:]...), said: &bytes.Buffer{}}
	b.cmd.Stderr = b.said
	// A group of its own shields the command from an interrupt of the terminal.
	ownGroup(b.cmd)
	b.wait = sync.OnceValue(b.cmd.Wait)
	in, err := b.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: start %s: %w", ErrUnavailable, args[0], err)
	}
	b.rpc = jsonrpc.NewClient(pipes{out, in})
	return b, nil
}

// pipes combines the two streams of a command into a connection.
type pipes struct {
	io.ReadCloser
	in io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close ends the command's stdin, and so the command. The last output of the
// command on stdout is not read: exec closes that end when the command is
// awaited.
func (p pipes) Close() error { return p.in.Close() }

// callCommand runs a method of the command. An ended command has given its reason on
// stderr.
func (b *dockerBackend) callCommand(ctx context.Context, method string, arg, reply any) error {
	done := b.rpc.Go(method, arg, reply, make(chan *rpc.Call, 1)).Done
	select {
	case <-ctx.Done():
		return ctx.Err()
	case c := <-done:
		var refused rpc.ServerError
		if c.Error == nil || errors.As(c.Error, &refused) {
			return c.Error
		}
		_ = b.wait() // stderr tells more than the exit code
		return fmt.Errorf("%w: %s ended: %w: %s (outside of a checkout: go install %s@latest)",
			ErrUnavailable, containers.Command, c.Error, strings.TrimSpace(b.said.String()), containers.Package)
	}
}

// prepareDocker makes the network and the containers; none runs yet.
func (c *Cluster) prepareDocker(ctx context.Context, id string, f *Options) error {
	b, err := startDocker()
	if err != nil {
		return err
	}
	c.back = b // from here on Close cleans up
	net, err := claimSubnet(id)
	if err != nil {
		return err
	}
	for i := range f.Servers {
		c.places = append(c.places, place{net.serverAddr(i), 2181, 2888, 3888})
	}
	spec, err := dockerSpec(id, f, net, c.places)
	if err == nil {
		err = b.callCommand(ctx, containers.Prepare, spec, &containers.None{})
	}
	if err != nil || !f.Cuts {
		return errors.Join(err, net.claim.Close())
	}
	c.subnet = net
	for _, line := range net.clientAddrs(spec.Device) {
		if err := runCommand(ctx, append([]string{"ip"}, strings.Fields(line)...)...); err != nil {
			return err
		}
	}
	return nil
}

// dockerSpec describes the containers of a cluster.
func dockerSpec(id string, f *Options, net *subnet, places []place) (containers.Spec, error) {
	spec := containers.Spec{
		ID: id, Image: f.Image, Device: "zt" + id, Subnet: net.prefix + "0/24", Gateway: net.gateway(),
	}
	var files []containers.File
	if len(f.Counters)+len(f.Versions) > 0 {
		snap, err := encodeSnapshot(f.Counters, f.Versions)
		if err != nil {
			return spec, err
		}
		files = append(files, containers.File{Name: snapshotName, Content: snap})
	}
	if len(f.SASLUsers) > 0 {
		files = append(files, containers.File{Name: loginName, Content: loginConfig(f.SASLUsers)})
	}
	for i, p := range places {
		spec.Servers = append(spec.Servers, containers.Server{Host: p.host, Env: imageEnvironment(f, places, i), Files: files})
	}
	return spec, nil
}

// imageEnvironment returns the configuration for the official image.
func imageEnvironment(f *Options, places []place, i int) []string {
	cfg := sharedSettings(f)
	env := map[string]string{
		"ZOO_MY_ID":                  strconv.Itoa(i + 1),
		"ZOO_TICK_TIME":              cfg["tickTime"],
		"ZOO_INIT_LIMIT":             cfg["initLimit"],
		"ZOO_SYNC_LIMIT":             cfg["syncLimit"],
		"ZOO_MAX_CLIENT_CNXNS":       cfg["maxClientCnxns"],
		"ZOO_4LW_COMMANDS_WHITELIST": cfg["4lw.commands.whitelist"],
		"ZOO_ADMINSERVER_ENABLED":    cfg["admin.enableServer"],
		"JVMFLAGS":                   strings.Join(jvmFlags(f, "/data"), " "),
	}
	for _, named := range []string{
		"tickTime", "initLimit", "syncLimit", "maxClientCnxns", "4lw.commands.whitelist", "admin.enableServer",
	} {
		delete(cfg, named)
	}
	env["ZOO_CFG_EXTRA"] = strings.Join(sortedPairs(cfg), " ")
	if len(places) > 1 {
		var all []string
		for k, p := range places {
			all = append(all, fmt.Sprintf("server.%d=%s:%d:%d;%d", k+1, p.host, p.peer, p.election, p.client))
		}
		env["ZOO_SERVERS"] = strings.Join(all, " ")
	}
	return sortedPairs(env)
}

func (b *dockerBackend) start(ctx context.Context, i int) error {
	return b.callCommand(ctx, containers.Start, i, &containers.None{})
}

func (b *dockerBackend) isRunning(ctx context.Context, i int) bool {
	var runs bool
	err := b.callCommand(ctx, containers.Running, i, &runs)
	return err != nil || runs // without an answer of the daemon, assume a running server
}

func (b *dockerBackend) kill(ctx context.Context, i int) error {
	return b.callCommand(ctx, containers.Kill, i, &containers.None{})
}

func (b *dockerBackend) pause(ctx context.Context, i int, on bool) error {
	return b.callCommand(ctx, containers.Pause, containers.Freeze{Server: i, On: on}, &containers.None{})
}

func (b *dockerBackend) namespacePrefix(ctx context.Context, i int) ([]string, error) {
	var pid int
	if err := b.callCommand(ctx, containers.PID, i, &pid); err != nil || pid == 0 {
		return nil, err
	}
	return []string{"nsenter", "--net=/proc/" + strconv.Itoa(pid) + "/ns/net"}, nil
}

func (b *dockerBackend) log(ctx context.Context, i int) (text string, err error) {
	err = b.callCommand(ctx, containers.Log, i, &text)
	return text, err
}

// close ends the command; the command removes everything before its end.
func (b *dockerBackend) close() error {
	_ = b.rpc.Close() // already closed if the command has ended
	if err := b.wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", containers.Command, err, strings.TrimSpace(b.said.String()))
	}
	return nil
}
