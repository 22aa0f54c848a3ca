package cache_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

func benchClient(b *testing.B, servers string) *session.Client {
	c, err := session.Connect(context.Background(), servers, &session.Options{Timeout: 20 * time.Second})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, c.Close(context.Background())) })
	return c
}

// benchDir makes a path with n children.
func benchDir(b *testing.B, c *session.Client, n int) (*session.Session, string) {
	s, err := c.Session(context.Background())
	require.NoError(b, err)
	path := "/bench-" + session.NewID()
	require.NoError(b, s.EnsurePath(context.Background(), path, session.Persistent, nil))
	fill(b, s, path, n)
	return s, path
}

// running runs v until the function that it returns is called.
func running(b *testing.B, v *cache.View[[]byte]) func() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	// Waited for by the function returned; ends with ctx.
	go func() { ended <- v.Run(ctx) }()
	require.NoError(b, v.WaitSynced(ctx))
	return func() {
		cancel()
		<-ended
	}
}

// BenchmarkLoad is the initial load of n children.
func BenchmarkLoad(b *testing.B) {
	servers := world.BenchServerOf(b, 512)
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, path := benchDir(b, benchClient(b, servers), n)
			c := benchClient(b, servers)
			b.ReportAllocs()
			for b.Loop() {
				v := cache.NewChildren(c, path, cache.Bytes, nil)
				stop := running(b, v.View)
				if v.Len() != n {
					b.Fatal(v.Len())
				}
				stop()
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/load")
		})
	}
}

// BenchmarkSeen is 10,000 creates of another client until all are seen.
func BenchmarkSeen(b *testing.B) {
	const n = 10_000
	servers := world.BenchServerOf(b, 512)
	writer := benchClient(b, servers)
	c := benchClient(b, servers)
	for b.Loop() {
		s, path := benchDir(b, writer, 0)
		v := cache.NewChildren(c, path, cache.Bytes, nil)
		stop := running(b, v.View)
		var last *session.Future[session.Node]
		for i := range n {
			last = s.StartCreate(fmt.Sprintf("%s/child-%06d", path, i), []byte("some data of the usual length"), session.Persistent, nil)
			if i%256 == 255 { // as many in progress as a client has threads for
				_, err := last.Wait(context.Background())
				require.NoError(b, err)
			}
		}
		for ev, err := range v.Events(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			if v.Len() == n || ev.Kind == cache.EventSnapshot && ev.Snapshot.Len() == n {
				break
			}
		}
		stop()
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/10k")
}

// BenchmarkOneChange is a set by another client until the reader sees it.
func BenchmarkOneChange(b *testing.B) {
	servers := world.BenchServerOf(b, 512)
	s, path := benchDir(b, benchClient(b, servers), 10)
	v := cache.NewChildren(benchClient(b, servers), path, cache.Bytes, nil)
	stop := running(b, v.View)
	defer stop()
	seen := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Not waited for; ends with ctx.
	go func() {
		for ev, err := range v.Events(ctx) {
			if err == nil && ev.Kind == cache.EventUpdated {
				seen <- struct{}{}
			}
		}
	}()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		_, err := s.Set(ctx, path+"/child-000003", []byte("new"), -1)
		require.NoError(b, err)
		<-seen
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
}
