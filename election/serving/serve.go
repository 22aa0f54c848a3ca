package serving

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
)

// Server is a server that [Leader.Serve] runs; *http.Server is one, and package grpcserving
// makes one of a *grpc.Server.
type Server interface {
	// Serve serves the connections of ln until Shutdown or Close.
	Serve(ln net.Listener) error
	// Shutdown stops accepting connections, and waits for the requests in progress until
	// ctx ends.
	Shutdown(ctx context.Context) error
	// Close closes all connections.
	Close() error
}

// errServerEnded is the cause of the end of Run's context when the server has ended.
var errServerEnded = errors.New("serving: the server has ended")

// Serve serves on ln with s, and runs [Leader.Run], until ctx ends. s is then shut down
// after Run has returned: requests in progress end, the leadership is given back, and then
// the instance stops to answer. s must pass its requests through [Leader.Handler], or
// another gate made of [Leader.Admit]. ln may be that of [Leader.Listener].
//
// Requests outside of the gate, such as probes, have [Options.DrainTimeout] to end, or
// [DefaultDrainTimeout] if that is negative; then their connections are closed. Serve
// returns nil if Run does and the server was shut down. If the server ends by itself, its
// error ends Run, and is returned. s cannot be used again.
func (l *Leader) Serve(ctx context.Context, s Server, ln net.Listener) error {
	l = receiver.OrZero(l)
	err := l.check(ctx)
	switch {
	case err != nil:
	case s == nil:
		err = fmt.Errorf("%w: the server is nil", ErrInvalidArgument)
	case ln == nil:
		err = fmt.Errorf("%w: the listener is nil", ErrInvalidArgument)
	case ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("serving: serve: %w", err)
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	served := make(chan error, 1)
	// Waited for by shutDown; ends with the server.
	go func() {
		served <- s.Serve(ln)
		stop(errServerEnded)
	}()
	return errors.Join(l.Run(running), l.shutDown(ctx, s, served))
}

// shutDown shuts the server down, and waits for its Serve.
func (l *Leader) shutDown(ctx context.Context, s Server, served <-chan error) error {
	select {
	case err := <-served: // before the shutdown
		if err == nil {
			err = errServerEnded
		}
		return errors.Join(err, s.Close())
	default:
	}
	limit := l.opts.DrainTimeout
	if limit < 0 {
		limit = DefaultDrainTimeout
	}
	within, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, ErrDrainTimeout)
	defer cancel()
	err := s.Shutdown(within)
	if err != nil {
		if within.Err() != nil {
			err = fmt.Errorf("serving: shut down: %w: %w", err, context.Cause(within))
		}
		err = errors.Join(err, s.Close())
	}
	<-served //nolint:errcheck // it says that the server was shut down
	return err
}
