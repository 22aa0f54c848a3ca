package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// How long a session waits after a configuration that it could not read: twice as long each
// time, from the first to the second.
const (
	followPause        = time.Second
	longestFollowPause = time.Minute
)

// How long a session stays on a server that it would leave, because no other could be reached,
// or took the session, or because the client cannot tell whether the server is in the
// configuration: twice as long each time, from the first to the second.
const (
	firstAway   = time.Second
	longestAway = 5 * time.Minute
)

// followEnsemble uses the servers of the dynamic configuration while the session lives.
func (s *Session) followEnsemble() {
	var told string
	tell := func(err error) {
		if text := err.Error(); text != told && s.ctx.Err() == nil {
			told = text
			s.log.Warn("zookeeper servers are not followed", "path", configPath, "cause", err)
		}
	}
	var move moves
	for pause := followPause; s.ctx.Err() == nil; {
		seen, err := doRequest(s.ctx, s, "follow", configPath, func() *Future[Seen] {
			return s.startReadAt("get", configPath, configPath, wire.OpGetData, true, false, decodeGet)
		}, Seen.stop)
		if err != nil {
			tell(err)
			_ = s.sleep(s.ctx, pause)
			pause = min(2*pause, longestFollowPause)
			continue
		}
		pause = followPause
		next, err := parseEnsemble(seen.Data)
		if err != nil {
			tell(fmt.Errorf("the configuration: %w", err))
			_, _ = seen.Watch.Wait(s.ctx)
			continue
		}
		told = ""
		if s.useEnsemble(next) {
			move = moves{}
		}
		settled := s.settle(next, &move)
		s.tryNewMembers(next)
		if settled {
			_, _ = seen.Watch.Wait(s.ctx)
			continue
		}
		again, cancel := context.WithTimeout(s.ctx, time.Until(move.next))
		_, _ = seen.Watch.Wait(again)
		cancel()
	}
}

// moves are the attempts of a session to leave its server. The zero value allows one at once.
type moves struct {
	next time.Time // when the next one is allowed
	away time.Duration
	// left is when the session has left its server, in the round from, if it was not seen
	// since.
	left time.Time
	from int
}

// noteReturn puts the next attempt off if the last one has brought the session back to a server
// that it would leave: what is held needs heartbeats before the next one. A server that took no
// sessions costs a third of the session timeout, and a whole one passes before the next; one
// that refused this session at once, since it was behind, costs nothing.
func (m *moves) noteReturn(at standing) {
	if !m.left.IsZero() && at.rounds != m.from {
		m.next = time.Now().Add(max(m.away, 3*time.Since(m.left)))
		m.left = time.Time{}
	}
}

// begin reports whether an attempt may begin now, and then puts the next one off.
func (m *moves) begin() bool {
	now := time.Now()
	if now.Before(m.next) {
		return false
	}
	m.away = min(max(firstAway, 2*m.away), longestAway)
	m.next = now.Add(m.away)
	return true
}

// useEnsemble makes the client use the servers of next, and reports whether they are others. A
// session leaves its server only for a newer configuration than its last one: servers whose
// configurations differ must not send it back and forth.
func (s *Session) useEnsemble(next ensemble) bool {
	former := s.servers.ensemble()
	next.given = former.given
	c := s.client
	c.mu.Lock()
	c.ensemble = next
	c.mu.Unlock()
	if former.followed && former.version == next.version && slices.Equal(former.servers, next.servers) {
		return false
	}
	s.log.Info("zookeeper servers", "servers", strings.Join(next.servers, ","), "version", fmt.Sprintf("%x", next.version))
	if former.followed && next.version > former.version {
		s.servers.replace(next, &former)
	} else {
		s.servers.replace(next, nil)
	}
	return true
}

// settle moves the session to another server of e, if it is to leave its server. The session
// stays where it is until another server has accepted a connection, and while the client
// cannot tell whether its server is in e. settle reports true if the session is where it
// belongs; otherwise settle is to be called again.
func (s *Session) settle(e ensemble, move *moves) bool {
	at := s.servers.stand()
	if s.link.Keeper() || at.undecided == nil && at.leave == nil && !at.spare { // Keeper would end the session
		return true
	}
	move.noteReturn(at)
	if !move.begin() {
		return false
	}
	if at.leave == nil {
		member, known := s.memberAt(e, at)
		switch {
		case !known:
			return false
		case at.undecided != nil:
			at.first, at.leave = at.undecided.move(e, member, s.client.random.Float64())
			s.servers.decide(at)
		case member == "":
			at.leave = errServerRemoved
		}
	}
	if at.leave == nil {
		return true
	}
	if to, ok := s.findServer(e, at); ok && s.servers.goTo(to, at) {
		move.left, move.from = time.Now(), at.rounds
		s.link.Drop(at.leave)
	}
	return false
}

// findServer is where a session goes that leaves its server: a server that has just accepted a
// connection.
func (s *Session) findServer(e ensemble, at standing) (target, bool) {
	lists := [][]string{at.first}
	if errors.Is(at.leave, errServerRemoved) {
		lists = append(lists, without(e.servers, at.first))
	}
	for _, list := range lists {
		if reached := s.tryServers(list); len(reached) > 0 {
			return reached[s.client.random.Int64N(int64(len(reached)))], true
		}
	}
	return target{}, false
}

// memberAt is the server of e that is the present one, by its name, its address or the remote
// address of the connection; "" if none is. It reports false if the client cannot tell: the
// name of the present server, or of a server of e, has no known address. A server that was in
// the former configuration by one of the three, and is not in e, was removed.
func (s *Session) memberAt(e ensemble, at standing) (member string, known bool) {
	self := []string{canonical(at.target.server), canonical(at.target.address), canonical(at.remote)}
	known = isLiteral(at.target.address)
	for _, t := range s.resolve(e.servers) {
		if slices.Contains(self, canonical(t.server)) || slices.Contains(self, canonical(t.address)) {
			return t.server, true
		}
		known = known && isLiteral(t.address)
	}
	wasMember := slices.ContainsFunc(at.former, func(m string) bool { return slices.Contains(self, m) })
	return "", known || wasMember
}

// isLiteral reports whether address has no name that would have to be resolved.
func isLiteral(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && net.ParseIP(host) != nil
}
