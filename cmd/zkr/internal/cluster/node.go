package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

// Dialer opens connections.
type Dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// Connect connects to ZooKeeper with a dialer of the node's.
type Connect func(ctx context.Context, dial Dialer) (*session.Client, error)

// between is the pause between two lives: long enough to spare servers that
// refuse, and short compared with a session.
const between = 50 * time.Millisecond

// Node is a process of the cluster.
type Node struct {
	name    string
	address netip.AddrPort
	connect Connect
	resign  chan struct{} // cap 1: the leader is to step down
	poll    poll

	// mu guards the fields below. lead is set from the move to the coordinators
	// until the node has stopped serving; its context tells whether the node
	// still leads. place is the candidacy, or nil.
	mu     sync.Mutex
	client *session.Client
	life   int
	cause  string
	role   Role
	since  time.Time
	place  *election.Candidacy
	lead   *election.Leadership
	peers  []peer // the workers, as the leader sees them
	led    *Led
}

// errName: the name of a node is invalid.
var errName = fmt.Errorf("must be up to %d letters, digits, and any of \".-_\"", longestName)

// NewNode makes a node with address, ip:port, for other nodes.
func NewNode(name, address string, connect Connect) (*Node, error) {
	at, err := parseAddress(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", address, err)
	}
	if !validName(name) {
		return nil, fmt.Errorf("name %q: %w", name, errName)
	}
	return &Node{
		name: name, address: at, connect: connect, resign: make(chan struct{}, 1), poll: poll{asker: newAsker()},
		role: Joining, since: time.Now(),
	}, nil
}

// Run lives one life after the other, until ctx ends: then the node leaves the
// order and the registry. Run fails when a further life would not help.
func (n *Node) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := n.live(ctx)
		if ctx.Err() == nil && !again(err) {
			return err
		}
		n.noteEnd(err)
		pause := time.NewTimer(between)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
	return nil
}

// again reports whether another life may succeed after err.
func again(err error) bool {
	for _, no := range []error{
		session.ErrAuthFailed, session.ErrNoAuth, session.ErrTimeoutRefused, session.ErrTimeoutTooShort,
		session.ErrInvalidArgument,
	} {
		if errors.Is(err, no) {
			return false
		}
	}
	return true
}

// Resign asks the leader to step down. Resign reports false if the node does
// not lead.
func (n *Node) Resign() bool {
	if n.Leads() == nil {
		return false
	}
	select {
	case n.resign <- struct{}{}:
	default: // an earlier request is pending
	}
	return true
}

// Leads is the present leadership, or nil. Leads compares the clock, so the
// result is correct even right after a pause of the process.
func (n *Node) Leads() *election.Leadership {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leadsLocked()
}

func (n *Node) leadsLocked() *election.Leadership {
	if n.lead == nil || n.lead.Context().Err() != nil {
		return nil
	}
	return n.lead
}

// Status is the node's knowledge of itself.
func (n *Node) Status() Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := Status{
		Name: n.name, PID: os.Getpid(), Address: n.address.String(), Role: n.role, Since: n.since, Life: n.life, Cause: n.cause,
		Led: n.led, At: time.Now(),
	}
	if n.client != nil {
		state := n.client.State()
		s.Session, s.SessionState, s.TrustedUntil = fmt.Sprintf("%#x", state.Session), state.Status.String(), state.TrustedUntil
		if state.Session == 0 {
			s.Session = ""
		}
	}
	if n.place != nil {
		s.Znode, s.Watched, s.Timeout = n.place.Path(), n.place.Watching(), n.place.Session().Timeout().Milliseconds()
	}
	switch l := n.leadsLocked(); {
	case l != nil:
		s.Term, s.Token = l.Term(), l.Token()
	case s.Role == Leader: // leader no more, and about to notice
		s.Role = Joining
	}
	return s
}

// setRole sets the node's role.
func (n *Node) setRole(role Role, change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.role, n.since = role, time.Now()
	change()
}

// begun takes note of a new life.
func (n *Node) begun(c *session.Client) {
	n.setRole(Joining, func() { n.client = c; n.life++ })
}

// noteEnd takes note of a life's end.
func (n *Node) noteEnd(cause error) {
	n.setRole(Joining, func() { n.cause = cause.Error() })
}
