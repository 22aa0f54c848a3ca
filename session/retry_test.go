package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session/internal/wire"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// claim writes "mine" into /p, unless already written, in the form required by
// Retry.
func claim(ctx context.Context, s *Session) error {
	data, stat, err := s.Get(ctx, "/p")
	if err != nil || string(data) == "mine" {
		return err
	}
	_, err = s.Set(ctx, "/p", []byte("mine"), stat.Version)
	return err
}

// claimAndLook is claim between two reads. claimAndLook records a confirmed
// write, or an unknown outcome.
func (st *tested) claimAndLook(ctx context.Context, s *Session) error {
	if _, err := s.StartGet("/p", false).Wait(ctx); err != nil {
		return err
	}
	if err := claim(ctx, s); err != nil {
		st.doubted = st.doubted || errors.Is(err, ErrUnknownOutcome)
		return err
	}
	st.known = true
	seen, err := s.StartGet("/p", false).Wait(ctx)
	if err == nil && string(seen.Data) != "mine" {
		err = fmt.Errorf("it is %q", seen.Data)
	}
	return err
}

// hold is a matrix Setup: the client has a hold, and therefore gives up a
// session without trust. A matrix runs it in a bubble.
func hold(e *matrix.Env) error {
	if err := connectTested(e); err != nil {
		return err
	}
	s := e.State.(*tested).s
	if _, err := s.Create(e.T.Context(), "/held", nil, Ephemeral, nil); err != nil {
		return err
	}
	_, err := s.Hold(e.T.Context(), "/held", nil)
	time.Sleep(time.Millisecond) // its watch
	return err
}

// Under every fault, and under every two of them in either order: a part of these, all
// with ZKTEST_SEEDS.
func TestRetriedWriteIsAppliedOnceUnderEveryFaultAndEveryTwo(t *testing.T) {
	faults, mixed, least := append(matrix.All(), matrix.Freeze), 5, 50
	switch {
	case rounds(4) > 4:
		mixed = 1
	case testing.Short():
		mixed, least = 92, 30
	}
	for name, x := range map[string]struct {
		setup      func(*matrix.Env) error
		oneSession bool
	}{
		"over sessions":         {setup: connectTested},
		"over sessions, a hold": {setup: hold},
		"in one session":        {setup: connectTested, oneSession: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := runMatrix(t, matrix.Case{
				Name: "retry " + name, Setup: x.setup, Faults: faults, Pairs: faults, Mixed: mixed,
				Counts: func(r zktest.Request) bool { return r.Path == "/" || matrix.DefaultCounts(r) },
				Op: func(ctx context.Context, e *matrix.Env) error {
					st := e.State.(*tested)
					if x.oneSession {
						st.err = st.s.Retry(ctx, func() error { return st.claimAndLook(ctx, st.s) })
					} else {
						st.err = st.client.Retry(ctx, func(s *Session) error { return st.claimAndLook(ctx, s) })
					}
					return st.err
				},
				Check: func(e *matrix.Env) error { return checkRetried(e, x.oneSession) },
			})
			require.Greater(t, res.Cases, least)
		})
	}
}

