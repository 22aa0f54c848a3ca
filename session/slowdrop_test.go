package session

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

type slow5 struct{ net.Conn }

func (c slow5) Close() error { time.Sleep(2 * time.Second); return c.Conn.Close() }

func TestSlowCloseDelaysDone(t *testing.T) {
	func() {
		srv, err := zktest.Start(&zktest.Options{InMemory: true, TickTime: 100*time.Millisecond})
		require.NoError(t, err)
		w := &world{T: t, srv: srv, ctx: t.Context()}
		dial := srv.Client("")
		w.client = w.connect("", &Options{Timeout: time.Second, TickTime: 100*time.Millisecond, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			raw, err := dial(ctx, network, addr)
			return slow5{raw}, err
		}})
		w.s = w.session(w.client)
		h := w.held(w.s, "/h")
		time.Sleep(time.Second)
		srv.BlackHole(zktest.Link{}, zktest.Both)
		began := time.Now()
		lease := time.Time{}
		for w.exists("/h") && h.ctx.(clocked).Context.Err() == nil { time.Sleep(time.Millisecond) }
		lease = w.s.keeper.until()
		t.Logf("node gone after %v: hold's Done: %v; lease over since %v", time.Since(began), h.ctx.(clocked).Context.Err(), time.Since(lease))
		<-h.Context().Done()
		t.Logf("Done %v after the black hole, %v after the lease; node there: %v", time.Since(began), time.Since(w.s.keeper.until()), w.exists("/h"))
		srv.Heal()
		w.sleep(time.Second)
		w.close(w.client)
		require.NoError(t, srv.Close())
	}()
}
