package apache

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// startTimeout bounds the start of a cluster or a server on a busy machine.
const startTimeout = 2 * time.Minute

// backend is one way to run servers. Calls for one server come one at a time.
type backend interface {
	// start runs server i; starting a running server is an error.
	start(ctx context.Context, i int) error
	// kill ends server i immediately, if running, and waits for its end.
	kill(ctx context.Context, i int) error
	// isRunning says whether server i runs, paused or not.
	isRunning(ctx context.Context, i int) bool
	// pause stops server i without notice, or lets the server continue.
	pause(ctx context.Context, i int, on bool) error
	// namespacePrefix is the start of a command line for running the rest in the network
	// namespace of server i, or nothing without a namespace.
	namespacePrefix(ctx context.Context, i int) ([]string, error)
	// log returns the whole output of server i.
	log(ctx context.Context, i int) (string, error)
	close() error
}

// Cluster is a standalone Apache ZooKeeper or an ensemble of them.
type Cluster struct {
	mode   Mode
	dir    string
	places []place
	back   backend
	guard  *guard
	subnet *subnet // nil: links cannot be cut
	seats  []sync.Mutex

	mu sync.Mutex
	// rules are the cuts in force. A restarted server may have a new network
	// namespace; its rules are then applied again.
	rules map[rule]bool

	closeOnce sync.Once
	closeErr  error
}

// Start runs a cluster and waits until all its servers serve. The error wraps
// ErrUnavailable if this machine cannot run ZooKeeper. The caller must close
// the cluster. ctx bounds only the start, which takes at most two minutes.
func Start(ctx context.Context, o *Options) (*Cluster, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("apache: start: %w", err)
	}
	f, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	mode, err := chooseMode(ctx, f)
	if err != nil {
		return nil, err
	}
	if mode == Given {
		return wrapGiven(ctx, f)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c, err := prepareCluster(ctx, mode, f)
	if err != nil {
		return nil, err
	}
	err = c.startServers(ctx, f.Servers-f.Spare)
	if err != nil {
		err = fmt.Errorf("apache: start: %w\n%s", err, c.Logs(context.WithoutCancel(ctx), 30))
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// prepareCluster makes everything needed by the servers. The guard for the clean-up is
// started first.
func prepareCluster(ctx context.Context, mode Mode, f *Options) (*Cluster, error) {
	var random [3]byte
	_, _ = rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	dir, err := os.MkdirTemp(f.Dir, "zktest-"+id+"-")
	if err != nil {
		return nil, fmt.Errorf("apache: start: %w", err)
	}
	c := &Cluster{mode: mode, dir: dir, seats: make([]sync.Mutex, f.Servers), rules: map[rule]bool{}}
	if c.guard, err = startGuard(id, dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	switch mode {
	case Docker:
		err = c.prepareDocker(ctx, id, f)
	default:
		err = c.prepareJars(ctx, id, f)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("apache: start: %w", err), c.Close())
	}
	return c, nil
}

// startServers starts the first n servers and waits for them.
func (c *Cluster) startServers(ctx context.Context, n int) error {
	var started []int
	for i := range n {
		if err := c.Launch(ctx, i); err != nil {
			return err
		}
		started = append(started, i)
	}
	return c.Await(ctx, started...)
}

// Connect is the connect string of all servers, "host:port,host:port".
func (c *Cluster) Connect() string {
	c.mustBeStarted()
	return strings.Join(c.Servers(), ",")
}

// Servers are the addresses of the servers for clients; all methods identify a
// server by its index in this list.
func (c *Cluster) Servers() []string {
	c.mustBeStarted()
	out := make([]string, len(c.places))
	for i, p := range c.places {
		out[i] = p.addr()
	}
	return out
}

// Member is the line of server i in a dynamic configuration, for a reconfiguration that lets
// it join: "server.ID=HOST:PORT:PORT:participant;HOST:PORT". The ID is the index plus one.
// See Options.Spare.
func (c *Cluster) Member(i int) string {
	c.mustBeStarted()
	return c.places[i].member(i)
}

// Mode says how the servers are run.
func (c *Cluster) Mode() Mode {
	c.mustBeStarted()
	return c.mode
}

// Close ends all servers and removes all traces of the cluster from the
// machine. A Given ensemble is left alone. Later calls return the result of the
// first.
func (c *Cluster) Close() error {
	c.mustBeStarted()
	c.closeOnce.Do(func() {
		var errs []error
		if c.back != nil {
			errs = append(errs, c.back.close())
		}
		if c.guard != nil {
			errs = append(errs, c.guard.finishCleanUp())
		}
		if c.subnet != nil {
			errs = append(errs, c.subnet.claim.Close())
		}
		c.closeErr = errors.Join(errs...)
	})
	return c.closeErr
}

// Logs returns the last lines printed by each server.
func (c *Cluster) Logs(ctx context.Context, lines int) string {
	c.mustBeStarted()
	if c.back == nil {
		return ""
	}
	var out strings.Builder
	for i := range c.places {
		text, err := c.back.log(ctx, i)
		if err != nil {
			text = err.Error()
		}
		all := strings.Split(strings.TrimRight(text, "\n"), "\n")
		fmt.Fprintf(&out, "--- server %d (%s)\n%s\n", i, c.places[i].addr(),
			strings.Join(all[max(0, len(all)-lines):], "\n"))
	}
	return out.String()
}

// checkIndex fails for an index outside the cluster.
func (c *Cluster) checkIndex(i int) error {
	if i < 0 || i >= len(c.places) {
		return fmt.Errorf("apache: server %d of %d: %w", i, len(c.places), ErrNoServer)
	}
	return nil
}
