package session

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// Servers hang up on a client with a later zxid than their own: the client, and
// all callers waiting for its session, would wait indefinitely.
func TestSessionEndsWhenTheEnsembleIsRecreatedEmpty(t *testing.T) {
	for _, servers := range []int{1, 3} {
		inWorld(t, &zktest.Options{Servers: servers}, nil, func(w *world) {
			_, err := w.s.Create(w.ctx, "/old", nil, Persistent, nil)
			require.NoError(w, err)
			began := time.Now()
			require.NoError(w, w.srv.RestartEmpty())
			<-w.s.Context().Done()
			require.ErrorIs(w, w.s.Err(), ErrRefused)
			require.True(w, IsSessionLoss(w.s.Err()))
			require.GreaterOrEqual(w, time.Since(began), 2*w.s.Timeout())
			require.Less(w, time.Since(began), 2*w.s.Timeout()+5*time.Second)
			_, there, err := w.session(w.client).Exists(w.ctx, "/old")
			require.NoError(w, err)
			require.False(w, there)
		})
	}
}

// Servers without a quorum hang up as well. A session that can be resumed soon
// stays, and earlier losses do not count.
func TestSessionOutlivesAShortLossOfTheQuorum(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		alone := func(d time.Duration) {
			require.NoError(w, w.srv.Restart(1))
			w.sleep(d)
		}
		for _, i := range []int{3, 2, 1} {
			require.NoError(w, w.srv.Stop(i))
		}
		alone(w.s.Timeout())
		require.NoError(w, w.srv.Stop(1))
		w.sleep(3 * w.s.Timeout())
		alone(w.s.Timeout() * 3 / 2)
		require.NoError(w, w.srv.Restart(2))
		require.NoError(w, w.s.Sync(w.ctx, "/"))
		require.NoError(w, w.s.Err())
	})
}

// After an outage a client must not wait for the end of a long back-off.
func TestClientIsBackWithinASecondOfTheServers(t *testing.T) {
	var sum, most time.Duration
	const runs = 40
	for i := range runs {
		inWorld(t, nil, nil, func(w *world) {
			require.NoError(w, w.srv.Stop(1))
			w.sleep(time.Minute + time.Duration(i)*73*time.Millisecond)
			began := time.Now()
			require.NoError(w, w.srv.Restart(1))
			require.NoError(w, w.s.awaitConnection(w.ctx))
			took := time.Since(began)
			sum, most = sum+took, max(most, took)
		})
	}
	t.Logf("back after %v on average, %v at most", sum/runs, most)
	require.LessOrEqual(t, most, time.Second)
	require.Less(t, sum/runs, 600*time.Millisecond)
}

// Each round tries all servers, and only then the client waits.
func TestPausesComeOncePerRoundOfServers(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		for n := range 30 {
			pause := w.s.dialPause(n)
			require.LessOrEqual(w, pause, time.Second)
			require.Equal(w, n%3 == 0 && n > 0, pause > 0, "dial %d waits %v", n, pause)
		}
	})
}

func TestSessionEndsWhenApacheIsRecreatedEmpty(t *testing.T) {
	before := apache.Require(t, &apache.Options{Own: true})
	after := apache.Require(t, &apache.Options{Own: true})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var moved atomic.Bool
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if moved.Load() {
			address = after.Connect()
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	c, err := Connect(ctx, before.Connect(), &Options{Timeout: 4 * time.Second, Dialer: dial})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(ctx)) }()
	s, err := c.Session(ctx)
	require.NoError(t, err)
	for range 20 {
		_, err := s.Create(ctx, "/n-", nil, PersistentSequential, nil)
		require.NoError(t, err)
	}
	moved.Store(true)
	require.NoError(t, before.Kill(ctx, 0))
	select {
	case <-s.Context().Done():
		require.ErrorIs(t, s.Err(), ErrRefused)
	case <-ctx.Done():
		require.NoError(t, ctx.Err(), "the client waits indefinitely")
	}
	next, err := c.Session(ctx)
	require.NoError(t, err)
	require.NoError(t, next.Sync(ctx, "/"))
}
