package wire

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Bounds of the time that one dial may take.
const (
	minDial = 100 * time.Millisecond
	maxDial = 2 * time.Second
)

// Dial is go-zookeeper's dialer. It waits out the back-off, and refuses once
// the link has ended: this is the gate that keeps a dead session's client from
// opening the next session by itself.
func (l *Link) Dial(network, address string, _ time.Duration) (net.Conn, error) {
	addresses := max(1, l.cfg.Servers())
	l.mu.Lock()
	n := l.dials
	l.dials++
	l.addresses = addresses
	limit := l.timeoutLocked() / time.Duration(3*addresses)
	ended := l.ended
	l.mu.Unlock()
	if ended != nil {
		return nil, ended
	}
	if err := pause(l.ctx, l.cfg.Pause(n)); err != nil {
		return nil, fmt.Errorf("wire: dial %s: %w", address, err)
	}
	ctx, cancel := context.WithTimeout(l.ctx, min(max(limit, minDial), maxDial))
	defer cancel()
	raw, err := l.cfg.Dial(ctx, network, address)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.failLocked(err)
		return nil, fmt.Errorf("wire: dial %s: %w", address, err)
	}
	c, err := l.adopt(raw)
	if err != nil {
		_ = raw.Close() // may take seconds, as TLS's: not with the lock
		return nil, err
	}
	return c, nil
}

// adopt makes raw the newest connection, unless the link has ended meanwhile.
func (l *Link) adopt(raw net.Conn) (*conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		return nil, l.ended
	}
	l.newest = newConn(l, raw)
	return l.newest, nil
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
