package provider_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/provider"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// BenchmarkGet is a pick and its end, of n instances. No server is asked.
func BenchmarkGet(b *testing.B) {
	for _, n := range []int{3, 100, 1000} {
		srv, err := zktest.Start(nil)
		require.NoError(b, err)
		client, err := session.Connect(context.Background(), srv.Addr(), nil)
		require.NoError(b, err)
		registry := discovery.NewRegistry(client, "/services", nil)
		for k := range n {
			_, err := registry.Register(context.Background(), discovery.Instance{Service: service, ID: fmt.Sprint(k)})
			require.NoError(b, err)
		}
		for name, picker := range pickers() {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				p := provider.New(registry, service, picker(), nil)
				ctx, cancel := context.WithCancel(context.Background())
				over := make(chan struct{})
				// Waited for below; ends with ctx.
				go func() { defer close(over); _ = p.Run(ctx) }()
				_, err := p.Get(ctx) // the list is loaded
				require.NoError(b, err)
				for b.Loop() {
					l, err := p.Get(ctx)
					require.NoError(b, err)
					l.Done(nil)
				}
				cancel()
				<-over
			})
		}
		require.NoError(b, client.Close(context.Background()))
		require.NoError(b, srv.Close())
	}
}
