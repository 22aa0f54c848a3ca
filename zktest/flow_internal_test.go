package zktest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// big is the size of the znode read by lazy clients; reads answers fill a
// connection several times over.
const big, reads = 200 << 10, 5 * maxUnsent / (200 << 10)

// lazy is a client that reads only when a test calls for answers.
type lazy struct {
	t    *testing.T
	conn net.Conn
	sent int32
	seen int32
}

func newLazy(t *testing.T, s *Server) *lazy {
	t.Helper()
	require.NoError(t, s.Create("/big", make([]byte, big)))
	c, err := s.Dial(context.Background(), "tcp", s.ServerAddr(1))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	var w jute.Writer
	w.Int32(0)
	w.Int64(0)
	w.Int32(20000)
	w.Int64(0)
	w.Buffer(make([]byte, 16))
	_, err = c.Write(jute.Frame(w.Bytes()))
	require.NoError(t, err)
	l := &lazy{t: t, conn: c}
	l.readFrame()
	return l
}

func (l *lazy) readFrame() []byte {
	l.t.Helper()
	var n [4]byte
	_, err := io.ReadFull(l.conn, n[:])
	require.NoError(l.t, err)
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	_, err = io.ReadFull(l.conn, b)
	require.NoError(l.t, err)
	return b
}

// nextRequest returns the next request as a frame.
func (l *lazy) nextRequest(op proto.Op, body func(w *jute.Writer)) []byte {
	l.sent++
	var w jute.Writer
	w.Int32(l.sent)
	w.Int32(int32(op))
	body(&w)
	return jute.Frame(w.Bytes())
}

func (l *lazy) readRequest() []byte {
	return l.nextRequest(proto.OpGetData, func(w *jute.Writer) {
		w.String("/big")
		w.Bool(false)
	})
}

func (l *lazy) createRequest(path string) []byte {
	return l.nextRequest(proto.OpCreate, func(w *jute.Writer) {
		w.String(path)
		w.Buffer(nil)
		proto.EncodeACLs(w, proto.WorldACL())
		w.Int32(0)
	})
}

// pipelineReads sends many reads at once, behind the bytes in before.
func (l *lazy) pipelineReads(before ...byte) {
	l.t.Helper()
	for range reads {
		before = append(before, l.readRequest()...)
	}
	_, err := l.conn.Write(before)
	require.NoError(l.t, err)
}

// drainAnswers reads all answers and checks that they come in the order of their
// requests.
func (l *lazy) drainAnswers() {
	l.t.Helper()
	for l.seen < l.sent {
		l.seen++
		b := l.readFrame()
		require.EqualValues(l.t, l.seen, binary.BigEndian.Uint32(b))
		require.Zero(l.t, binary.BigEndian.Uint32(b[12:16]), "error code")
	}
}

// queuedBytes counts the bytes held for clients by the server and the connections.
func queuedBytes(s *Server) (bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		switch w := c.wire.(type) {
		case *memory:
			w.mu.Lock()
			bytes += len(w.buf)
			w.mu.Unlock()
		case *socket:
			w.mu.Lock()
			for _, b := range w.queue {
				bytes += len(b)
			}
			w.mu.Unlock()
		}
	}
	return bytes
}

// unsentBytes counts the bytes of answers held for clients according to the
// server.
func unsentBytes(s *Server) (bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		bytes += int(c.unsent.Load())
	}
	return bytes
}

// inLazy runs f in a bubble with a client that never reads.
func inLazy(t *testing.T, servers int, f func(t *testing.T, s *Server, l *lazy)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := Start(&Options{InMemory: true, Servers: servers})
		require.NoError(t, err)
		defer s.Close()
		require.NoError(t, s.WaitLeader(t.Context()))
		f(t, s, newLazy(t, s))
	})
}

func requireFull(t *testing.T, bytes int) {
	t.Helper()
	require.Greater(t, bytes, maxUnsent)
	require.LessOrEqual(t, bytes, maxUnsent+big+1000, "at most one answer above the bound")
}

func TestServerDoesNotAnswerAClientThatDoesNotRead(t *testing.T) {
	inLazy(t, 1, func(t *testing.T, s *Server, l *lazy) {
		l.pipelineReads()
		synctest.Wait()
		requireFull(t, queuedBytes(s))
		require.Equal(t, queuedBytes(s), unsentBytes(s))
		l.drainAnswers()
		synctest.Wait()
		require.Zero(t, unsentBytes(s))
	})
}

func TestReadsBehindAWriteWaitForAClientThatReads(t *testing.T) {
	inLazy(t, 3, func(t *testing.T, s *Server, l *lazy) {
		l.pipelineReads(l.createRequest("/before")...) // the write holds up all reads, and then lets them go at once
		time.Sleep(time.Second)
		requireFull(t, queuedBytes(s))
		l.drainAnswers()
	})
}

func TestAnswersHeldBackByAFaultAreBounded(t *testing.T) {
	inLazy(t, 1, func(t *testing.T, s *Server, l *lazy) {
		s.BlackHole(Link{}, ToClient)
		l.pipelineReads()
		time.Sleep(time.Second)
		require.Zero(t, queuedBytes(s))
		requireFull(t, unsentBytes(s))
		s.Heal()
		l.drainAnswers()

		s.Delay(Link{}, ToClient, time.Second)
		l.pipelineReads()
		synctest.Wait()
		requireFull(t, unsentBytes(s))
		l.drainAnswers()
	})
}

