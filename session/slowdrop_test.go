package session

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// slowly closes after a while, like TLS with its closing message. It runs in a
// bubble.
type slowly struct{ net.Conn }

// Close runs in a bubble.
func (c slowly) Close() error {
	time.Sleep(2 * time.Second)
	return c.Conn.Close()
}

func TestASlowCloseDoesNotDelayTheNewsOfALoss(t *testing.T) {
	o := &Options{Timeout: time.Second, TickTime: 100 * time.Millisecond}
	inWorld(t, &zktest.Options{TickTime: 100 * time.Millisecond}, o, func(w *world) {
		dial := w.srv.Client("slow")
		c := w.connect("slow", &Options{Timeout: time.Second, TickTime: 100 * time.Millisecond,
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				raw, err := dial(ctx, network, addr)
				return slowly{raw}, err
			}})
		defer w.close(c)
		s := w.session(c)
		h := w.createHeld(s, "/h")
		w.sleep(time.Second)
		w.srv.BlackHole(zktest.Link{Client: "slow"}, zktest.Both)
		<-h.Context().Done() // the channel: Err would look at the clock
		require.True(w, w.exists("/h"), "told before the server let go")
		w.srv.Heal()
	})
}

// The next connection comes just when the session has ended, and is closed again.
func TestASlowCloseOfALateConnectionDelaysNoCall(t *testing.T) {
	o := &Options{Timeout: time.Second, TickTime: 100 * time.Millisecond}
	inWorld(t, &zktest.Options{TickTime: 100 * time.Millisecond}, nil, func(w *world) {
		dial, dials := w.srv.Client("slow"), 0
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials++; dials == 2 {
				<-ctx.Done() // the session has ended
				ctx = context.WithoutCancel(ctx)
			}
			raw, err := dial(ctx, network, addr)
			return slowly{raw}, err
		}
		c := w.connect("slow", o)
		defer w.close(c)
		s := w.session(c)
		began := time.Now()
		time.AfterFunc(200*time.Millisecond, func() { s.end(ErrExpired, false) })
		w.srv.Cut(s.ID())
		<-s.Context().Done()
		require.Less(w, time.Since(began), time.Second)
		_, err := c.Session(w.within(30 * time.Second))
		require.NoError(w, err, "the next session")
	})
}
