package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// ErrAddress: an address to listen on is invalid, or reachable from other
// machines.
var ErrAddress = errors.New("invalid address to listen on")

// CheckAddress validates host:port as an address to listen on: unless remote is
// true, only this machine may be able to reach the address.
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

// CheckListen is CheckAddress for the flag --listen. hint says what --allow-remote, which
// is remote, would let other machines do.
func CheckListen(addr string, remote bool, hint string) error {
	err := CheckAddress(addr, remote)
	switch {
	case err == nil:
		return nil
	case CheckAddress(addr, true) == nil:
		return &exit.Failure{Code: exit.CodeUsage, Err: fmt.Errorf("--listen: %w", err), Hint: hint}
	}
	return exit.Usage("--listen: %w", err)
}

// loopback reports whether host is this machine alone. A name other than
// localhost is not: its meaning depends on the name server.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Listen listens on an address accepted by CheckAddress.
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

// URL is the address of a listener for browsers: a missing host is replaced by
// a host that a browser can open.
func URL(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}

// maxHeader is how long the header of a request may be, in bytes.
const maxHeader = 32 << 10

// limits bound the durations: of a request's header, of the whole request, of
// its answer, of the pause until the next request, and, at the end of the
// server, of the answers in progress. A stream sets its own limit.
type limits struct{ header, read, write, idle, end time.Duration }

// usual are the limits for browsers. The limit of an answer includes the
// handler's own requests to others.
func usual() limits {
	return limits{header: 10 * time.Second, read: 20 * time.Second, write: 30 * time.Second, idle: 2 * time.Minute, end: 3 * time.Second}
}

// Serve answers requests until ctx ends, and closes l. The contexts of all
// requests end with ctx, so streams do not delay the end; other answers in
// progress are finished. The server drops slow clients: a request may take 20
// seconds, an answer 30.
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
