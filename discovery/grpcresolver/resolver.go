package grpcresolver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
	"google.golang.org/grpc/resolver"
)

// Scheme of the targets: "zk:///<service>".
const Scheme = "zk"

// ErrTarget: a target names no service. Errors with it wrap discovery.ErrInvalidArgument, too.
var ErrTarget = errors.New("the target names no service")

// pauseAfterError is how long a service that cannot be watched is left alone.
const pauseAfterError = 2 * time.Second

// pauseAfterTooLarge is the same for one whose list is longer than the client accepts:
// each try costs the client's connection, and all that is done on it a round trip.
const pauseAfterTooLarge = time.Minute

// Options of a builder; nil and the zero value mean all defaults.
type Options struct {
	// Filter says which instances are used. Default: all. Disabled and
	// malformed ones never are.
	Filter func(discovery.Instance) bool
	// Address is an instance's "host:port"; empty: it is left out. Default:
	// Address and Port, or SSLPort if there is no Port.
	Address func(discovery.Instance) string
}

// NewBuilder makes a builder for grpc.WithResolvers, whose targets
// "zk:///<service>" are services of registry. ctx bounds the life of the resolvers,
// in addition to the closing of the connections, since gRPC provides no context: when
// ctx ends, the addresses stay as they are, and calls without an address fail. o may
// be nil.
func NewBuilder(ctx context.Context, registry *discovery.Registry, o *Options) resolver.Builder {
	b := &builder{ctx: ctx, registry: registry}
	if o != nil {
		b.opts = *o
	}
	if b.opts.Address == nil {
		b.opts.Address = address
	}
	return b
}

func address(i discovery.Instance) string {
	port := i.Port
	if port == 0 {
		port = i.SSLPort
	}
	if i.Address == "" || port == 0 {
		return ""
	}
	return net.JoinHostPort(i.Address, strconv.Itoa(port))
}

type builder struct {
	ctx      context.Context
	registry *discovery.Registry
	opts     Options
}

// Scheme is that of the targets.
func (b *builder) Scheme() string { return Scheme }

// Build starts to watch the target's service.
func (b *builder) Build(target resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	service := target.Endpoint()
	switch {
	case service == "":
		return nil, fmt.Errorf("grpcresolver: %w: %q: %w", discovery.ErrInvalidArgument, target.URL.String(), ErrTarget)
	case b.registry == nil:
		return nil, fmt.Errorf("grpcresolver: %w: the registry is nil", discovery.ErrInvalidArgument)
	case b.ctx == nil:
		return nil, fmt.Errorf("grpcresolver: %w: the context of NewBuilder is nil", discovery.ErrInvalidArgument)
	case cc == nil:
		return nil, fmt.Errorf("grpcresolver: %w: the ClientConn is nil: pass the builder to grpc.WithResolvers", discovery.ErrInvalidArgument)
	}
	ctx, cancel := context.WithCancel(b.ctx)
	w := &watcher{cancel: cancel, over: make(chan struct{})}
	// Waited for by Close, which ends it.
	go w.run(ctx, b, service, cc)
	return w, nil
}

// watcher tells one connection of the instances of one service.
type watcher struct {
	cancel context.CancelFunc
	over   chan struct{}
}

// run watches until ctx ends. A server may allow later a read that it refuses now, and
// gRPC does not ask again by itself once it has addresses: without another try the old
// addresses would stay indefinitely.
func (w *watcher) run(ctx context.Context, b *builder, service string, cc resolver.ClientConn) {
	defer close(w.over)
	for {
		err := b.watch(ctx, service, cc)
		if ctx.Err() != nil && b.ctx.Err() == nil {
			return // the connection is closed
		}
		cc.ReportError(err)
		if b.ctx.Err() != nil || errors.Is(err, session.ErrClosed) || errors.Is(err, discovery.ErrInvalidArgument) {
			return
		}
		d := pauseAfterError
		if errors.Is(err, session.ErrReplyTooLarge) {
			d = pauseAfterTooLarge
		}
		pause := time.NewTimer(d)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
	}
}

// watch tells cc of each state of the service, and returns why there will be no
// more.
func (b *builder) watch(ctx context.Context, service string, cc resolver.ClientConn) error {
	for instances, err := range b.registry.Watch(ctx, service) {
		if err != nil {
			return err
		}
		// An error says that the balancer wants to be asked again. There is
		// nothing to ask: the next change comes by itself.
		_ = cc.UpdateState(b.state(instances))
	}
	return context.Cause(ctx)
}

// state has the endpoints of the instances that may be used, and their addresses for
// policies that know no endpoints, as all do that are made with gRPC's base.
func (b *builder) state(instances []discovery.Instance) resolver.State {
	out := resolver.State{Endpoints: []resolver.Endpoint{}}
	for _, i := range instances {
		if i.Err != nil || i.Disabled || b.opts.Filter != nil && !b.opts.Filter(i) {
			continue
		}
		if addr := (resolver.Address{Addr: b.opts.Address(i)}); addr.Addr != "" {
			out.Addresses = append(out.Addresses, addr)
			out.Endpoints = append(out.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{addr}})
		}
	}
	return out
}

// ResolveNow does nothing: the addresses are up to date.
func (w *watcher) ResolveNow(resolver.ResolveNowOptions) {}

// Close ends the watching.
func (w *watcher) Close() {
	w.cancel()
	<-w.over
}
