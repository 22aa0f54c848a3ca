package zktest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/internal/ensemble"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

// ErrClosed is returned by Dial after Close.
var ErrClosed = errors.New("zktest: server closed")

// Server is a single ZooKeeper server or an ensemble. Servers are numbered from
// 1.
type Server struct {
	opt   Options
	loop  *loop
	addrs []string
	tasks sync.WaitGroup // loop, listeners, readers and writers of sockets

	// mu guards everything below and the world. mu is held briefly, never across
	// I/O or a hook.
	mu        sync.Mutex
	world     *ensemble.World
	conns     map[*conn]bool
	sockets   map[*socket]bool // sockets with running writers; a lost answer can leave a socket behind its conn
	listeners []net.Listener   // by server; nil while the server is stopped or in memory
	rules     []rule
	changed   chan struct{} // closed and replaced when rules or servers change
	hooks     []*hook
	onApply   []func(Txn)
	applied   []Txn // committed, hooks not yet told
	stats     Stats
	closed    bool
	nextPort  int
}

// Start starts a server; nil options mean the defaults. The caller must close
// the server.
func Start(o *Options) (*Server, error) {
	opt, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{opt: opt, conns: map[*conn]bool{}, sockets: map[*socket]bool{}, changed: make(chan struct{}), nextPort: 40000}
	s.stats = newStats()
	s.loop = newLoop(&s.mu, s.newsLocked)
	s.listeners = make([]net.Listener, opt.Servers)
	s.addrs = make([]string, opt.Servers)
	for i := range s.addrs {
		// Addresses reserved for documentation: literals need no name server, and
		// a client that bypasses Dial reaches no server.
		s.addrs[i] = fmt.Sprintf("192.0.2.%d:2181", i+1)
		if opt.InMemory {
			continue
		}
		if s.listeners[i], err = net.Listen("tcp", opt.Addr); err != nil {
			s.closeListeners()
			return nil, fmt.Errorf("zktest: listen: %w", err)
		}
		s.addrs[i] = s.listeners[i].Addr().String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world = ensemble.New(ensemble.Config{
		Servers: opt.Servers, Tick: opt.TickTime, MinTimeout: opt.MinSessionTimeout, MaxTimeout: opt.MaxSessionTimeout,
		SyncLimit: opt.SyncLimit, ElectionDelay: opt.ElectionDelay, Latency: opt.Latency,
		ContainerInterval: opt.ContainerInterval, NoTTL: opt.DisableExtendedTypes, Old: opt.OldServer, Product: opt.Product.imitated(), StatNeedsRead: opt.StatNeedsRead,
		Quotas: opt.EnforceQuota, SASLUsers: maps.Clone(opt.SASLUsers), EnforceAuth: slices.Clone(opt.EnforceAuth), ReadOnly: opt.ReadOnly,
		Logger: opt.Logger, FirstZxid: opt.firstZxid(time.Now()), OnCommit: func(t *tree.Txn) { s.applied = append(s.applied, newTxn(t)) },
	}, s.loop)
	// Close waits for the loop; closing loop.done ends it.
	s.tasks.Go(s.loop.run)
	for i, l := range s.listeners {
		if l != nil {
			s.serveLocked(i+1, l)
		}
	}
	return s, nil
}

// Addr returns the connect string for clients: "host:port", or several of
// them with commas. In memory the addresses mean something to Dial only.
func (s *Server) Addr() string {
	s.mustBeStarted()
	return strings.Join(s.addrs, ",")
}

// ServerAddr returns the address of server i, counted from 1, or "".
func (s *Server) ServerAddr(i int) string {
	s.mustBeStarted()
	if i < 1 || i > len(s.addrs) {
		return ""
	}
	return s.addrs[i-1]
}

// Close ends everything: connections, listeners, goroutines. Close may be
// called more than once, but not from a hook, because Close waits for hooks to
// return.
func (s *Server) Close() error {
	s.mustBeStarted()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.tasks.Wait()
		return nil
	}
	s.closed = true
	for c := range s.conns {
		c.wire.reset()
		c.deafenLocked() // wakes a reader waiting for room
	}
	for w := range s.sockets {
		w.reset()
	}
	close(s.changed)
	close(s.loop.done)
	s.mu.Unlock()
	s.closeListeners()
	s.tasks.Wait()
	return nil
}

func (s *Server) closeListeners() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		if l != nil {
			_ = l.Close()
		}
	}
}

// changedLocked wakes the calls waiting for a change of rules or servers.
func (s *Server) changedLocked() {
	if s.closed {
		return
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// WaitLeader waits until the ensemble has elected a leader; a single server
// always leads. The error is that of ctx, or ErrClosed.
func (s *Server) WaitLeader(ctx context.Context) error {
	s.mustBeStarted()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		ready, closed := s.world.Leader() != nil, s.closed
		s.mu.Unlock()
		switch {
		case closed:
			return ErrClosed
		case ready:
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("zktest: wait for a leader: %w", ctx.Err())
		}
	}
}

func (s *Server) findNode(i int) (*ensemble.Node, error) {
	n := s.world.Node(i)
	if n == nil {
		return nil, fmt.Errorf("zktest: no server %d", i)
	}
	return n, nil
}

// Dial connects to the server with address addr, in memory or, if the server
// serves TCP, over TCP. Dial fails if the server is stopped. While a black hole
// covers the server, Dial waits for ctx, as if the SYN were lost.
func (s *Server) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	s.mustBeStarted()
	return s.dialAs(ctx, network, addr, "")
}

// Client returns a dialer whose connections carry a name. A Link with this name
// matches a client with all its sessions. Over TCP the name has no effect.
func (s *Server) Client(name string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	s.mustBeStarted()
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		return s.dialAs(ctx, network, addr, name)
	}
}

// mustBeStarted panics if no call of Start has made the server.
func (s *Server) mustBeStarted() {
	if s == nil || s.loop == nil {
		panic("zktest: the server was not started: make it with zktest.Start")
	}
}
