package wire

import (
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// isTimeout says that err is a network timeout.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// go-zookeeper would hang for 6.7 timeouts on the first of these servers, and
// indefinitely on the second.
func TestAServerThatStallsInTheHandshakeCostsAThirdOfTheTimeout(t *testing.T) {
	answer := framed(encodeConnectReply(9_000, 7))
	for name, sent := range map[string][]byte{
		"silent": nil, "four bytes of length": answer[:4], "half an answer": answer[:20],
		"one byte of length": answer[:1],
	} {
		t.Run(name, func(t *testing.T) {
			scripted(t, nil, func(s *script) {
				client, server := s.dial()
				// The bubble waits for the server; ends with the connection.
				go func() {
					_, _ = readFrame(server)
					_, _ = server.Write(sent)
				}()
				began := time.Now()
				_, err := client.Write(framed(connectRequest(0, 0)))
				require.NoError(s, err)
				_, err = readFrame(client)
				require.True(s, isTimeout(err), "%v", err)
				assert.Equal(s, theTimeout/3, time.Since(began))
				assert.Empty(s, s.attached)
				assert.Empty(s, s.detached, "a session never attached is not detached")
				assert.ErrorIs(s, s.link.Failure(), err)
			})
		})
	}
}

func TestAServerThatDoesNotReadTheHandshakeCostsAThirdOfTheTimeout(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, _ := s.dial()
		began := time.Now()
		_, err := client.Write(framed(connectRequest(0, 0)))
		require.True(s, isTimeout(err), "%v", err)
		assert.Equal(s, theTimeout/3, time.Since(began))
		require.NoError(s, client.Close())
	})
}

func TestSilenceOfTwoThirdsOfTheTimeoutEndsAConnection(t *testing.T) {
	for name, sent := range map[string][]byte{"nothing": nil, "half a length": {0, 0}, "half a frame": {0, 0, 0, 32, 1, 2}} {
		t.Run(name, func(t *testing.T) {
			scripted(t, nil, func(s *script) {
				client, server := s.attach()
				over := s.pump(client)
				time.Sleep(time.Second)
				s.mustWrite(server, reply(xidPing, 1, 0))
				began := time.Now()
				_, _ = server.Write(sent)
				require.True(s, isTimeout(<-over))
				assert.Equal(s, theTimeout*2/3, time.Since(began))
				assert.Len(s, s.detached, 1)
			})
		})
	}
}

func TestFramesOfImpossibleLengthEndAConnectionAtOnce(t *testing.T) {
	for _, size := range []uint32{1<<20 + 1, 1 << 31, 0xffffffff} {
		scripted(t, nil, func(s *script) {
			client, server := s.attach()
			over := s.pump(client)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			answers := s.calls(2)
			s.mustRead(server)
			s.mustRead(server)
			_, err := server.Write(binary.BigEndian.AppendUint32(nil, size))
			require.NoError(s, err)
			require.ErrorIs(s, <-over, errProtocol)
			require.ErrorIs(s, (<-answers).Err, ErrReplyTooLarge, "the answer to the oldest call")
			require.ErrorIs(s, (<-answers).Err, ErrUnanswered)
			runtime.ReadMemStats(&after)
			assert.Less(s, after.TotalAlloc-before.TotalAlloc, uint64(1<<19))
		})
	}
}

func TestALengthAloneDoesNotAllocateTheFrame(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := server.Write(append(binary.BigEndian.AppendUint32(nil, 1<<20), 1, 2, 3))
		require.NoError(s, err)
		synctest.Wait()
		runtime.ReadMemStats(&after)
		assert.Less(s, after.TotalAlloc-before.TotalAlloc, uint64(1<<19))
		require.True(s, isTimeout(<-over))
	})
}

func TestALongFrameArrivesWhole(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		long := make([]byte, 300<<10)
		for i := range long {
			long[i] = byte(i)
		}
		answers := s.calls(1)
		s.mustWrite(server, reply(xidOf(s.mustRead(server)), 5, 0, long...))
		a := <-answers
		require.NoError(s, a.Err)
		assert.Equal(s, long, a.Body.b)
		require.NoError(s, server.Close())
		<-over
	})
}

// A frame shorter than a reply header makes go-zookeeper panic.
func TestAShortFrameEndsTheConnectionAndNothingElse(t *testing.T) {
	for n := range headerSize {
		scripted(t, nil, func(s *script) {
			client, server := s.attach()
			over := s.pump(client)
			answers := s.calls(1)
			s.mustRead(server)
			s.mustWrite(server, make([]byte, n))
			require.ErrorIs(s, <-over, errProtocol)
			require.ErrorIs(s, (<-answers).Err, ErrUnanswered)
			assert.Empty(s, s.ended, "the session lives on")
			client, server = s.attach()
			over = s.pump(client)
			require.NoError(s, server.Close())
			<-over
		})
	}
}

func TestAPartialFrameOfGoZookeeperIsRefused(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, _ := s.dial()
		for _, p := range [][]byte{nil, {0, 0}, {0, 0, 0, 9, 1}} {
			_, err := client.Write(p)
			require.ErrorIs(s, err, errProtocol)
		}
		require.NoError(s, client.Close())
	})
}

