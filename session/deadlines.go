package session

import (
	"io"
	"net"
	"time"
)

// withDeadlines returns a connection with deadlines to the other end of raw. A channel of an SSH
// connection has none, and its Close ends no Read while the SSH connection is silent.
func withDeadlines(raw net.Conn) net.Conn {
	if raw.SetDeadline(time.Time{}) == nil {
		return raw
	}
	here, there := net.Pipe()
	// Not waited for; ends with raw.
	go func() {
		_, _ = io.Copy(there, raw)
		_ = there.Close()
	}()
	// Not waited for; ends with the pipe, or when raw takes nothing any more.
	go func() {
		_, _ = io.Copy(raw, there)
		_ = raw.Close()
		_ = there.Close()
	}()
	return &piped{Conn: here, raw: raw}
}

// piped is the near end of a pipe to raw.
type piped struct {
	net.Conn

	raw net.Conn
}

// Close closes raw behind what was written, or, while raw takes nothing, a second later.
func (p *piped) Close() error {
	time.AfterFunc(time.Second, func() { _ = p.raw.Close() })
	return p.Conn.Close()
}

func (p *piped) LocalAddr() net.Addr  { return p.raw.LocalAddr() }
func (p *piped) RemoteAddr() net.Addr { return p.raw.RemoteAddr() }
