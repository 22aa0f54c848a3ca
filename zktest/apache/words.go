package apache

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// The limits of one four-letter command: a paused or cut server never answers, and a busy one
// after seconds. Role is repeated until it succeeds, and so may be less patient.
const (
	wordTimeout = 20 * time.Second
	roleTimeout = 2 * time.Second
)

// FourLetter sends a four-letter word (ruok, srvr, mntr, ...) to server i and
// returns its answer. FourLetter gives up after 20 seconds.
func (c *Cluster) FourLetter(ctx context.Context, i int, word string) (string, error) {
	c.mustBeStarted()
	ctx, cancel := context.WithTimeout(ctx, wordTimeout)
	defer cancel()
	return c.askServer(ctx, i, word)
}

func (c *Cluster) askServer(ctx context.Context, i int, word string) (string, error) {
	if err := c.checkIndex(i); err != nil {
		return "", err
	}
	answer, err := askWord(ctx, c.places[i].addr(), word)
	if err != nil {
		return "", fmt.Errorf("apache: %s of server %d: %w", word, i, err)
	}
	return answer, nil
}

func askWord(ctx context.Context, addr, word string) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	if err != nil && len(answer) == 0 {
		return "", err
	}
	return string(answer), nil
}

// Role returns the present role of server i: "standalone", "leader" or
// "follower". Role gives up after two seconds. The error wraps ErrNotServing.
func (c *Cluster) Role(ctx context.Context, i int) (string, error) {
	c.mustBeStarted()
	ctx, cancel := context.WithTimeout(ctx, roleTimeout)
	defer cancel()
	answer, err := c.askServer(ctx, i, "srvr")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotServing, err)
	}
	for line := range strings.Lines(answer) {
		if role, ok := strings.CutPrefix(line, "Mode: "); ok {
			return strings.TrimSpace(role), nil
		}
	}
	return "", fmt.Errorf("apache: server %d: %w: %s", i, ErrNotServing, strings.TrimSpace(answer))
}

// Leader returns the index of the leading server, or of the only server. A
// leader may claim the role for a while after being cut off; Leader returns the
// first server with the claim.
func (c *Cluster) Leader(ctx context.Context) (int, error) {
	c.mustBeStarted()
	for i := range c.places {
		role, err := c.Role(ctx, i)
		if err == nil && (role == "leader" || role == "standalone") {
			return i, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return 0, fmt.Errorf("apache: no leader: %w", ErrNotServing)
}

// Await waits until the given servers (by default all) serve clients and the
// cluster has a leader. Await gives up when ctx ends, after two minutes, and
// immediately if one of the servers is not running.
func (c *Cluster) Await(ctx context.Context, servers ...int) error {
	c.mustBeStarted()
	if len(servers) == 0 {
		for i := range c.places {
			servers = append(servers, i)
		}
	}
	for _, i := range servers {
		if err := c.checkIndex(i); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		err := c.checkServing(ctx, servers)
		if err == nil {
			return nil
		}
		for _, i := range servers {
			if c.back != nil && !c.back.isRunning(ctx, i) {
				return fmt.Errorf("apache: server %d does not run: %w", i, ErrNotServing)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("apache: wait for servers %v: %w: %w", servers, ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func (c *Cluster) checkServing(ctx context.Context, servers []int) error {
	for _, i := range servers {
		if _, err := c.Role(ctx, i); err != nil {
			return err
		}
	}
	_, err := c.Leader(ctx)
	return err
}
