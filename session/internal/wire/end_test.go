package wire

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// write submits a request for a change of path, and returns its answer.
func (s *script) write(path string) <-chan Answer {
	s.Helper()
	out := make(chan Answer, 1)
	call := &Call{Op: OpSetData, Commits: true, Done: func(a Answer) { out <- a }}
	require.NoError(s, s.link.Send(call, func(e *Encoder) { e.String(path) }))
	return out
}

// The writer is busy with a request, and another request waits, when the link
// ends gracefully: the connection stays open for the close request, and a
// request reported as not sent must not travel with the close request.
func TestAPoliteEndSendsNothingThatItReportedAsNotSent(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		first := s.write("/one")
		synctest.Wait() // the writer is blocked in Write
		second, third := s.write("/two"), s.write("/three")
		s.link.End(errors.New("closed"), true)
		require.ErrorIs(t, (<-first).Err, ErrUnanswered, "the request has left, or may have")
		require.ErrorIs(t, (<-second).Err, ErrNotSent)
		require.ErrorIs(t, (<-third).Err, ErrNotSent)
		bye := framed(append([]byte{0, 0, 0, 1}, 0xff, 0xff, 0xff, 0xf5)) // go-zookeeper's close request
		_, err := client.Write(bye)
		require.NoError(t, err)

		var got []string
		done := make(chan struct{})
		// Waited for below; ends when Hangup has closed the connection.
		go func() {
			defer close(done)
			for {
				frame, err := readFrame(server)
				if err != nil {
					return
				}
				got = append(got, string(frame))
			}
		}()
		synctest.Wait()
		s.link.Hangup()
		<-over
		<-done
		require.Len(t, got, 2)
		assert.Contains(t, got[0], "/one")
		assert.Equal(t, string(bye[4:]), got[1])
	})
}

// steady writes an answer to a ping ten times a second, split after the given
// number of bytes, so the end of one answer comes with the beginning of the
// next, until the connection ends.
func steady(server net.Conn, after int) {
	frame := framed(reply(xidPing, 1, 0))
	_, err := server.Write(frame[:after])
	chunk := append(append([]byte(nil), frame[after:]...), frame[:after]...)
	for tick := time.NewTicker(100 * time.Millisecond); err == nil; {
		<-tick.C
		_, err = server.Write(chunk)
	}
}

func TestAConnectionThatAnswersSteadilyIsNotCutHoweverItsFramesAreSplit(t *testing.T) {
	for after := 1; after < len(framed(reply(xidPing, 1, 0))); after++ {
		scripted(t, nil, func(s *script) {
			client, server := s.attach()
			over := s.pump(client)
			done := make(chan struct{})
			// Waited for below; ends with the connection.
			go func() {
				defer close(done)
				steady(server, after)
			}()
			select {
			case err := <-over:
				t.Errorf("split after %d bytes: cut: %v", after, err)
			case <-time.After(10 * theTimeout):
				require.NoError(t, client.Close())
				<-over
			}
			<-done
		})
	}
}
