package grpcresolver_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/grpcresolver"
	"google.golang.org/grpc/resolver"
)

// told is a connection of gRPC that keeps the first error.
type told struct {
	resolver.ClientConn
	err chan error
}

func (c told) ReportError(err error) {
	select {
	case c.err <- err:
	default:
	}
}

// TestMisuseOfNilAndZeroValuesIsReported has no world.Misuse: this module has no
// exported type with methods, and does without the modules that package world needs.
func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	var none context.Context
	target := resolver.Target{URL: url.URL{Scheme: grpcresolver.Scheme, Path: "/" + service}}
	for _, c := range []struct {
		says string
		ctx  context.Context
		r    *discovery.Registry
		cc   resolver.ClientConn
	}{
		{"the context of NewBuilder is nil", none, new(discovery.Registry), told{}},
		{"the registry is nil", t.Context(), nil, told{}},
		{"the ClientConn is nil: pass the builder to grpc.WithResolvers", t.Context(), new(discovery.Registry), nil},
	} {
		_, err := grpcresolver.NewBuilder(c.ctx, c.r, nil).Build(target, c.cc, resolver.BuildOptions{})
		require.ErrorIs(t, err, discovery.ErrInvalidArgument)
		require.ErrorContains(t, err, c.says)
	}
	_, err := grpcresolver.NewBuilder(t.Context(), new(discovery.Registry), nil).Build(resolver.Target{}, told{}, resolver.BuildOptions{})
	require.ErrorIs(t, err, grpcresolver.ErrTarget)

	for says, registry := range map[string]*discovery.Registry{
		"make it with discovery.NewRegistry": new(discovery.Registry),
		"the client is nil":                  discovery.NewRegistry(nil, "/services", nil),
	} {
		cc := told{err: make(chan error, 1)}
		w, err := grpcresolver.NewBuilder(t.Context(), registry, nil).Build(target, cc, resolver.BuildOptions{})
		require.NoError(t, err)
		err = <-cc.err
		w.ResolveNow(resolver.ResolveNowOptions{})
		w.Close()
		require.ErrorIs(t, err, discovery.ErrInvalidArgument)
		require.ErrorContains(t, err, says)
	}
}
