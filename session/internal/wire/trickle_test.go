package wire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestALongAnswerThatTricklesInIsNotCut: the pauses are short, but the whole
// answer takes longer than the limit of a pause. Runs in a bubble.
func TestALongAnswerThatTricklesInIsNotCut(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		frame := framed(reply(xidPing, 1, 0, make([]byte, 60000)...))
		done := make(chan error, 1)
		// Waited for below; ends when all is written, or the connection is cut.
		go func() {
			for i := 0; i < len(frame); i += 500 {
				time.Sleep(100 * time.Millisecond)
				if _, err := server.Write(frame[i:min(i+500, len(frame))]); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		require.NoError(t, <-done)
		require.NoError(t, client.Close())
		<-over
	})
}
