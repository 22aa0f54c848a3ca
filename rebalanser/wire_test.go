package rebalanser_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

// wire counts the requests and bytes of many clients, and cuts single clients off.
type wire struct{ requests, bytes atomic.Int64 }

// traffic is what a wire has counted.
type traffic struct{ requests, bytes int64 }

func (w *wire) traffic() traffic { return traffic{w.requests.Load(), w.bytes.Load()} }

func (t traffic) since(before traffic) traffic {
	return traffic{t.requests - before.requests, t.bytes - before.bytes}
}

// plug is the dialer of one client.
type plug struct {
	w *wire
	// mu guards conns and cut: after cut, no connection is made.
	mu    sync.Mutex
	conns []net.Conn
	gone  bool
}

var errCut = errors.New("the client was cut off")

func (p *plug) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return nil, errors.Join(errCut, conn.Close())
	}
	p.conns = append(p.conns, conn)
	return &meter{Conn: conn, w: p.w}, nil
}

// cut ends the client's connections, as the end of its process does: its session stays
// until the server expires it.
func (p *plug) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	for _, conn := range p.conns {
		_ = conn.Close()
	}
}

// meter is a connection that counts. Pings are neither requests nor bytes.
type meter struct {
	net.Conn
	w    *wire
	head []byte // of the frame that is being written
	left int    // bytes of that frame to come, once its head is known
	ping bool
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.w.bytes.Add(int64(n))
	return n, err
}

func (m *meter) Write(p []byte) (int, error) {
	m.count(p)
	return m.Conn.Write(p)
}

// headBytes are the length of a frame and its xid.
const headBytes = 8

func (m *meter) count(p []byte) {
	for len(p) > 0 {
		if m.left == 0 {
			k := min(headBytes-len(m.head), len(p))
			m.head, p = append(m.head, p[:k]...), p[k:]
			if len(m.head) < headBytes {
				return
			}
			const ping = -2
			m.left = int(binary.BigEndian.Uint32(m.head)) - (headBytes - 4)
			m.ping = int32(binary.BigEndian.Uint32(m.head[4:])) == ping
			m.head = m.head[:0]
			if !m.ping {
				m.w.requests.Add(1)
				m.w.bytes.Add(headBytes)
			}
		}
		k := min(m.left, len(p))
		if m.left, p = m.left-k, p[k:]; !m.ping {
			m.w.bytes.Add(int64(k))
		}
	}
}