func TestFrozenServerGoesOnWithAnswersAfterThaw(t *testing.T) {
	inLazy(t, 3, func(t *testing.T, s *Server, l *lazy) {
		l.pipelineReads(l.createRequest("/before")...)
		time.Sleep(time.Second)
		require.NoError(t, s.Freeze(1))
		before := l.sent - reads
		for range before + 10 {
			l.seen++
			l.readFrame()
		}
		synctest.Wait()
		require.Less(t, queuedBytes(s), maxUnsent, "a frozen server answers nothing")
		require.NoError(t, s.Thaw(1))
		l.drainAnswers()
	})
}

func TestServerStopsReadingAClientThatDoesNotRead(t *testing.T) {
	inLazy(t, 1, func(t *testing.T, s *Server, l *lazy) {
		l.pipelineReads()
		synctest.Wait()
		require.NoError(t, l.conn.SetWriteDeadline(time.Now().Add(time.Second)))
		many := []byte{}
		for len(many) < 4*maxUnsent {
			many = append(many, l.readRequest()...)
		}
		total := 0
		for {
			n, err := l.conn.Write(many)
			total += n
			if err != nil {
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				break
			}
		}
		require.LessOrEqual(t, total, 2*maxUnsent)
	})
	inLazy(t, 1, func(t *testing.T, s *Server, l *lazy) {
		// Before the first write: the server would process undelayed writes at once.
		s.Delay(Link{}, ToServer, time.Second)
		done := make(chan int)
		// The receive below waits for this goroutine; the last write ends the
		// goroutine.
		go func() {
			n := int32(0)
			for sum := 0; sum < 3*maxUnsent; n++ {
				var w jute.Writer
				w.Int32(n + 1)
				w.Int32(int32(proto.OpSetData))
				w.String("/big")
				w.Buffer(make([]byte, big))
				w.Int32(-1)
				k, err := l.conn.Write(jute.Frame(w.Bytes()))
				if err != nil {
					break
				}
				sum += k
			}
			done <- int(n)
		}()
		synctest.Wait()
		waiting := 0
		s.mu.Lock()
		for c := range s.conns {
			waiting += c.waiting
		}
		s.mu.Unlock()
		require.Greater(t, waiting, maxUnsent)
		require.LessOrEqual(t, waiting, maxUnsent+2*big)
		require.Greater(t, <-done, maxUnsent/big, "writes go on as requests are processed")
	})
}

func TestFaultsEndAConnectionThatIsFull(t *testing.T) {
	for name, fault := range map[string]func(s *Server, l *lazy){
		"cut":    func(s *Server, _ *lazy) { s.CutAll() },
		"stop":   func(s *Server, _ *lazy) { _ = s.Stop(1) },
		"expire": func(s *Server, _ *lazy) { _ = s.ExpireSession(s.Sessions()[0].ID) },
		"close":  func(_ *Server, l *lazy) { _ = l.conn.Close() },
		"end":    func(s *Server, _ *lazy) { _ = s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			inLazy(t, 1, func(t *testing.T, s *Server, l *lazy) {
				l.pipelineReads(l.createRequest("/before")...)
				failed := make(chan error, 1)
				// The receive below waits for this goroutine; the fault ends the
				// goroutine.
				go func() {
					for {
						if _, err := l.conn.Write(l.createRequest("/behind")); err != nil {
							failed <- err
							return
						}
					}
				}()
				synctest.Wait()
				fault(s, l)
				require.Error(t, <-failed)
				synctest.Wait()
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.closed {
					return
				}
				require.Empty(t, s.conns)
				require.Empty(t, s.world.Node(1).Conns())
			})
		})
	}
}

func TestWritesBeforeACloseTakeEffectThoughNoClientReads(t *testing.T) {
	inLazy(t, 1, func(t *testing.T, s *Server, l *lazy) {
		l.pipelineReads()
		_, err := l.conn.Write(l.createRequest("/behind"))
		require.NoError(t, err)
		require.NoError(t, l.conn.Close())
		synctest.Wait()
		_, err = s.Get("/behind")
		require.NoError(t, err)
		require.Zero(t, queuedBytes(s))
	})
}

func TestMemoryIsBoundedOverTCPToo(t *testing.T) {
	s, err := Start(nil)
	require.NoError(t, err)
	l := newLazy(t, s)
	l.pipelineReads()
	answered := func(n int) func() bool {
		return func() bool { return s.Stats().PacketsSent > n && unsentBytes(s) > maxUnsent }
	}
	require.Eventually(t, answered(maxUnsent/big), time.Minute, time.Millisecond)
	// Only the upper bound: the socket may take bytes before the server answers
	// the next read.
	require.LessOrEqual(t, unsentBytes(s), maxUnsent+big+1000)
	l.drainAnswers()
	require.Eventually(t, func() bool { return unsentBytes(s) == 0 }, time.Minute, time.Millisecond)

	l.pipelineReads()
	require.Eventually(t, answered(reads), time.Minute, time.Millisecond)
	require.NoError(t, l.conn.Close())
	require.Eventually(t, func() bool { return s.Stats().Connections == 0 }, time.Minute, time.Millisecond)

	full := newLazyAgain(t, s)
	full.pipelineReads()
	require.NoError(t, full.conn.SetWriteDeadline(time.Now().Add(time.Minute)))
	// No goroutine waits for this one; closing the server ends the writes.
	go func() {
		for _, err := full.conn.Write(make([]byte, chunk)); err == nil; {
			_, err = full.conn.Write(make([]byte, chunk))
		}
	}()
	require.NoError(t, s.Close(), "readers waiting for room end")
}

func newLazyAgain(t *testing.T, s *Server) *lazy {
	t.Helper()
	require.NoError(t, s.Delete("/big"))
	return newLazy(t, s)
}
