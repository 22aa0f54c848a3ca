package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// started says which servers a run starts.
type started struct {
	number int
	tick   time.Duration
}

// onServers calls do with a connect string and the znodes of the servers: of a running
// ensemble, or, if running is "", of servers that are started for the call.
func onServers(ctx context.Context, running string, how started, timeout time.Duration, do func(servers string, z znodes) error) (err error) {
	if running == "" {
		servers, err := serve(ctx, how)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, servers.Close()) }()
		running = servers.Connect()
	}
	z, err := connectZnodes(ctx, running, timeout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, z.close(ctx)) }()
	return do(running, z)
}

// serve starts servers from Debian's packages, with their data in memory if a memory file
// system is available.
func serve(ctx context.Context, how started) (*apache.Cluster, error) {
	o := &apache.Options{Servers: how.number, Mode: apache.Jars, TickTime: how.tick, Heap: 1024, ContainerInterval: time.Minute}
	const memory = "/dev/shm"
	if _, err := os.Stat(memory); err == nil {
		o.Dir = memory
	}
	cluster, err := apache.Start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("start a server, or use -servers: %w", err)
	}
	return cluster, nil
}
