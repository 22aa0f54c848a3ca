package apache

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
)

// chooseMode selects the mode. If the mode is unavailable, the error says what to
// install.
func chooseMode(ctx context.Context, f *Options) (Mode, error) {
	if f.Cuts && f.Mode != Given {
		if err := canCut(); err != nil {
			return "", fmt.Errorf("apache: %w", err)
		}
	}
	var reasons []error
	for _, way := range []struct {
		mode Mode
		able func() error
	}{
		{Given, func() error { return canUse(f) }},
		{Jars, func() error { _, _, err := findJars(os.Getenv(EnvHome)); return err }},
		{Docker, func() error { return canDocker(ctx, f) }},
	} {
		if f.Mode != "" && f.Mode != way.mode {
			continue
		}
		err := way.able()
		if err == nil {
			return way.mode, nil
		}
		reasons = append(reasons, fmt.Errorf("%s: %w", way.mode, err))
	}
	return "", fmt.Errorf("apache: %w", errors.Join(reasons...))
}

// canUse returns an error unless ZKTEST_SERVERS is set and fits these options.
func canUse(f *Options) error {
	list := os.Getenv(EnvServers)
	switch n := len(strings.Split(list, ",")); {
	case list == "":
		return fmt.Errorf("%w: %s is not set", ErrUnavailable, EnvServers)
	case f.Own:
		return fmt.Errorf("%w: the servers of %s are not the test's own to kill or cut", ErrUnavailable, EnvServers)
	case n < f.Servers:
		return fmt.Errorf("%w: %s names %d servers, %d are needed", ErrUnavailable, EnvServers, n, f.Servers)
	}
	return nil
}

// wrapGiven wraps the ensemble of ZKTEST_SERVERS and checks whether the ensemble
// serves.
func wrapGiven(ctx context.Context, f *Options) (*Cluster, error) {
	c := &Cluster{mode: Given, rules: map[rule]bool{}}
	for _, server := range strings.Split(os.Getenv(EnvServers), ",") {
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			host, port = server, "2181"
		}
		n, err := strconv.Atoi(port)
		if err != nil {
			return nil, fmt.Errorf("apache: %s: %q: port: %w", EnvServers, server, err)
		}
		c.places = append(c.places, place{host: host, client: n})
	}
	c.seats = make([]sync.Mutex, len(c.places))
	for i := range c.places {
		if answer, err := c.FourLetter(ctx, i, "srvr"); err != nil || answer == "" {
			return nil, fmt.Errorf("apache: %s: server %s does not answer srvr (4lw.commands.whitelist?): %w",
				EnvServers, c.places[i].addr(), errors.Join(ErrUnavailable, err))
		}
	}
	return c, nil
}
