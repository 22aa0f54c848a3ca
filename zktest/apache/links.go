package apache

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Direction selects the packets of a link to be lost. The methods name two
// ends, the first and the second.
type Direction int

// The directions of a link.
const (
	// Both ways.
	Both Direction = iota
	// Forth is from the first end to the second.
	Forth
	// Back is from the second end to the first.
	Back
)

// EveryClient stands for all clients on this machine, with or without a Client.
const EveryClient = -1

// rule is one cut: packets between server and other are dropped in the
// network namespace of the server.
type rule struct {
	server   int
	incoming bool
	other    string // address or subnet
}

func (r rule) iptablesArgs() []string {
	if r.incoming {
		return []string{"INPUT", "-s", r.other, "-j", "DROP"}
	}
	return []string{"OUTPUT", "-d", r.other, "-j", "DROP"}
}

// CutPeers loses all packets from server i to server j (Forth), from j to i
// (Back), or Both, until Heal. Packets are dropped on arrival, so the sender
// cannot tell.
func (c *Cluster) CutPeers(ctx context.Context, i, j int, dir Direction) error {
	c.mustBeStarted()
	if err := c.checkIndex(j); err != nil {
		return err
	}
	var rules []rule
	if dir != Back {
		rules = append(rules, rule{server: j, incoming: true, other: c.hostOf(i)})
	}
	if dir != Forth {
		rules = append(rules, rule{server: i, incoming: true, other: c.hostOf(j)})
	}
	return c.addRules(ctx, i, rules)
}

// Isolate cuts server i off from all other servers, both ways. Its links to
// clients stay.
func (c *Cluster) Isolate(ctx context.Context, i int) error {
	c.mustBeStarted()
	for j := range c.places {
		if j == i {
			continue
		}
		if err := c.CutPeers(ctx, i, j, Both); err != nil {
			return err
		}
	}
	return nil
}

// CutClient loses all packets from client k (see Client; EveryClient: all of
// this machine) to server i (Forth), from the server to the client (Back), or
// Both, until Heal.
func (c *Cluster) CutClient(ctx context.Context, k, i int, dir Direction) error {
	c.mustBeStarted()
	if c.subnet == nil {
		return fmt.Errorf("apache: cut client %d from server %d: %w", k, i, ErrNoCuts)
	}
	other := c.subnet.clientSubnet()
	if k != EveryClient {
		if k < 0 || k >= Clients {
			return fmt.Errorf("apache: cut client %d from server %d: there are %d clients", k, i, Clients)
		}
		other = c.subnet.clientAddr(k)
	}
	var rules []rule
	if dir != Back {
		rules = append(rules, rule{server: i, incoming: true, other: other})
	}
	if dir != Forth {
		rules = append(rules, rule{server: i, incoming: false, other: other})
	}
	return c.addRules(ctx, i, rules)
}

// Heal takes all cuts back.
func (c *Cluster) Heal(ctx context.Context) error {
	c.mustBeStarted()
	c.mu.Lock()
	servers := map[int]bool{}
	for r := range c.rules {
		servers[r.server] = true
	}
	clear(c.rules)
	c.mu.Unlock()
	for i := range servers {
		err := c.controlServer(ctx, "heal", i, func() error {
			inside, err := c.back.namespacePrefix(ctx, i)
			if err != nil || inside == nil {
				return err // no namespace, no rules
			}
			return runCommand(ctx, append(inside, "iptables", "-w", "-F")...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) hostOf(i int) string {
	if c.checkIndex(i) != nil {
		return ""
	}
	return c.places[i].host
}

// addRules puts rules in force; i is the server named in errors.
func (c *Cluster) addRules(ctx context.Context, i int, rules []rule) error {
	if err := c.checkIndex(i); err != nil {
		return err
	}
	if c.subnet == nil {
		return fmt.Errorf("apache: cut server %d: %w", i, ErrNoCuts)
	}
	for _, r := range rules {
		c.mu.Lock()
		old := c.rules[r]
		c.rules[r] = true
		c.mu.Unlock()
		if old {
			continue
		}
		if err := c.controlServer(ctx, "cut", r.server, func() error { return c.applyRule(ctx, r) }); err != nil {
			return err
		}
	}
	return nil
}

// cutAgain applies the rules of server i again after a start. The caller has
// the server's seat.
func (c *Cluster) cutAgain(ctx context.Context, i int) error {
	c.mu.Lock()
	var mine []rule
	for r := range c.rules {
		if r.server == i {
			mine = append(mine, r)
		}
	}
	c.mu.Unlock()
	for _, r := range mine {
		if err := c.applyRule(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// applyRule adds the rule in its server's namespace unless present. A stopped
// container has no namespace and gets its rules at the next start.
func (c *Cluster) applyRule(ctx context.Context, r rule) error {
	inside, err := c.back.namespacePrefix(ctx, r.server)
	if err != nil || inside == nil {
		return err
	}
	if runCommand(ctx, append(inside, append([]string{"iptables", "-w", "-C"}, r.iptablesArgs()...)...)...) == nil {
		return nil
	}
	return runCommand(ctx, append(inside, append([]string{"iptables", "-w", "-A"}, r.iptablesArgs()...)...)...)
}

// Client is an address of this machine for connections to the servers. The
// links of one Client can be cut while the links of other clients stay.
type Client struct {
	dialer net.Dialer
}

// Client returns client k, 0 <= k < Clients. A Client can dial without
// Options.Cuts too, but its links cannot be cut.
func (c *Cluster) Client(k int) *Client {
	c.mustBeStarted()
	var cl Client
	if c.subnet != nil && k >= 0 && k < Clients {
		cl.dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(c.subnet.clientAddr(k))}
	}
	return &cl
}

// DialContext opens a connection from the client's address.
func (cl *Client) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	cl.mustBeMade()
	return cl.dialer.DialContext(ctx, network, addr)
}

// Dial is DialContext in the form of go-zookeeper's Dialer; a timeout of 0 means
// none.
func (cl *Client) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	cl.mustBeMade()
	d := cl.dialer
	d.Timeout = timeout
	return d.Dial(network, addr)
}
