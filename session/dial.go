package session

import (
	"context"
	"fmt"
	"net"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// countServers is how many addresses take turns.
func (s *Session) countServers() int { return s.servers.Len() }

// resolve returns the addresses of servers.
func (s *Session) resolve(servers []string) []target {
	return s.client.book.targets(s.ctx, servers, s.link.Timeout())
}

// dial opens a connection to the address that go-zookeeper was told last.
func (s *Session) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	at := s.servers.target()
	conn, err := s.dialTarget(ctx, network, at)
	switch {
	case err == nil:
		s.servers.dialed(conn.RemoteAddr())
	case at.err == nil && s.link.Ended() == nil:
		s.client.reach.setFailed(at.server)
	}
	return conn, err
}

// dialTarget opens a connection to an address.
func (s *Session) dialTarget(ctx context.Context, network string, at target) (net.Conn, error) {
	if at.err != nil {
		return nil, at.err
	}
	opts := s.client.opts
	raw, err := opts.Dialer(ctx, network, at.address)
	if err != nil {
		return nil, err
	}
	raw = withDeadlines(raw)
	config, err := opts.tlsConfig(ctx, at.host())
	if err == nil && config == nil {
		return newUnanswered(raw, at.shown()), nil
	}
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("TLS with %s: %w", at.shown(), err)
	}
	conn, err := newTLSPeer(at.shown(), at.host(), config).begin(ctx, raw)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return conn, nil
}

func wireCredentials(creds []Credential) []wire.Credential {
	out := make([]wire.Credential, len(creds))
	for i, c := range creds {
		out[i] = wire.Credential(c)
	}
	return out
}
