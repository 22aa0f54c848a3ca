package zktest

import "fmt"

// ExpireSession ends a session as if its time were up: its ephemeral nodes go,
// its connection is closed, and its client is told "expired" after
// reconnecting. In an ensemble the expiry takes as long as a commit.
func (s *Server) ExpireSession(id int64) error {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.world.Expire(id); err != nil {
		return fmt.Errorf("zktest: %w", err)
	}
	s.nudgeLocked()
	return nil
}

// Cut breaks the connections of a session; both ends notice at once, and
// requests and replies in flight are lost. The session lives on. Cut returns
// the number of broken connections.
func (s *Server) Cut(session int64) int {
	s.mustBeStarted()
	return s.CutLink(Link{Session: session})
}

// CutAll breaks every connection.
func (s *Server) CutAll() int {
	s.mustBeStarted()
	return s.CutLink(Link{})
}

// CutLink breaks every connection of the link and returns how many there were.
func (s *Server) CutLink(l Link) int {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.sortedLocked() {
		if l.fits(c.sessionID(), c.server, c.client) {
			c.cutLocked()
			n++
		}
	}
	return n
}

// Stop kills server i: its connections break and new ones are refused. Tree
// and sessions are kept for Restart.
func (s *Server) Stop(i int) error {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.findNode(i)
	if err != nil || n.Down() {
		return err
	}
	if l := s.listeners[i-1]; l != nil {
		_ = l.Close()
		s.listeners[i-1] = nil
	}
	for _, c := range s.sortedLocked() {
		if c.server == i {
			c.cutLocked()
		}
	}
	n.Stop()
	s.changedLocked()
	return nil
}

// Restart starts server i again after Stop. A single server gives every
// session its full timeout again; in an ensemble a new leader does.
func (s *Server) Restart(i int) error {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.findNode(i)
	if err != nil || !n.Down() || s.closed {
		return err
	}
	if err := s.listenAgainLocked(i); err != nil {
		return fmt.Errorf("zktest: restart server %d: %w", i, err)
	}
	n.Start()
	s.changedLocked()
	return nil
}

// RestartEmpty replaces all servers by new ones at the same addresses, without
// any data or sessions, and with zxids from the beginning: as when an ensemble
// is recreated empty. Like Apache's servers, the new servers hang up on clients
// with a later zxid.
func (s *Server) RestartEmpty() error {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	for i := 1; i <= s.opt.Servers; i++ {
		if err := s.listenAgainLocked(i); err != nil {
			return fmt.Errorf("zktest: restart server %d: %w", i, err)
		}
	}
	for _, c := range s.sortedLocked() {
		c.cutLocked()
	}
	s.world.Renew()
	s.changedLocked()
	return nil
}

// Freeze stops server i like SIGSTOP: connections stay and new ones are
// accepted, nothing is answered, timers come late.
func (s *Server) Freeze(i int) error {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.findNode(i)
	if err == nil {
		n.Freeze()
	}
	return err
}

// Thaw lets server i go on after Freeze. Timers due meanwhile run first, so a
// session whose time is up ends. Then the received requests are processed.
func (s *Server) Thaw(i int) error {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.findNode(i)
	if err == nil {
		n.Thaw()
		s.resumeLocked()
	}
	return err
}

// Lag stops replication to server i: its clients read stale data, and their
// writes wait. With false, the replica catches up. A lagging server catches up
// before leading. Lag needs an ensemble.
func (s *Server) Lag(i int, on bool) error {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.findNode(i)
	if err != nil {
		return err
	}
	if s.opt.Servers == 1 {
		return fmt.Errorf("zktest: Lag needs an ensemble")
	}
	n.SetLag(on)
	s.nudgeLocked()
	return nil
}

// CutPeers loses every packet between servers i and j: ToServer those from i
// to j, ToClient those from j to i. The connection stays until one end gives up.
func (s *Server) CutPeers(i, j int, d Direction) {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	if d != ToClient {
		s.world.CutLink(i, j)
	}
	if d != ToServer {
		s.world.CutLink(j, i)
	}
}

// IsolateServer cuts server i off from all other servers, not from clients.
func (s *Server) IsolateServer(i int) {
	s.mustBeStarted()
	for j := 1; j <= s.opt.Servers; j++ {
		if j != i {
			s.CutPeers(i, j, Both)
		}
	}
}

// HealPeers ends every CutPeers and IsolateServer.
func (s *Server) HealPeers() {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.Join()
	s.nudgeLocked()
}

// Leader returns the number of the leading server, 1 for a single server, or 0
// without a leader. After an election the number is the new leader's, even
// while the old leader does not know yet.
func (s *Server) Leader() int {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.world.Leader(); n != nil {
		return n.Index()
	}
	return 0
}

// nudgeLocked makes the loop tell the hooks about committed changes.
func (s *Server) nudgeLocked() { s.loop.After(0, func() {}) }