// checkRetried compares the reported and the real outcome, and lets the same
// client try once more. A matrix runs it in a bubble.
func checkRetried(e *matrix.Env, oneSession bool) error {
	st := e.State.(*tested)
	time.Sleep(time.Minute) // for requests in flight
	n, err := e.Server.Get("/p")
	canceled := errors.Is(st.err, context.Canceled) && e.Canceled()
	lost := oneSession && errors.Is(st.err, ErrLost) && st.s.Err() != nil
	switch {
	case err != nil:
		return err
	case n.Version > 1, st.err == nil && n.Version == 0:
		return fmt.Errorf("it was written %d times", n.Version)
	case st.err != nil && !errors.Is(st.err, ErrUnknownOutcome) && !st.known && n.Version > 0:
		return fmt.Errorf("it was written, and that is denied: %w", st.err)
	case st.known && n.Version == 0:
		return errors.New("it was not written, and that is denied")
	case errors.Is(st.err, ErrUnknownOutcome) && !st.doubted:
		return fmt.Errorf("no doubt was left by what is retried: %w", st.err)
	case st.err != nil && !canceled && !lost:
		return fmt.Errorf("no excuse for: %w", st.err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := st.client.Retry(ctx, func(s *Session) error { return claim(ctx, s) }); err != nil {
		return fmt.Errorf("once more: %w", err)
	}
	if n, err = e.Server.Get("/p"); err == nil && n.Version != 1 {
		err = fmt.Errorf("it was written %d times in the end", n.Version)
	}
	return err
}

// A call with an unanswered write is followed by no call, or by a call that
// cannot find out: the write of the first call must not be denied, for any end
// of Retry.
func TestRetryRemembersTheDoubtsOfEarlierCalls(t *testing.T) {
	for name, first := range map[string]zktest.Fault{"answer lost": zktest.DropReplyCut, "session lost": zktest.ExpireAfter} {
		for _, second := range []string{"none", "canceled", "not sent", "closed", "wrapped"} {
			t.Run(name+", "+second, func(t *testing.T) {
				inWorld(t, nil, nil, func(w *world) { retryAfterUnknown(w, first, second) })
			})
		}
	}
}

// retryAfterUnknown runs in a bubble: a call writes under a fault, and the next call, if
// any, ends before looking.
func retryAfterUnknown(w *world, first zktest.Fault, second string) {
	w.createNode("/p", "")
	c := w.connect("tested", nil)
	defer func() { _ = c.Close(w.ctx) }()
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	w.srv.FailNth(isOp("setData"), 1, zktest.Action{Do: first})
	calls := 0
	err := c.Retry(ctx, func(s *Session) error {
		if calls++; calls == 1 {
			err := claim(ctx, s)
			require.Error(w, err)
			switch second {
			case "none":
				if first == zktest.ExpireAfter { // told before the write has failed
					<-s.Context().Done()
					err = &UnknownOutcomeError{Op: "set", Path: "/p", Reason: s.Err()}
				}
				cancel()
			case "wrapped":
				err = fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
			}
			return err
		}
		switch second {
		case "closed":
			w.close(c)
		case "not sent":
			var err error
			for err == nil { // it was connected again before the request
				w.srv.CutAll()
				_, err = s.StartGet("/p", false).Wait(ctx)
			}
			cancel()
			return err
		default:
			cancel()
		}
		return claim(ctx, s)
	})
	if second == "none" {
		calls++
	}
	require.Equal(w, 2, calls)
	require.ErrorIs(w, err, ErrUnknownOutcome)
	want := context.Canceled
	if second == "closed" {
		want = ErrClosed
	}
	require.ErrorIs(w, err, want)
	n, err := w.srv.Get("/p")
	require.NoError(w, err)
	require.Equal(w, int32(1), n.Version)
}

// At the leader, a sync does not wait for a write that was proposed and not
// committed: the next call would not see the write, and would assume that the
// write was not done.
func TestARetriedCallSeesWhatTheOneBeforeHasDone(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		w.sleep(time.Second)
		leader := w.srv.Leader()
		c, err := Connect(w.ctx, w.srv.ServerAddr(leader), &Options{Dialer: w.srv.Client("tested")})
		require.NoError(w, err)
		defer w.close(c)
		w.createNode("/p", "")
		s := w.session(c)
		for i := 1; i <= 3; i++ {
			if i != leader { // delays the followers' messages to the leader
				w.srv.CutPeers(i, leader, zktest.ToServer)
			}
		}
		w.srv.FailNth(isOp("setData"), 1, zktest.Action{Do: zktest.CutAfter})
		saw, done := []string{}, make(chan error, 1)
		// Waited for below; ends with the retry.
		go func() {
			done <- s.Retry(w.within(time.Minute), func() error {
				data, _, err := s.Get(w.ctx, "/p")
				saw = append(saw, string(data))
				if err != nil || len(saw) > 1 {
					return err
				}
				_, err = s.Set(w.ctx, "/p", []byte("mine"), -1)
				return err
			})
		}()
		w.sleep(100 * time.Millisecond)
		w.srv.CutLink(zktest.Link{Client: "tested"})
		w.sleep(500 * time.Millisecond) // the client is connected to the leader again
		w.srv.HealPeers()
		require.NoError(w, <-done)
		require.Equal(w, []string{"", "mine"}, saw)
	})
}

