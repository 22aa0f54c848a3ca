package relay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// echo serves connections that get back what they send.
func echo(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	// Not waited for; ends with the listener.
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			// Not waited for; ends with the connection.
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func start(t *testing.T, delay time.Duration) (*Relay, net.Conn) {
	t.Helper()
	r, err := Start(echo(t), delay)
	require.NoError(t, err)
	c, err := net.Dial("tcp", r.Addr())
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Close()
		require.NoError(t, r.Close())
	})
	return r, c
}

func TestEachByteTakesTheDelayBothWays(t *testing.T) {
	const delay = 20 * time.Millisecond
	_, c := start(t, delay)
	for range 3 {
		began := time.Now()
		_, err := c.Write([]byte("x"))
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, 1))
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(began), 2*delay)
	}
}

// Bytes that follow each other travel at the same time: the delay is no bandwidth.
func TestBytesArriveInOrderAndTogether(t *testing.T) {
	const delay, parts = 50 * time.Millisecond, 200
	_, c := start(t, delay)
	var want bytes.Buffer
	began := time.Now()
	for i := range parts {
		part := bytes.Repeat([]byte{byte(i)}, 100)
		want.Write(part)
		_, err := c.Write(part)
		require.NoError(t, err)
	}
	got := make([]byte, want.Len())
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, want.Bytes(), got)
	require.Less(t, time.Since(began), parts*delay, "not one after the other")
}

func TestTheEndOfAConnectionReachesTheOtherSide(t *testing.T) {
	r, c := start(t, time.Millisecond)
	require.NoError(t, r.Close())
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err)
	_, err = net.Dial("tcp", r.Addr())
	require.Error(t, err)
}

func TestNoServerEndsTheConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	r, err := Start(l.Addr().String(), 0)
	require.NoError(t, err)
	c, err := net.Dial("tcp", r.Addr())
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Read(make([]byte, 1))
	require.Error(t, err)
	require.NoError(t, r.Close())
}

// BenchmarkRoundTrip says how long a round trip takes, with one connection and with many that are
// used at the same time.
func BenchmarkRoundTrip(b *testing.B) {
	for _, delay := range []time.Duration{0, 500 * time.Microsecond} {
		for _, connections := range []int{1, 128} {
			b.Run(fmt.Sprintf("delay=%v/connections=%d", delay, connections), func(b *testing.B) {
				r, err := Start(echo(b), delay)
				require.NoError(b, err)
				defer func() { require.NoError(b, r.Close()) }()
				each := b.N/connections + 1
				var all errgroup.Group
				for range connections {
					c, err := net.Dial("tcp", r.Addr())
					require.NoError(b, err)
					defer c.Close()
					// Waited for below; ends after its round trips.
					all.Go(func() error {
						one := make([]byte, 1)
						for range each {
							_, err := c.Write(one)
							if _, read := io.ReadFull(c, one); read != nil {
								return errors.Join(err, read)
							}
						}
						return nil
					})
				}
				require.NoError(b, all.Wait())
				b.ReportMetric(b.Elapsed().Seconds()*1000/float64(each), "ms/trip")
			})
		}
	}
}
