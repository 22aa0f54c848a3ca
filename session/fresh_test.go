package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A server that lags behind answers a plain read from an old state; ReadFresh
// waits for the catch-up.
func TestReadFreshSeesWhatWasCommittedBefore(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		w.createNode("/a", "old")
		w.sleep(time.Second)
		follower := w.srv.Leader()%3 + 1
		g := &gate{srv: w.srv, only: follower}
		c := w.connect("", &Options{Dialer: g.dial})
		defer w.close(c)
		s := w.session(c)
		require.NoError(w, w.srv.Lag(follower, true))
		require.NoError(w, w.srv.Set("/a", []byte("new"))) // w.s may be at the follower
		var data []byte
		read := func() (err error) {
			data, _, err = s.Get(w.ctx, "/a")
			return err
		}
		require.NoError(w, read())
		require.Equal(w, "old", string(data))
		out := make(chan error, 1)
		// Waited for below; ends when the server has caught up.
		go func() { out <- s.ReadFresh(w.ctx, "/a", read) }()
		w.sleep(time.Second)
		require.Empty(w, out)
		require.NoError(w, w.srv.Lag(follower, false))
		require.NoError(w, <-out)
		require.Equal(w, "new", string(data))
	})
}

func TestReadFreshReadsAgainWhenItsProofWasLost(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		remove := w.srv.FailNth(func(r zktest.Request) bool { return r.OnlyChecks }, 1, zktest.Action{Do: zktest.DropReplyCut})
		defer remove()
		reads := 0
		require.NoError(w, w.s.ReadFresh(w.ctx, "/nothing", func() error {
			reads++
			_, _, err := w.s.Exists(w.ctx, "/nothing")
			return err
		}))
		require.Equal(w, 2, reads)
		errMine := errors.New("mine")
		require.Equal(w, errMine, w.s.ReadFresh(w.ctx, "/", func() error { return errMine }))
		ctx, cancel := context.WithCancel(w.ctx)
		require.ErrorIs(w, w.s.ReadFresh(ctx, "/", func() error { w.srv.BlackHole(zktest.Link{}, zktest.Both); cancel(); return nil }), context.Canceled)
		w.srv.Heal()
	})
}
