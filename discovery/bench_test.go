package discovery_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// The benchmarks run over TCP on the test server, or, with ZKBENCH_APACHE=1, on a
// standalone Apache ZooKeeper that keeps its data in memory. BenchmarkFloor is
// what cannot be avoided: the bare requests; compare within one run.

func benchClients(b *testing.B, n int) []*session.Client {
	b.Helper()
	servers := world.BenchServer(b)
	out := make([]*session.Client, n)
	for k := range out {
		c, err := session.Connect(context.Background(), servers, &session.Options{Timeout: 20 * time.Second})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, c.Close(context.Background())) })
		out[k] = c
	}
	return out
}

func BenchmarkFloor(b *testing.B) {
	s, err := benchClients(b, 1)[0].Session(context.Background())
	require.NoError(b, err)
	require.NoError(b, s.EnsurePath(context.Background(), dir, session.Persistent, nil))
	for b.Loop() {
		_, err := s.Create(context.Background(), dir+"/one", make([]byte, 150), session.Ephemeral, nil)
		require.NoError(b, err)
		require.NoError(b, s.Delete(context.Background(), dir+"/one", -1))
	}
}

func BenchmarkRegisterAndUnregister(b *testing.B) {
	r := discovery.NewRegistry(benchClients(b, 1)[0], base, nil)
	for b.Loop() {
		g, err := r.Register(context.Background(), instance("one"))
		require.NoError(b, err)
		require.NoError(b, g.Unregister(context.Background()))
	}
}

func BenchmarkUpdate(b *testing.B) {
	g, err := discovery.NewRegistry(benchClients(b, 1)[0], base, nil).Register(context.Background(), instance("one"))
	require.NoError(b, err)
	i, n := g.Instance(), 0
	for b.Loop() {
		n++
		i.Port = n % 60000
		require.NoError(b, g.Update(context.Background(), i))
	}
}

func BenchmarkInstances(b *testing.B) {
	r := discovery.NewRegistry(benchClients(b, 1)[0], base, nil)
	const n = 1000
	for k := range n {
		_, err := r.Register(context.Background(), instance(fmt.Sprint("i", k)))
		require.NoError(b, err)
	}
	for b.Loop() {
		list, err := r.Instances(context.Background(), service)
		require.NoError(b, err)
		require.Len(b, list, n)
	}
}

// BenchmarkSeen is the time from an update until a watcher of a service of n
// instances has the update.
func BenchmarkSeen(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			clients := benchClients(b, 2)
			r := discovery.NewRegistry(clients[0], base, nil)
			var g *discovery.Registration
			for k := range n {
				var err error
				g, err = r.Register(context.Background(), instance(fmt.Sprint("i", k)))
				require.NoError(b, err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			ports, over := make(chan int, 1000), make(chan struct{})
			// Waited for below; ends with ctx.
			go func() {
				defer close(over)
				for list, err := range discovery.NewRegistry(clients[1], base, nil).Watch(ctx, service) {
					if err != nil {
						return
					}
					ports <- list[len(list)-1].Port
				}
			}()
			<-ports
			i, k := g.Instance(), 0
			for b.Loop() {
				k++
				i.Port = k % 60000
				require.NoError(b, g.Update(ctx, i))
				for <-ports != i.Port {
				}
			}
			cancel()
			<-over
		})
	}
}
