package wire

import (
	"testing"
	"time"
	"github.com/stretchr/testify/require"
)

func TestTrickle(t *testing.T) {
	scripted(t, nil, func(s *script) {
		client, server := s.attach()
		over := s.pump(client)
		frame := framed(reply(xidPing, 1, 0, make([]byte, 60000)...))
		done := make(chan struct{})
		began := time.Now()
		go func() {
			defer close(done)
			for i := 0; i < len(frame); i += 500 {
				time.Sleep(100 * time.Millisecond)
				if _, err := server.Write(frame[i:min(i+500, len(frame))]); err != nil {
					return
				}
			}
		}()
		select {
		case err := <-over:
			t.Logf("cut after %v: %v", time.Since(began), err)
		case <-done:
			t.Logf("arrived")
			require.NoError(t, client.Close())
			<-over
		}
		<-done
	})
}
