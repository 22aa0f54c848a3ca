package zktest_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
)

func benchmarkClient(b *testing.B) *zk.Conn {
	b.Helper()
	s, err := zktest.Start(nil)
	require.NoError(b, err)
	c, _, err := zk.Connect([]string{s.Addr()}, 10*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	require.NoError(b, err)
	b.Cleanup(func() {
		c.Close()
		require.NoError(b, s.Close())
	})
	_, err = c.Create("/a", []byte("x"), 0, zk.WorldACL(zk.PermAll))
	require.NoError(b, err)
	return c
}

func BenchmarkGetOverTCP(b *testing.B) {
	c := benchmarkClient(b)
	for b.Loop() {
		if _, _, err := c.Get("/a"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCreateAndDeleteOverTCP(b *testing.B) {
	c := benchmarkClient(b)
	for b.Loop() {
		p, err := c.Create("/a/n-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		if err == nil {
			err = c.Delete(p, -1)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
