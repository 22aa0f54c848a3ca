package wire

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Some servers, ClickHouse Keeper among them, answer each reconnection with a new session. The
// old session is over at once for the client, which cannot know whether it has expired, and
// the new one is closed.
func TestSessionThatIsReplacedByAnotherIsOver(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		require.NoError(s, server.Close())
		<-over
		client, server = s.dial()
		farewell := make(chan []byte, 1)
		// Waited for below; ends with the second frame, or with the connection.
		go func() {
			_, _ = readFrame(server)
			_, _ = server.Write(framed(encodeConnectReply(9_000, 8)))
			frame, _ := readFrame(server)
			farewell <- frame
		}()
		_, err := client.Write(framed(connectRequest(0, 7)))
		require.NoError(s, err)
		_, err = readFrame(client)
		require.Error(s, err)
		frame := <-farewell
		require.Len(s, frame, 8)
		assert.Equal(s, OpCloseSession, int32(binary.BigEndian.Uint32(frame[4:])))
		require.Len(s, s.ended, 1)
		require.ErrorIs(s, s.ended[0], ErrReplaced)
		require.NotErrorIs(s, s.ended[0], ErrExpired)
		require.ErrorContains(s, s.ended[0], "0x8")
		assert.Len(s, s.attached, 1, "the new session is not used")
	})
}
