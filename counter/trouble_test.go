package counter_test

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/session"
)

// troubled is a connection whose transactions are answered, while on is set,
// with an error that leaves the outcome open.
type troubled struct {
	net.Conn
	on   *atomic.Bool
	xids *sync.Map // of transactions
	left []byte    // of a frame, to be read
}

func (c *troubled) Write(p []byte) (int, error) {
	for rest := p; len(rest) >= 12; rest = rest[4+binary.BigEndian.Uint32(rest):] {
		if c.on.Load() && binary.BigEndian.Uint32(rest[8:]) == 14 {
			c.xids.Store(binary.BigEndian.Uint32(rest[4:]), true)
		}
	}
	return c.Conn.Write(p)
}

func (c *troubled) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		b := make([]byte, 1<<16)
		n, err := c.Conn.Read(b)
		if err != nil {
			return n, err
		}
		c.left = b[:n]
		for rest := c.left; len(rest) >= 20; rest = rest[4+binary.BigEndian.Uint32(rest):] {
			if _, is := c.xids.Load(binary.BigEndian.Uint32(rest[4:])); is {
				binary.BigEndian.PutUint32(rest[16:], uint32(0xffffffff)) // system error
			}
		}
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

// A read has no unknown outcome.
func TestGetDoesNotSayThatItsOutcomeIsUnknown(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.make(long(7))
		var on atomic.Bool
		dial := w.Server.Client("c1")
		c := counter.New(w.ClientWith(session.Options{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return &troubled{Conn: conn, on: &on, xids: &sync.Map{}}, err
		}}), path, nil)
		v, err := c.Get(w.Ctx)
		require.NoError(w, err)
		require.EqualValues(w, 7, v)
		on.Store(true)
		_, err = c.Get(w.Ctx)
		require.Error(w, err)
		require.NotErrorIs(w, err, session.ErrUnknownOutcome)
	})
}
