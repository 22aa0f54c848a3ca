package apache

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

// dockerBackend runs containers of an image that is used as the official one
// is: ZOO_* variables and /data.
type dockerBackend struct {
	pool *dockertest.Pool
	// containers are the ids, by server. They and the network carry the label
	// zktest=<id of the cluster>, by which the guard finds them.
	containers []string
	network    string
}

// canDocker says whether a daemon answers and has the image, or can get it. It
// settles which image, if none is named.
func canDocker(ctx context.Context, f *Options) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%w: containers are reached by their addresses, which works on Linux only: set %s", ErrUnavailable, EnvServers)
	}
	pool, err := dockertest.NewPool("")
	if err == nil {
		err = pool.Client.PingWithContext(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: no Docker daemon: install and start docker.io: %w", ErrUnavailable, err)
	}
	defer pool.Client.HTTPClient.CloseIdleConnections()
	wanted := []string{f.Image}
	if f.Image == "" {
		wanted = []string{DefaultImage, LocalImage}
	}
	for _, image := range wanted {
		if _, err := pool.Client.InspectImage(image); err == nil {
			f.Image = image
			return nil
		}
	}
	f.Image = wanted[0]
	repository, tag := docker.ParseRepositoryTag(f.Image)
	err = pool.Client.PullImage(docker.PullImageOptions{
		Repository: repository, Tag: or(tag, "latest"), Context: ctx,
	}, docker.AuthConfiguration{})
	if err != nil {
		return fmt.Errorf("%w: no image %s: run scripts/build-image.sh, which makes %s: %w", ErrUnavailable, f.Image, LocalImage, err)
	}
	return nil
}

// prepareDocker makes the network and the containers; none runs yet.
func (c *Cluster) prepareDocker(ctx context.Context, id string, f *Options) error {
	pool, err := dockertest.NewPool("")
	if err != nil {
		return err
	}
	b := &dockerBackend{pool: pool}
	c.back = b // from here on Close removes what was made
	net, err := claimSubnet(id)
	if err != nil {
		return err
	}
	device := "zt" + id
	made, err := pool.Client.CreateNetwork(docker.CreateNetworkOptions{
		Name: "zktest-" + id, Driver: "bridge", Context: ctx,
		Labels:  map[string]string{"zktest": id},
		Options: map[string]any{"com.docker.network.bridge.name": device},
		IPAM:    &docker.IPAMOptions{Config: []docker.IPAMConfig{{Subnet: net.prefix + "0/24", Gateway: net.gateway()}}},
	})
	if err != nil {
		return errors.Join(err, net.claim.Close())
	}
	b.network = made.ID
	if f.Cuts {
		c.subnet = net
		for _, line := range net.clientAddrs(device) {
			if err := command(ctx, append([]string{"ip"}, strings.Fields(line)...)...); err != nil {
				return err
			}
		}
	} else if err := net.claim.Close(); err != nil {
		return err
	}
	for i := range f.Servers {
		c.places = append(c.places, place{net.server(i), 2181, 2888, 3888})
	}
	for i := range f.Servers {
		if err := b.create(ctx, id, f, c.places, i); err != nil {
			return err
		}
	}
	return nil
}

// create makes the container of server i and puts its snapshot into it.
func (b *dockerBackend) create(ctx context.Context, id string, f *Options, places []place, i int) error {
	made, err := b.pool.Client.CreateContainer(docker.CreateContainerOptions{
		Name: fmt.Sprintf("zktest-%s-%d", id, i), Context: ctx,
		Config: &docker.Config{
			Image: f.Image, Env: environment(f, places, i), Labels: map[string]string{"zktest": id},
		},
		HostConfig: &docker.HostConfig{NetworkMode: b.network},
		NetworkingConfig: &docker.NetworkingConfig{EndpointsConfig: map[string]*docker.EndpointConfig{
			b.network: {IPAMConfig: &docker.EndpointIPAMConfig{IPv4Address: places[i].host}},
		}},
	})
	if err != nil {
		return err
	}
	b.containers = append(b.containers, made.ID)
	if len(f.Counters)+len(f.Versions) == 0 {
		return nil
	}
	snap, err := snapshot(f.Counters, f.Versions)
	if err != nil {
		return err
	}
	archive, err := archived(snapshotName, snap)
	if err != nil {
		return err
	}
	return b.pool.Client.UploadToContainer(made.ID, docker.UploadToContainerOptions{
		InputStream: archive, Path: "/data", Context: ctx,
	})
}

