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
	// start runs server i; it is an error if it runs already.
	start(ctx context.Context, i int) error
	// kill ends server i at once, if it runs, and waits until it is gone.
	kill(ctx context.Context, i int) error
	// runs says whether server i runs, paused or not.
	runs(ctx context.Context, i int) bool
	// pause stops server i without its knowing, or lets it go on.
	pause(ctx context.Context, i int, on bool) error
	// inside is the start of a command line that runs the rest in the network
	// namespace of server i, or nothing if there is none at present.
	inside(ctx context.Context, i int) ([]string, error)
	// log is all that server i has printed.
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
	// rules are the cuts that are in force. A server that is started again
	// may have a new network namespace and gets its own again.
	rules map[rule]bool

	closeOnce sync.Once
	closeErr  error
}

// Start runs a cluster and waits until all its servers serve. It fails with an
// error that wraps ErrUnavailable when there is nothing to run it with. The
// caller closes it; ctx bounds the start only, as do two minutes.
func Start(ctx context.Context, o *Options) (*Cluster, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("apache: start: %w", err)
	}
	f, err := o.filled()
	if err != nil {
		return nil, err
	}
	mode, err := choose(ctx, f)
	if err != nil {
		return nil, err
	}
	if mode == Given {
		return given(ctx, f)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c, err := prepare(ctx, mode, f)
	if err != nil {
		return nil, err
	}
	err = c.run(ctx)
	if err != nil {
		err = fmt.Errorf("apache: start: %w\n%s", err, c.Logs(context.WithoutCancel(ctx), 30))
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// prepare makes all that servers need, and the guard that removes it, before
// the first thing to be removed.
func prepare(ctx context.Context, mode Mode, f *Options) (*Cluster, error) {
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

// run starts all servers and waits for them.
func (c *Cluster) run(ctx context.Context) error {
	for i := range c.places {
		if err := c.Launch(ctx, i); err != nil {
			return err
		}
	}
	return c.Await(ctx)
}

// Connect is the connect string of all servers, "host:port,host:port".
func (c *Cluster) Connect() string { return strings.Join(c.Servers(), ",") }

// Servers are the addresses of the servers for clients; a server's index in
// this list is the one that all methods take.
func (c *Cluster) Servers() []string {
	out := make([]string, len(c.places))
	for i, p := range c.places {
		out[i] = p.addr()
	}
	return out
}

// Mode says how the servers are run.
func (c *Cluster) Mode() Mode { return c.mode }

// Close ends all servers and removes everything that the cluster has on the
// machine. A running ensemble that was given is left alone. Later calls return
// what the first did.
func (c *Cluster) Close() error {
	c.closeOnce.Do(func() {
		var errs []error
		if c.back != nil {
			errs = append(errs, c.back.close())
		}
		if c.guard != nil {
			errs = append(errs, c.guard.finish())
		}
		if c.subnet != nil {
			errs = append(errs, c.subnet.claim.Close())
		}
		c.closeErr = errors.Join(errs...)
	})
	return c.closeErr
}

// Logs are the last lines that each server printed.
func (c *Cluster) Logs(ctx context.Context, lines int) string {
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

// known fails for an index outside the cluster.
func (c *Cluster) known(i int) error {
	if i < 0 || i >= len(c.places) {
		return fmt.Errorf("apache: server %d of %d: %w", i, len(c.places), ErrNoServer)
	}
	return nil
}
