package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// theTimeout is the session timeout that script's servers grant.
const theTimeout = 9 * time.Second

// script is a link whose servers the test plays: the actions of go-zookeeper on
// one side, and of a server on the other.
type script struct {
	*testing.T
	link *Link

	mu       sync.Mutex
	attached []time.Time
	detached []error
	answered []time.Time
	commits  int
	events   []Event
	ended    []error
	failed   []time.Time

	servers chan net.Conn // the server's ends, in the order of the dials
	refuse  error         // instead of a connection
}

func (s *script) Attached(sent time.Time, _ bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attached = append(s.attached, sent)
}

func (s *script) Unplugged() {}

func (s *script) Detached(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detached = append(s.detached, cause)
}

func (s *script) Answered(sent time.Time, _ int64, committed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = append(s.answered, sent)
	if committed {
		s.commits++
	}
}

func (s *script) Event(ev Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, ev)
}

func (s *script) HandshakeFailed(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, since)
}

func (s *script) Ended(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, cause)
}

// scripted runs body in a bubble.
func scripted(t *testing.T, creds []Credential, body func(s *script)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, creds)
		body(s)
		s.link.End(errors.New("the test is over"), false)
	})
}

func newScript(t *testing.T, creds []Credential) *script {
	s := &script{T: t, servers: make(chan net.Conn, 100)}
	s.link = NewLink(t.Context(), Config{
		Timeout: theTimeout, Servers: func() int { return 1 }, Credentials: creds, MaxFrame: 1 << 20, MaxRequest: 1 << 20,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			if s.refuse != nil {
				return nil, s.refuse
			}
			client, server := net.Pipe()
			s.servers <- server
			return client, nil
		},
		Pause: func(n int) time.Duration { return time.Duration(n) * time.Second },
		Now:   time.Now, Handler: s,
	})
	return s
}

// dial is go-zookeeper's dial; it returns both ends.
func (s *script) dial() (client, server net.Conn) {
	s.Helper()
	client, err := s.link.Dial("tcp", "zk:2181", time.Second)
	require.NoError(s, err)
	return client, <-s.servers
}

// attach goes through the handshake and returns both ends.
func (s *script) attach() (client, server net.Conn) {
	s.Helper()
	client, server = s.dial()
	sid := s.link.SessionID()
	done := make(chan error, 1)
	// Waited for below; ends when the server has greeted.
	go func() {
		if _, err := readFrame(server); err != nil {
			done <- err
			return
		}
		if sid == 0 {
			sid = 7
		}
		_, err := server.Write(framed(encodeConnectReply(int32(theTimeout/time.Millisecond), sid)))
		done <- err
	}()
	_, err := client.Write(framed(connectRequest(0, s.link.SessionID())))
	require.NoError(s, err)
	frame, err := readFrame(client)
	require.NoError(s, err)
	require.Equal(s, encodeConnectReply(int32(theTimeout/time.Millisecond), s.link.SessionID()), frame)
	require.NoError(s, <-done)
	return client, server
}

// pump plays go-zookeeper's receiving loop: it reads until the connection
// fails, and returns the error.
func (s *script) pump(client net.Conn) <-chan error {
	out := make(chan error, 1)
	// Ends with the connection; the bubble waits for the loop.
	go func() {
		for {
			if _, err := readFrame(client); err != nil {
				_ = client.Close()
				out <- err
				return
			}
		}
	}()
	return out
}

// calls sends n requests and returns how each of them ends.
func (s *script) calls(n int) <-chan Answer {
	s.Helper()
	out := make(chan Answer, n)
	for range n {
		require.NoError(s, s.link.Send(&Call{Op: OpSync, Commits: true, Done: func(a Answer) { out <- a }}, nil))
	}
	return out
}

// readFrame reads one whole frame, as go-zookeeper does.
func readFrame(c net.Conn) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(c, frame)
	return frame, err
}

func framed(b []byte) []byte { return withLength(b) }

// xidOf is the transaction id of a request's or reply's frame.
func xidOf(frame []byte) int32 { return int32(binary.BigEndian.Uint32(frame)) }

// mustRead is the next frame that the server gets.
func (s *script) mustRead(server net.Conn) []byte {
	s.Helper()
	frame, err := readFrame(server)
	require.NoError(s, err)
	return frame
}

func (s *script) mustWrite(to net.Conn, frame []byte) {
	s.Helper()
	_, err := to.Write(framed(frame))
	require.NoError(s, err)
}