// environment is how the official image is told its configuration.
func environment(f *Options, places []place, i int) []string {
	cfg := settings(f)
	env := map[string]string{
		"ZOO_MY_ID":                  strconv.Itoa(i + 1),
		"ZOO_TICK_TIME":              cfg["tickTime"],
		"ZOO_INIT_LIMIT":             cfg["initLimit"],
		"ZOO_SYNC_LIMIT":             cfg["syncLimit"],
		"ZOO_MAX_CLIENT_CNXNS":       cfg["maxClientCnxns"],
		"ZOO_4LW_COMMANDS_WHITELIST": cfg["4lw.commands.whitelist"],
		"ZOO_ADMINSERVER_ENABLED":    cfg["admin.enableServer"],
		"JVMFLAGS":                   strings.Join(jvmFlags(f), " "),
	}
	for _, named := range []string{
		"tickTime", "initLimit", "syncLimit", "maxClientCnxns", "4lw.commands.whitelist", "admin.enableServer",
	} {
		delete(cfg, named)
	}
	env["ZOO_CFG_EXTRA"] = strings.Join(pairs(cfg), " ")
	if len(places) > 1 {
		var all []string
		for k, p := range places {
			all = append(all, fmt.Sprintf("server.%d=%s:%d:%d;%d", k+1, p.host, p.peer, p.election, p.client))
		}
		env["ZOO_SERVERS"] = strings.Join(all, " ")
	}
	return pairs(env)
}

// archived is a tar file of one file in its folder.
func archived(name string, content []byte) (*bytes.Buffer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := errors.Join(
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: path.Dir(name) + "/", Mode: 0o777}),
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o666, Size: int64(len(content))}),
	)
	_, errWrite := w.Write(content)
	return &out, errors.Join(err, errWrite, w.Close())
}

func (b *dockerBackend) start(ctx context.Context, i int) error {
	return b.pool.Client.StartContainerWithContext(b.containers[i], nil, ctx)
}

func (b *dockerBackend) runs(ctx context.Context, i int) bool {
	c, err := b.pool.Client.InspectContainerWithContext(b.containers[i], ctx)
	return err != nil || c.State.Running // a daemon that does not answer tells nothing
}

func (b *dockerBackend) kill(ctx context.Context, i int) error {
	err := b.pool.Client.KillContainer(docker.KillContainerOptions{ID: b.containers[i], Context: ctx})
	var idle *docker.ContainerNotRunning
	if errors.As(err, &idle) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = b.pool.Client.WaitContainerWithContext(b.containers[i], ctx)
	return err
}

func (b *dockerBackend) pause(_ context.Context, i int, on bool) error {
	if on {
		return b.pool.Client.PauseContainer(b.containers[i])
	}
	return b.pool.Client.UnpauseContainer(b.containers[i])
}

func (b *dockerBackend) inside(ctx context.Context, i int) ([]string, error) {
	c, err := b.pool.Client.InspectContainerWithContext(b.containers[i], ctx)
	if err != nil {
		return nil, err
	}
	if !c.State.Running {
		return nil, nil
	}
	return []string{"nsenter", "--net=/proc/" + strconv.Itoa(c.State.Pid) + "/ns/net"}, nil
}

func (b *dockerBackend) log(ctx context.Context, i int) (string, error) {
	var out bytes.Buffer
	err := b.pool.Client.Logs(docker.LogsOptions{
		Context: ctx, Container: b.containers[i], OutputStream: &out, ErrorStream: &out, Stdout: true, Stderr: true,
	})
	return out.String(), err
}

func (b *dockerBackend) close() error {
	var errs []error
	for _, id := range b.containers {
		errs = append(errs, b.pool.Client.RemoveContainer(docker.RemoveContainerOptions{ID: id, Force: true, RemoveVolumes: true}))
	}
	if b.network != "" {
		errs = append(errs, b.pool.Client.RemoveNetwork(b.network))
	}
	b.pool.Client.HTTPClient.CloseIdleConnections()
	return errors.Join(errs...)
}
