package session

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// lowerLimit lowers the timeout requested in a handshake, so the server grants
// as little as with a lower maxSessionTimeout.
type lowerLimit struct {
	net.Conn
	limit   time.Duration
	greeted bool
}

func (c *lowerLimit) Write(p []byte) (int, error) {
	if !c.greeted {
		c.greeted = true
		p = append([]byte(nil), p...)
		binary.BigEndian.PutUint32(p[4+4+8:], uint32(c.limit/time.Millisecond)) // after length, version and zxid
	}
	return c.Conn.Write(p)
}

// The session moves to a server that grants a shorter timeout. This server
// counts by the shorter timeout from the handshake on, so the client must not
// use the former timeout.
func TestAShorterTimeoutOnAReattachEndsTheSessionBeforeTheServerCould(t *testing.T) {
	for _, rule := range []TrustRule{TrustQuorum, TrustAnswered} {
		for _, deaf := range []bool{false, true} {
			t.Run(fmt.Sprintf("rule %d, deaf %v", rule, deaf), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { reattachToLess(t, rule, deaf) })
			})
		}
	}
}

// reattachToLess works in a bubble; deaf servers do not hear of the end.
func reattachToLess(t *testing.T, rule TrustRule, deaf bool) {
	const lower = 4 * time.Second
	srv, err := zktest.Start(&zktest.Options{InMemory: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	w := &world{T: t, srv: srv, ctx: t.Context()}
	dial, dials := srv.Client(""), 0
	w.client = w.connect("", &Options{Trust: rule, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := dial(ctx, network, addr)
		if dials++; dials == 1 || err != nil {
			return raw, err
		}
		return &lowerLimit{Conn: raw, limit: lower}, nil
	}})
	defer w.close(w.client)
	w.s = w.session(w.client)
	require.Equal(t, DefaultTimeout, w.s.Timeout())
	h := w.createHeld(w.s, "/h")
	w.sleep(5 * time.Second)
	require.NoError(t, h.Err())

	w.srv.OnRequest(func(r zktest.Request) zktest.Action {
		if deaf && r.Op == "closeSession" {
			return zktest.Action{Do: zktest.DropRequest}
		}
		return zktest.Action{}
	})
	began := time.Now()
	w.srv.Cut(w.s.ID())
	select {
	case <-h.Context().Done():
	case <-time.After(DefaultTimeout):
		t.Fatal("the session lives on with a timeout that the server does not know")
	}
	assert.Less(t, time.Since(began), lower/4)
	if deaf {
		assert.True(t, w.exists("/h"), "the server has not expired the session yet")
	}
	require.ErrorIs(t, h.Err(), ErrLost)
	require.ErrorIs(t, h.Err(), ErrTimeoutRefused)
	next := w.session(w.client)
	assert.Equal(t, lower, next.Timeout())
	w.createHeld(next, "/next")
}

// Three times R and less: no heartbeat fits between, and this rule needs none.
func TestTheWeakerRuleRestsBetweenItsTurnsHoweverShortTheTimeout(t *testing.T) {
	const tick = 2 * time.Second // R is a second then
	for _, timeout := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
		t.Run(timeout.String(), func(t *testing.T) {
			limits := &zktest.Options{TickTime: tick, MinSessionTimeout: time.Second}
			inWorld(t, limits, &Options{Timeout: timeout, TickTime: tick, Trust: TrustAnswered}, func(w *world) {
				// A lease renewer that never rests would stop the bubble's time, so
				// these checks come before any wait.
				require.Equal(w, timeout/10, w.s.Heartbeat())
				h := w.createHeld(w.s, "/h")
				w.s.renewer.renewIfDue()
				wait, held := w.s.renewer.renewIfDue()
				require.True(w, held)
				require.Positive(w, wait)
				w.sleep(time.Minute)
				require.NoError(w, h.Err(), "pings keep the hold")
			})
		})
	}
}