func TestRetryGoesOnInTheNextSessionAndASessionsEndsWithIt(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/p", "")
		w.srv.FailNth(isOp("setData"), 1, zktest.Action{Do: zktest.ExpireBefore})
		var in []*Session
		require.NoError(w, w.client.Retry(w.ctx, func(s *Session) error {
			in = append(in, s)
			return claim(w.ctx, s)
		}))
		require.Equal(w, []*Session{w.s, w.session(w.client)}, in)
		require.NotEqual(w, w.s, in[1])

		w.srv.FailNth(isOp("setData"), 1, zktest.Action{Do: zktest.ExpireBefore})
		calls := 0
		err := in[1].Retry(w.ctx, func() error {
			calls++
			_, err := in[1].Set(w.ctx, "/p", nil, -1)
			return err
		})
		require.ErrorIs(w, err, ErrExpired)
		require.Equal(w, 1, calls)
	})
}

func TestRetryReturnsWhatIsNotTheNetworks(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		for _, want := range []error{nil, io.EOF, ErrNoNode, errDeleted, ErrUnsupported, context.DeadlineExceeded} {
			calls := 0
			err := w.client.Retry(w.ctx, func(*Session) error { calls++; return want })
			require.Equal(w, want, err)
			require.Equal(w, 1, calls, want)
		}
		ended, cancel := context.WithCancel(w.ctx)
		cancel()
		err := w.client.Retry(ended, func(*Session) error { w.Error("called"); return nil })
		require.ErrorIs(w, err, context.Canceled)
	})
}

func TestARetryThatIsGivenUpDoesNotDenyWhatMayHaveBeenDone(t *testing.T) {
	for name, end := range map[string]func(w *world) context.Context{
		"the context ends":            func(w *world) context.Context { return w.within(5 * time.Second) },
		"the context, and no session": func(w *world) context.Context { return w.within(5 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, nil, func(w *world) {
				w.createNode("/p", "")
				w.srv.OnRequest(func(r zktest.Request) zktest.Action {
					if r.Op == "setData" {
						w.srv.BlackHole(zktest.Link{}, zktest.Both)
					}
					return zktest.Action{}
				})
				ctx := end(w)
				err := w.client.Retry(ctx, func(s *Session) error { return claim(w.ctx, s) })
				require.ErrorIs(w, err, ErrUnknownOutcome)
				require.ErrorIs(w, err, context.DeadlineExceeded)
				w.srv.Heal()
			})
		})
	}
}

// The request for proving that no earlier request is in flight may be refused:
// a refusal is an answer as well.
func TestARetryNeedsNoRoot(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		c, err := Connect(w.ctx, w.srv.Addr()+"/missing", &Options{Dialer: w.srv.Client("tested")})
		require.NoError(w, err)
		defer w.close(c)
		calls := 0
		require.NoError(w, c.Retry(w.ctx, func(*Session) error {
			if calls++; calls < 3 {
				return wire.ErrUnanswered
			}
			return nil
		}))
		require.Equal(w, 3, calls)
	})
}

// A request that costs the connection each time is repeated with pauses.
func TestARetryBacksOff(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/p", "")
		calls := 0
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "setData" {
				return zktest.Action{Do: zktest.CutBefore}
			}
			return zktest.Action{}
		})
		err := w.s.Retry(w.within(10*time.Minute), func() error { calls++; return claim(w.ctx, w.s) })
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Greater(w, calls, 20)
		require.Less(w, calls, 400)
	})
}

func TestInterruptedIsWhatTheNetworkHasDoneToALivingSession(t *testing.T) {
	f := &Future[struct{}]{op: "set", path: "/p", write: true}
	read := &Future[struct{}]{op: "get", path: "/p"}
	answerless, unsent := wire.ErrUnanswered, wire.ErrNotSent
	for _, err := range []error{answerless, unsent, f.fail(answerless, true), f.fail(unsent, false), read.fail(answerless, true), f.fail(codeError(-4), true), errors.Join(ErrNoNode, answerless)} {
		require.True(t, IsConnectionLoss(err), err)
	}
	for _, err := range []error{
		nil, io.EOF, ErrNoNode, errDeleted, lost(ErrExpired), f.fail(lost(ErrExpired), true),
		f.fail(context.Canceled, true), f.fail(context.DeadlineExceeded, true), read.fail(context.Canceled, true),
	} {
		require.False(t, IsConnectionLoss(err), err)
	}
}
