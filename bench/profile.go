package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/bench/internal/relay"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/session"
)

// profile is a network between the peers and the servers.
type profile struct {
	name string
	// delay is the time from a byte's sending to its arrival; 0 means no relay.
	delay time.Duration
}

// The profiles.
var (
	// loopback is the network of this machine: the servers' processor is the limit.
	loopback = profile{name: "loopback"} // read only
	// lan has the round trip of a data center, the same for all peers.
	lan = profile{name: "lan", delay: 500 * time.Microsecond} // read only
)

func parseProfiles(text string) (out []profile, err error) {
	for name := range strings.SplitSeq(text, ",") {
		all := []profile{loopback, lan}
		i := slices.IndexFunc(all, func(p profile) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-profile: %q is neither loopback nor lan", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}

// network is the servers as peers reach them in a profile.
type network struct {
	servers string
	relays  []*relay.Relay
}

// connect starts the relays of p, one for each of servers.
func (p profile) connect(servers string) (*network, error) {
	n := &network{servers: servers}
	if p.delay == 0 {
		return n, nil
	}
	var addrs []string
	for server := range strings.SplitSeq(servers, ",") {
		r, err := relay.Start(server, p.delay)
		if err != nil {
			return nil, errors.Join(err, n.close())
		}
		n.relays = append(n.relays, r)
		addrs = append(addrs, r.Addr())
	}
	n.servers = strings.Join(addrs, ",")
	return n, nil
}

func (n *network) close() error {
	var errs []error
	for _, r := range n.relays {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// pings is how many reads measure the round trip.
const pings = 200

// roundTrip is the median time of a small read, by which a server answers at once.
func (n *network) roundTrip(ctx context.Context, timeout time.Duration) (_ time.Duration, err error) {
	client, err := session.Connect(ctx, n.servers, &session.Options{Timeout: timeout})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, client.Close(ctx)) }()
	s, err := client.Session(ctx)
	if err != nil {
		return 0, err
	}
	var times []float64
	for range pings {
		began := time.Now()
		if _, _, err := s.Exists(ctx, "/"); err != nil {
			return 0, err
		}
		times = append(times, float64(time.Since(began)))
	}
	return time.Duration(task.Median(times)), nil
}
