package wire

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNothingIsSentOrKeptWithoutAConnection(t *testing.T) {
	scripted(t, nil, func(s *script) {
		never := &Call{Op: OpSync, Done: func(Answer) { s.Error("called") }}
		require.ErrorIs(s, s.link.Send(never, nil), ErrNotSent)
		client, server := s.dial()
		require.ErrorIs(s, s.link.Send(never, nil), ErrNotSent, "dialed, not attached")
		require.NoError(s, client.Close())
		require.NoError(s, server.Close())
		client, server = s.attach()
		over := s.pump(client)
		require.NoError(s, server.Close())
		<-over
		require.ErrorIs(s, s.link.Send(never, nil), ErrNotSent, "lost")
	})
}

func TestATooLargeRequestAffectsNoOtherRequest(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		huge := func(e *Encoder) { e.Bytes(make([]byte, 1<<20)) }
		require.ErrorIs(s, s.link.Send(&Call{Op: OpCreate2}, huge), ErrTooLarge)
		answers := s.calls(1)
		s.mustWrite(server, reply(xidOf(s.mustRead(server)), 5, 0))
		require.NoError(s, (<-answers).Err)
		require.NoError(s, server.Close())
		<-over
	})
}

func TestAStalledServerNeitherBlocksASenderNorHidesWhatItGot(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, _ := s.attach() // the server reads nothing
		over := s.pump(client)
		began := time.Now()
		first := s.calls(1)
		synctest.Wait() // the writer has taken the call, and is stuck
		rest := s.calls(2)
		assert.Zero(s, time.Since(began))
		require.Error(s, <-over)
		assert.Equal(s, theTimeout*2/3, time.Since(began))
		require.ErrorIs(s, (<-first).Err, ErrUnanswered, "a part of the request may have left")
		require.ErrorIs(s, (<-rest).Err, ErrNotSent)
		require.ErrorIs(s, (<-rest).Err, ErrNotSent)
	})
}

func TestDropMovesOnAndKeepsTheSession(t *testing.T) {
	scripted(t, nil, func(s *script) {
		cause := errors.New("tired of it")
		s.link.Drop(cause) // nothing there
		client, server := s.attach()
		over := s.pump(client)
		answers := s.calls(1)
		s.mustRead(server)
		s.link.Drop(cause)
		require.ErrorIs(s, <-over, cause)
		require.ErrorIs(s, (<-answers).Err, ErrUnanswered)
		assert.Equal(s, []error{cause}, s.detached)
		assert.Empty(s, s.ended)
		sid := s.link.SessionID()
		client, server = s.attach()
		over = s.pump(client)
		assert.Equal(s, sid, s.link.SessionID())
		require.NoError(s, server.Close())
		<-over
	})
}

func TestAPoliteEndLeavesTheConnectionForTheCloseRequest(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		answers := s.calls(1)
		late := s.mustRead(server)
		cause := errors.New("closed")
		s.link.End(cause, true)
		require.ErrorIs(s, (<-answers).Err, ErrUnanswered)
		require.ErrorIs(s, s.link.Send(&Call{Op: OpSync}, nil), ErrNotSent)
		bye := &Encoder{}
		bye.Int32(1)
		bye.Int32(OpCloseSession)
		s.mustWrite(client, bye.b)
		assert.Equal(s, bye.b, s.mustRead(server))
		// A late answer to the abandoned call comes ahead of the farewell.
		s.mustWrite(server, reply(xidOf(late), 5, 0))
		s.mustWrite(server, reply(1, 6, 0))
		synctest.Wait()
		assert.Empty(s, over)
		s.link.Hangup()
		require.Error(s, <-over)
		assert.Equal(s, []error{cause}, s.ended)
		assert.Equal(s, cause, s.link.Ended())
	})
}

func TestOnlyTheFirstEndCounts(t *testing.T) {
	scripted(t, nil, func(s *script) {
		first := errors.New("first")
		s.link.End(first, true)
		s.link.End(errors.New("second"), false)
		assert.Equal(s, []error{first}, s.ended)
		_, err := s.link.Dial("tcp", "zk:2181", time.Second)
		assert.Equal(s, first, err)
	})
}

