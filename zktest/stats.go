package zktest

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// Stats are the server's counters. In an ensemble they are sums.
type Stats struct {
	// Requests counts by operation, with the names of Request.Op.
	Requests map[string]int
	// BySession counts by session, then by operation; session 0 stands for the
	// handshakes of new sessions. At least the 1,000 latest ended sessions are
	// kept.
	BySession map[int64]map[string]int
	// Total is the number of requests, handshakes and pings included.
	Total int
	// PacketsSent counts answers and watch events, BytesSent the bytes of them with their
	// lengths.
	PacketsSent int
	BytesSent   int64
	// Watches, Sessions and Connections are current numbers; a watch counts once
	// per connection, path and table.
	Watches, Sessions, Connections int
}

func newStats() Stats {
	return Stats{Requests: map[string]int{}, BySession: map[int64]map[string]int{}}
}

// Stats returns a copy of the counters.
func (s *Server) Stats() Stats {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Requests = maps.Clone(s.stats.Requests)
	out.BySession = map[int64]map[string]int{}
	for id, m := range s.stats.BySession {
		out.BySession[id] = maps.Clone(m)
	}
	for i := 1; i <= s.opt.Servers; i++ {
		n := s.world.Node(i)
		out.Watches += n.Watches().Count()
		out.Connections += len(n.Conns())
	}
	out.Sessions = len(s.adminNodeLocked().Tree().Sessions())
	return out
}

// ResetStats sets the counters to zero, the ordinals of Request too.
func (s *Server) ResetStats() {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats = newStats()
}

// endedKept is how many sessions have figures after their end, at least.
const endedKept = 1000

// forgetEndedLocked drops the figures of the oldest ended sessions: a
// long-running server would otherwise keep the figures of all. Each call scans
// all sessions, and therefore drops many.
func (s *Server) forgetEndedLocked() {
	t := s.adminNodeLocked().Tree()
	if len(s.stats.BySession) <= 2*endedKept+t.SessionCount() {
		return
	}
	var ended []int64
	for id := range s.stats.BySession {
		if id != 0 && !t.HasSession(id) {
			ended = append(ended, id)
		}
	}
	slices.Sort(ended)
	for _, id := range ended[:max(0, len(ended)-endedKept)] {
		delete(s.stats.BySession, id)
	}
}

// countLocked counts a request and describes it for the hooks.
func (s *Server) countLocked(c *conn, op string, q *proto.Request) Request {
	id := c.sessionID()
	m := s.stats.BySession[id]
	if m == nil {
		s.forgetEndedLocked()
		m = map[string]int{}
		s.stats.BySession[id] = m
	}
	m[op]++
	s.stats.Requests[op]++
	s.stats.Total++
	r := Request{
		Op: op, Session: id, Server: c.server, Client: c.client, Xid: q.Xid, Paths: q.Paths(), Data: q.Data,
		OnlyChecks: q.OnlyChecks(), N: s.stats.Total, At: time.Now(),
	}
	for _, k := range m {
		r.SessionN += k
	}
	if len(r.Paths) > 0 {
		r.Path = r.Paths[0]
	}
	for i := range q.Ops {
		r.Parts = append(r.Parts, q.Ops[i].Op.String())
	}
	return r
}

// Session describes a live session.
type Session struct {
	ID         int64
	Timeout    time.Duration
	Ephemerals []string // sorted
	// Server is the number of the server that the client is connected to, or 0.
	Server    int
	Connected bool
}

// Sessions returns the live sessions as the leader knows them, by id.
func (s *Server) Sessions() []Session {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.adminNodeLocked().Tree()
	at := map[int64]int{}
	for i := 1; i <= s.opt.Servers; i++ {
		for _, c := range s.world.Node(i).Conns() {
			if c.Ready() {
				at[c.Session()] = i
			}
		}
	}
	var out []Session
	for id, timeout := range t.Sessions() {
		out = append(out, Session{
			ID: id, Timeout: time.Duration(timeout) * time.Millisecond, Ephemerals: t.Ephemerals(id),
			Server: at[id], Connected: at[id] != 0,
		})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// Watches returns the watches of all servers: for each path the watching
// sessions, sorted.
func (s *Server) Watches() map[string][]int64 {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][]int64{}
	for i := 1; i <= s.opt.Servers; i++ {
		n := s.world.Node(i)
		byID := map[int64]int64{}
		for _, c := range n.Conns() {
			byID[c.ID()] = c.Session()
		}
		for path, owners := range n.Watches().ByPath() {
			for _, o := range owners {
				out[path] = append(out[path], byID[o])
			}
		}
	}
	for _, l := range out {
		sort.Slice(l, func(i, j int) bool { return l[i] < l[j] })
	}
	return out
}
