package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// Proxy stands between one node and the servers, and can cut them off from each
// other silently.
type Proxy struct {
	servers   string
	listeners []net.Listener
	dialer    net.Dialer
	patience  time.Duration // with clients waiting for the end of a cut
	done      context.Context
	end       context.CancelFunc
	running   sync.WaitGroup

	// mu guards open: closed while bytes may pass, and replaced at the beginning
	// of a cut.
	mu   sync.Mutex
	open chan struct{}
}

// Servers are those of "host:port,host:port/chroot", each with its port.
func Servers(connect string) (out []string) {
	hosts, _, _ := strings.Cut(connect, "/")
	for host := range strings.SplitSeq(hosts, ",") {
		host = strings.TrimSpace(host)
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "2181")
		}
		out = append(out, host)
	}
	return out
}

// NewProxy stands before servers, "host:port,host:port/chroot". The proxy lasts
// until Close, independently of ctx.
func NewProxy(ctx context.Context, servers string) (*Proxy, error) {
	p := &Proxy{open: make(chan struct{}), patience: dialLimit}
	close(p.open)
	p.done, p.end = context.WithCancel(context.WithoutCancel(ctx))
	_, chroot, rooted := strings.Cut(servers, "/")
	var own []string
	for _, host := range Servers(servers) {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			p.Close()
			return nil, err
		}
		p.listeners = append(p.listeners, l)
		own = append(own, l.Addr().String())
		// Waited for by Close, which ends the goroutine by closing the listener.
		p.running.Go(func() { p.accept(l, host) })
	}
	p.servers = strings.Join(own, ",")
	if rooted {
		p.servers += "/" + chroot
	}
	return p, nil
}

// Servers is the connect string for the node.
func (p *Proxy) Servers() string { return p.servers }

// Cut lets nothing through from now on, until Heal. Connections stay, and new
// ones are accepted, for a while.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		p.open = make(chan struct{})
	default:
	}
}

// Heal ends Cut. Bytes sent meanwhile get through now, as with TCP, if the
// connection still exists.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

// IsCut reports whether nothing gets through.
func (p *Proxy) IsCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		return false
	default:
		return true
	}
}

// Close ends all connections.
func (p *Proxy) Close() {
	p.end()
	for _, l := range p.listeners {
		_ = l.Close()
	}
	p.running.Wait()
}

// pass waits until bytes may pass; false after the end of the proxy.
func (p *Proxy) pass(ctx context.Context) bool {
	for {
		p.mu.Lock()
		open := p.open
		p.mu.Unlock()
		select {
		case <-open:
		case <-ctx.Done():
			return false
		}
		if !p.IsCut() {
			return true
		}
	}
}

// acceptPause follows a failed accept: the process is out of file descriptors, or the
// client has gone. Only a closed listener ends the accepting.
const acceptPause = 50 * time.Millisecond

func (p *Proxy) accept(l net.Listener, host string) {
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			select {
			case <-time.After(acceptPause):
				continue
			case <-p.done.Done():
				return
			}
		}
		// Waited for by Close; ends with the connection, at the latest then.
		p.running.Go(func() { p.relay(c, host) })
	}
}

// dialLimit bounds the dialing of a server, and before that the time for which a
// connection waits for the end of a cut.
const dialLimit = 10 * time.Second

// relay carries bytes both ways until one end closes.
func (p *Proxy) relay(client net.Conn, host string) {
	ctx, cancel := context.WithCancel(p.done)
	defer cancel()
	defer client.Close()
	said, there := p.await(ctx, client)
	if !there {
		return
	}
	limited, stop := context.WithTimeout(ctx, dialLimit)
	server, err := p.dialer.DialContext(limited, "tcp", host)
	stop()
	if err != nil {
		return
	}
	over := context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
	defer over()
	defer server.Close()
	var up sync.WaitGroup
	// Waited for below; ends when either end closes, or the proxy.
	up.Go(func() {
		p.copy(ctx, server, io.MultiReader(bytes.NewReader(said), client))
		cancel()
	})
	p.copy(ctx, client, server)
	cancel()
	up.Wait()
}

// await waits until a new connection may pass, and reads meanwhile: a client
// that has gone, or has waited for too long, must not reach the server at the
// end of a cut. await returns the bytes read from the client.
func (p *Proxy) await(ctx context.Context, client net.Conn) (said []byte, there bool) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	buf, n := make([]byte, 4<<10), 0 // more than a client sends before the first answer
	var err error
	var listening sync.WaitGroup
	// Waited for below; the deadline ends the read.
	listening.Go(func() {
		for n < len(buf) && err == nil {
			var more int
			more, err = client.Read(buf[n:])
			n += more
		}
		if err != nil {
			cancel()
		}
	})
	passed := p.pass(ctx)
	_ = client.SetReadDeadline(time.Unix(1, 0))
	listening.Wait()
	_ = client.SetReadDeadline(time.Time{})
	return buf[:n], passed && (err == nil || errors.Is(err, os.ErrDeadlineExceeded))
}

// copy carries bytes one way. Bytes read before a cut, and not written yet,
// wait for the end of the cut.
func (p *Proxy) copy(ctx context.Context, to io.Writer, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !p.pass(ctx) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			// An end, too, is not seen through a cut.
			_ = p.pass(ctx)
			return
		}
	}
}