func TestTheServersExpiryEndsTheLink(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		require.NoError(s, server.Close())
		<-over
		client, server = s.dial()
		// The bubble waits for the server; ends with the connection.
		go func() {
			_, _ = readFrame(server)
			_, _ = server.Write(framed(encodeConnectReply(0, 0)))
		}()
		_, err := client.Write(framed(connectRequest(0, 7)))
		require.NoError(s, err)
		_, err = readFrame(client)
		require.Error(s, err, "go-zookeeper must not see the refusal, or it would open a session by itself")
		assert.Equal(s, []error{ErrExpired}, s.ended)
		_, err = s.link.Dial("tcp", "zk:2181", time.Second)
		require.ErrorIs(s, err, ErrExpired)
	})
}

func TestEndInterruptsADialAndItsPause(t *testing.T) {
	for name, dialing := range map[string]bool{"dialing": true, "pausing": false} {
		t.Run(name, func(t *testing.T) {
			scripted(t, nil, func(s *script) {
				s.link.cfg.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				if !dialing {
					s.link.cfg.Pause = func(int) time.Duration { return time.Hour }
				}
				began := time.Now()
				time.AfterFunc(50*time.Millisecond, func() { s.link.End(errors.New("over"), false) })
				_, err := s.link.Dial("tcp", "zk:2181", time.Hour)
				require.ErrorIs(s, err, context.Canceled)
				assert.Equal(s, 50*time.Millisecond, time.Since(began))
			})
		})
	}
}

func TestAHangingDialIsBounded(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		9 * time.Second: maxDial, 3 * time.Second: time.Second, 30 * time.Millisecond: minDial,
	} {
		scripted(t, nil, func(s *script) {
			s.link.cfg.Timeout = timeout
			s.link.cfg.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			began := time.Now()
			_, err := s.link.Dial("tcp", "zk:2181", time.Hour)
			require.ErrorIs(s, err, context.DeadlineExceeded)
			assert.Equal(s, want, time.Since(began))
		})
	}
}

func TestPausesGrowUntilAServerHasAnswered(t *testing.T) {
	scripted(t, nil, func(s *script) {
		took := func() time.Duration {
			began := time.Now()
			_, err := s.link.Dial("tcp", "zk:2181", time.Second)
			require.ErrorIs(s, err, s.refuse)
			return time.Since(began)
		}
		s.refuse = errors.New("refused")
		assert.Equal(s, time.Duration(0), took())
		assert.Equal(s, time.Second, took())
		assert.Equal(s, 2*time.Second, took())
		s.refuse = nil
		client, server := s.attach() // after three seconds
		over := s.pump(client)
		answers := s.calls(1)
		s.mustWrite(server, reply(xidOf(s.mustRead(server)), 5, 0))
		require.NoError(s, (<-answers).Err)
		require.NoError(s, server.Close())
		<-over
		s.refuse = errors.New("refused again")
		assert.Equal(s, time.Duration(0), took())
	})
}

// Under all races, each accepted call ends exactly once, and so does the link.
func TestEveryCallEndsExactlyOnce(t *testing.T) {
	for range 10 {
		s := newScript(t, nil)
		s.link.cfg.Pause = func(int) time.Duration { return 0 }
		var accepted, ended atomic.Int64
		stop := make(chan struct{})
		var workers sync.WaitGroup
		for range 2 {
			// A sender; waited for below, ends with stop.
			workers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					var times atomic.Int32
					if s.link.Send(&Call{Op: OpSync, Done: func(Answer) {
						ended.Add(1)
						assert.EqualValues(t, 1, times.Add(1))
					}}, nil) == nil {
						accepted.Add(1)
					}
				}
			})
		}
		for round := range 5 {
			client, server := s.attach()
			over := s.pump(client)
			// Awaited by goleak; ends with the connection.
			go func() {
				for {
					frame, err := readFrame(server)
					if err != nil {
						return
					}
					if _, err := server.Write(framed(reply(xidOf(frame), 1, 0))); err != nil {
						return
					}
				}
			}()
			for accepted.Load() < int64(round+1)*20 {
				runtime.Gosched()
			}
			switch round {
			case 4:
				for _, f := range []func(){
					func() { s.link.End(errors.New("over"), false) }, func() { s.link.Drop(errors.New("drop")) },
					func() { _ = client.Close() }, s.link.Hangup,
				} {
					// Waited for below; returns at once.
					workers.Go(f)
				}
			default:
				s.link.Drop(errors.New("drop"))
			}
			<-over
			_ = server.Close()
		}
		close(stop)
		workers.Wait()
		require.Equal(t, accepted.Load(), ended.Load())
		require.Len(t, s.ended, 1)
	}
}