func TestGoZookeeperMayReadInSmallPieces(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		// The bubble waits for the server; ends when the frame is read.
		go func() { _, _ = server.Write(framed(reply(1, 2, 0, 9, 9))) }()
		var got []byte
		for len(got) < 4+headerSize+2 {
			p := make([]byte, 3)
			n, err := client.Read(p)
			require.NoError(s, err)
			got = append(got, p[:n]...)
		}
		assert.Equal(s, framed(reply(1, 2, 0, 9, 9)), got)
		require.NoError(s, client.Close())
	})
}

func TestGoZookeepersDeadlinesAndAddressesAreHarmless(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		past := time.Now().Add(-time.Hour)
		require.NoError(s, client.SetDeadline(past))
		require.NoError(s, client.SetReadDeadline(past))
		require.NoError(s, client.SetWriteDeadline(past))
		assert.NotNil(s, client.LocalAddr())
		assert.NotNil(s, client.RemoteAddr())
		over := s.pump(client)
		answers := s.calls(1)
		s.mustWrite(server, reply(xidOf(s.mustRead(server)), 5, 0))
		require.NoError(s, (<-answers).Err)
		require.NoError(s, server.Close())
		<-over
	})
}

func TestCredentialsGoAheadOfEverythingOnEachConnection(t *testing.T) {
	creds := []Credential{{"digest", []byte("a:b")}, {"digest", []byte("c:d")}}
	scripted(t, creds, func(s *script) {
		for range 2 {
			client, server := s.attach()
			over := s.pump(client)
			answers := s.calls(1)
			for _, want := range creds {
				frame := s.mustRead(server)
				d := NewDecoder(frame)
				assert.Equal(s, xidAuth, d.Int32())
				assert.Equal(s, OpSetAuth, d.Int32())
				assert.Zero(s, d.Int32())
				assert.Equal(s, want, Credential{d.String(), d.Bytes()})
				s.mustWrite(server, reply(xidAuth, 0, 0))
			}
			s.mustWrite(server, reply(xidOf(s.mustRead(server)), 5, 0))
			require.NoError(s, (<-answers).Err)
			require.NoError(s, server.Close())
			<-over
		}
	})
}

func TestRefusedCredentialsEndTheLink(t *testing.T) {
	scripted(t, []Credential{{"digest", []byte("a:b")}}, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		answers := s.calls(1)
		s.mustRead(server)
		s.mustWrite(server, reply(xidAuth, 0, CodeAuthFailed))
		require.Error(s, <-over)
		require.ErrorIs(s, (<-answers).Err, ErrUnanswered)
		assert.Equal(s, []error{ErrAuthFailed}, s.ended)
		_, err := s.link.Dial("tcp", "zk:2181", time.Second)
		require.ErrorIs(s, err, ErrAuthFailed)
	})
}

func TestServerThatRequiresAuthenticationEndsTheLink(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		answers := s.calls(1)
		s.mustWrite(server, reply(xidOf(s.mustRead(server)), 0, CodeAuthRequired))
		require.Error(s, <-over)
		answer := <-answers
		require.NoError(s, answer.Err, "what was refused was not carried out")
		require.Equal(s, CodeAuthRequired, answer.Code)
		assert.Equal(s, []error{ErrAuthRequired}, s.ended)
	})
}

func TestAnAnswerTellsWhenItsRequestLeft(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		greeted := time.Now()
		time.Sleep(time.Second)
		sent := time.Now()
		answers := s.calls(1)
		xid := xidOf(s.mustRead(server))
		time.Sleep(time.Second)
		ping := &Encoder{}
		ping.Int32(xidPing)
		ping.Int32(OpPing)
		pinged := time.Now()
		s.mustWrite(client, ping.b)
		s.mustRead(server)
		time.Sleep(time.Second)
		s.mustWrite(server, reply(xid, 5, 0))
		s.mustWrite(server, reply(xidPing, 5, 0))
		assert.Equal(s, sent, (<-answers).Sent)
		synctest.Wait()
		assert.Equal(s, []time.Time{greeted}, s.attached)
		assert.Equal(s, []time.Time{sent, pinged}, s.answered)
		assert.Equal(s, 1, s.commits, "a ping proves no commit")
		require.NoError(s, server.Close())
		<-over
	})
}

func TestAFailureProvesNoCommit(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		answers := s.calls(1)
		s.mustWrite(server, reply(xidOf(s.mustRead(server)), 5, -110))
		assert.EqualValues(s, -110, (<-answers).Code)
		assert.Len(s, s.answered, 1)
		assert.Zero(s, s.commits)
		require.NoError(s, server.Close())
		<-over
	})
}

func TestASessionThatMovedDropsTheConnectionOnly(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		answers := s.calls(1)
		s.mustWrite(server, reply(xidOf(s.mustRead(server)), 5, CodeSessionMoved))
		require.ErrorIs(s, <-over, errMoved)
		require.ErrorIs(s, (<-answers).Err, ErrUnanswered)
		assert.Empty(s, s.ended)
	})
}

func TestTheNewestZxidGoesToTheNextServer(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		answers := s.calls(1)
		s.mustWrite(server, reply(xidOf(s.mustRead(server)), 0x77, 0))
		<-answers
		require.NoError(s, server.Close())
		<-over
		client, server = s.dial()
		// The bubble waits for the client; ends with the connection.
		go func() { _, _ = client.Write(framed(connectRequest(1, 7))) }()
		frame := s.mustRead(server)
		assert.EqualValues(s, 0x77, binary.BigEndian.Uint64(frame[4:]))
		require.NoError(s, client.Close())
	})
}
