package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"

	"github.com/zkrecipes/zkrecipes/zktest/internal/containers"
)

// patience bounds each request to the daemon. A pull of an image takes longest.
const patience = 5 * time.Minute

// service has the methods named in package containers, in the form required by
// net/rpc. Its containers form one cluster.
type service struct {
	pool *dockertest.Pool

	mu sync.Mutex
	// ids are the containers, by server; network is theirs. Both are empty once
	// Remove has begun.
	ids     []string
	network string
}

// newService fails if no daemon answers.
func newService() (*service, error) {
	pool, err := dockertest.NewPool("")
	if err == nil {
		err = pool.Client.Ping()
	}
	if err != nil {
		return nil, fmt.Errorf("no Docker daemon: install and start docker.io: %w", err)
	}
	return &service{pool: pool}, nil
}

// limited returns the context for a request to the daemon.
func limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// Find returns the image to use: see containers.Find.
func (s *service) Find(wanted []string, found *string) error {
	if len(wanted) == 0 {
		return errors.New("find an image: no name given")
	}
	for _, image := range wanted {
		if _, err := s.pool.Client.InspectImage(image); err == nil {
			*found = image
			return nil
		}
	}
	ctx, cancel := limited()
	defer cancel()
	repository, tag := docker.ParseRepositoryTag(wanted[0])
	if tag == "" {
		tag = "latest"
	}
	*found = wanted[0]
	return s.pool.Client.PullImage(docker.PullImageOptions{Repository: repository, Tag: tag, Context: ctx}, docker.AuthConfiguration{})
}

// Prepare creates the network and the containers of a cluster.
func (s *service) Prepare(spec containers.Spec, _ *containers.None) error {
	ctx, cancel := limited()
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.network != "" {
		return errors.New("prepare: the containers exist already")
	}
	made, err := s.pool.Client.CreateNetwork(docker.CreateNetworkOptions{
		Name: "zktest-" + spec.ID, Driver: "bridge", Context: ctx,
		Labels:  map[string]string{"zktest": spec.ID},
		Options: map[string]any{"com.docker.network.bridge.name": spec.Device},
		IPAM:    &docker.IPAMOptions{Config: []docker.IPAMConfig{{Subnet: spec.Subnet, Gateway: spec.Gateway}}},
	})
	if err != nil {
		return err
	}
	s.network = made.ID
	for i, server := range spec.Servers {
		if err := s.createLocked(ctx, spec, i, server); err != nil {
			return fmt.Errorf("container %d: %w", i, err)
		}
	}
	return nil
}

// createLocked creates the container of server i and copies the file into the
// container.
func (s *service) createLocked(ctx context.Context, spec containers.Spec, i int, server containers.Server) error {
	made, err := s.pool.Client.CreateContainer(docker.CreateContainerOptions{
		Name: fmt.Sprintf("zktest-%s-%d", spec.ID, i), Context: ctx,
		Config:     &docker.Config{Image: spec.Image, Env: server.Env, Labels: map[string]string{"zktest": spec.ID}},
		HostConfig: &docker.HostConfig{NetworkMode: s.network},
		NetworkingConfig: &docker.NetworkingConfig{EndpointsConfig: map[string]*docker.EndpointConfig{
			s.network: {IPAMConfig: &docker.EndpointIPAMConfig{IPv4Address: server.Host}},
		}},
	})
	if err != nil {
		return err
	}
	s.ids = append(s.ids, made.ID)
	for _, f := range server.Files {
		archive, err := archived(f)
		if err != nil {
			return err
		}
		err = s.pool.Client.UploadToContainer(made.ID, docker.UploadToContainerOptions{InputStream: archive, Path: "/data", Context: ctx})
		if err != nil {
			return err
		}
	}
	return nil
}

// archived is a tar file of a single file in its folder.
func archived(f containers.File) (*bytes.Buffer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := errors.Join(
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: path.Dir(f.Name) + "/", Mode: 0o777}),
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Mode: 0o666, Size: int64(len(f.Content))}),
	)
	_, errWrite := w.Write(f.Content)
	return &out, errors.Join(err, errWrite, w.Close())
}

// container returns the id of the container of server i.
func (s *service) container(i int) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < 0 || i >= len(s.ids) {
		return "", fmt.Errorf("server %d of %d: no such container", i, len(s.ids))
	}
	return s.ids[i], nil
}

// Start runs the container of server i.
func (s *service) Start(i int, _ *containers.None) error {
	id, err := s.container(i)
	if err != nil {
		return err
	}
	ctx, cancel := limited()
	defer cancel()
	return s.pool.Client.StartContainerWithContext(id, nil, ctx)
}

// Kill ends server i as SIGKILL does and waits for its end. Kill of a stopped
// server has no effect.
func (s *service) Kill(i int, _ *containers.None) error {
	id, err := s.container(i)
	if err != nil {
		return err
	}
	ctx, cancel := limited()
	defer cancel()
	err = s.pool.Client.KillContainer(docker.KillContainerOptions{ID: id, Context: ctx})
	var idle *docker.ContainerNotRunning
	if errors.As(err, &idle) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.pool.Client.WaitContainerWithContext(id, ctx)
	return err
}

// Running says whether server i runs, paused or not.
func (s *service) Running(i int, runs *bool) error {
	c, err := s.inspect(i)
	if err == nil {
		*runs = c.State.Running
	}
	return err
}

// PID replies with the process id of server i on the host, 0 if the server does
// not run.
func (s *service) PID(i int, pid *int) error {
	c, err := s.inspect(i)
	if err == nil && c.State.Running {
		*pid = c.State.Pid
	}
	return err
}

func (s *service) inspect(i int) (*docker.Container, error) {
	id, err := s.container(i)
	if err != nil {
		return nil, err
	}
	ctx, cancel := limited()
	defer cancel()
	return s.pool.Client.InspectContainerWithContext(id, ctx)
}

// Pause stops all processes of a server, or lets them go on.
func (s *service) Pause(f containers.Freeze, _ *containers.None) error {
	id, err := s.container(f.Server)
	if err != nil {
		return err
	}
	if f.On {
		return s.pool.Client.PauseContainer(id)
	}
	return s.pool.Client.UnpauseContainer(id)
}

// Log replies with the whole output of server i.
func (s *service) Log(i int, text *string) error {
	id, err := s.container(i)
	if err != nil {
		return err
	}
	ctx, cancel := limited()
	defer cancel()
	var out bytes.Buffer
	err = s.pool.Client.Logs(docker.LogsOptions{
		Context: ctx, Container: id, OutputStream: &out, ErrorStream: &out, Stdout: true, Stderr: true,
	})
	*text = out.String()
	return err
}

// Remove removes the containers and the network. A second call has nothing left
// to do.
func (s *service) Remove(containers.None, *containers.None) error {
	s.mu.Lock()
	ids, network := s.ids, s.network
	s.ids, s.network = nil, ""
	s.mu.Unlock()
	var errs []error
	for _, id := range ids {
		errs = append(errs, s.pool.Client.RemoveContainer(docker.RemoveContainerOptions{ID: id, Force: true, RemoveVolumes: true}))
	}
	if network != "" {
		errs = append(errs, s.pool.Client.RemoveNetwork(network))
	}
	return errors.Join(errs...)
}
