package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// ErrAddress: an address to listen on is none, or one that others can reach.
var ErrAddress = errors.New("invalid address to listen on")

// CheckAddress says what is wrong with host:port as an address to listen on:
// unless remote is true, it must be one that only this machine can reach.
func CheckAddress(addr string, remote bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%w: %q is not host:port", ErrAddress, addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%w: %q: the port must be a number from 0 to 65535", ErrAddress, addr)
	}
	if !remote && !loopback(host) {
		return fmt.Errorf("%w: others can reach %q", ErrAddress, addr)
	}
	return nil
}

// loopback reports whether host is this machine alone. A name other than
// localhost is not: the operator of the name server says what it means.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Listen listens on an address that CheckAddress accepts.
func Listen(ctx context.Context, addr string, remote bool) (net.Listener, error) {
	if err := CheckAddress(addr, remote); err != nil {
		return nil, err
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

// URL is where people find what listens: an address without a host becomes
// one that a browser can open.
func URL(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}

// maxHeader is how long the header of a request may be, in bytes.
const maxHeader = 32 << 10

// limits are how long things may take: the header of a question, all of it, its
// answer, the time until the next one, and, when the server ends, the answers in
// progress. A stream sets its own.
type limits struct{ header, read, write, idle, end time.Duration }

// usual are those of people's browsers. The answer's includes what a handler asks
// others for.
func usual() limits {
	return limits{header: 10 * time.Second, read: 20 * time.Second, write: 30 * time.Second, idle: 2 * time.Minute, end: 3 * time.Second}
}

// Serve answers requests until ctx ends, and closes l. The contexts of all
// requests end with ctx, so streams do not keep it; other answers in progress are
// finished. The server drops a client that is too slow: with a question after 20
// seconds, with an answer after 30.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	return serve(ctx, l, h, usual())
}

func serve(ctx context.Context, l net.Listener, h http.Handler, most limits) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: most.header,
		ReadTimeout:       most.read,
		WriteTimeout:      most.write,
		IdleTimeout:       most.idle,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	over := make(chan error, 1)
	// Waited for through over; ends when the server is closed.
	go func() { over <- srv.Serve(l) }()
	select {
	case err := <-over:
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), most.end)
	defer cancel()
	if err := srv.Shutdown(limited); err != nil {
		_ = srv.Close()
	}
	if err := <-over; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	}
	return nil
}
