package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// oneStep is a mechanism that is complete after one token of the server.
type oneStep struct{}

func (oneStep) Start() []byte               { return []byte("hello") }
func (oneStep) Step([]byte) ([]byte, error) { return nil, nil }

// opOf is the operation of a request.
func opOf(frame []byte) int32 { return int32(binary.BigEndian.Uint32(frame[4:])) }

// shake goes through the handshake of the session sid, which the server makes or resumes; then
// serve plays the server. It returns the error by which the connection ends for
// go-zookeeper, if it does.
func (s *script) shake(sid int64, serve func(server net.Conn)) error {
	s.Helper()
	asked := s.link.SessionID()
	client, server := s.dial()
	served := make(chan struct{})
	// Waited for below; ends with the connection.
	go func() {
		defer close(served)
		if _, err := readFrame(server); err != nil {
			return
		}
		_, _ = server.Write(framed(encodeConnectReply(int32(theTimeout/time.Millisecond), sid)))
		serve(server)
	}()
	_, err := client.Write(framed(connectRequest(0, asked)))
	if err == nil {
		_, err = readFrame(client)
	}
	<-served
	return err
}

// A server hears nothing of a client that has nothing to authenticate with: it would make a
// session, or refuse to close one.
func TestMechanismIsBegunBeforeTheHandshake(t *testing.T) {
	for says, failed := range map[string]error{"no ticket": errors.New("no ticket"), "there is no mechanism": nil} {
		scripted(t, nil, func(s *script) {
			s.link.cfg.SASL = func(context.Context) (Mechanism, error) { return nil, failed }
			client, server := s.dial()
			_, err := client.Write(framed(connectRequest(0, 0)))
			require.ErrorContains(s, err, says)
			_, err = readFrame(server)
			require.ErrorIs(s, err, io.EOF)
			assert.Empty(s, s.ended)
		})
	}
}

func TestConnectionIsAttachedAfterItsAuthentication(t *testing.T) {
	scripted(t, nil, func(s *script) {
		s.link.cfg.SASL = func(context.Context) (Mechanism, error) { return oneStep{}, nil }
		require.NoError(s, s.shake(7, func(server net.Conn) {
			frame, err := readFrame(server)
			require.NoError(s, err)
			assert.Equal(s, OpSASL, opOf(frame))
			assert.Contains(s, string(frame), "hello")
			assert.Empty(s, s.attached, "nothing is sent before")
			s.mustWrite(server, reply(xidOf(frame), 0, CodeOK, 0xff, 0xff, 0xff, 0xff))
		}))
		require.Len(s, s.attached, 1)
	})
}

// The exchange has the time of the handshake, and the session that the server has made on
// the connection is closed: go-zookeeper asks for another one.
func TestServerThatIsSilentInTheAuthenticationCostsAThirdOfTheTimeout(t *testing.T) {
	scripted(t, nil, func(s *script) {
		s.link.cfg.SASL = func(context.Context) (Mechanism, error) { return oneStep{}, nil }
		began := time.Now()
		var last []byte
		err := s.shake(7, func(server net.Conn) {
			_, _ = readFrame(server)
			last, _ = readFrame(server) // silent
		})
		require.True(s, isTimeout(err), "%v", err)
		assert.Equal(s, theTimeout/3, time.Since(began))
		require.Len(s, last, 8, "the session is closed")
		assert.Equal(s, OpCloseSession, opOf(last))
		assert.Empty(s, s.attached)
		assert.Empty(s, s.ended)
		assert.Zero(s, s.link.SessionID())
		s.link.cfg.SASL = nil
		require.NoError(s, s.shake(8, func(net.Conn) {}))
		assert.EqualValues(s, 8, s.link.SessionID())
	})
}

// A session that has been used outlives an authentication that fails for a reason of the
// network's or the mechanism's, and not one that the server refuses.
func TestAuthenticationAgainThatFailsCostsTheConnectionOnly(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(s *script, server net.Conn)
		begin error
		ends  bool
	}{
		"the server hangs up": {serve: func(s *script, server net.Conn) {
			_, _ = readFrame(server)
			require.NoError(s, server.Close())
		}},
		"the mechanism has no ticket": {begin: errors.New("no ticket")},
		"the server refuses": {ends: true, serve: func(s *script, server net.Conn) {
			frame, _ := readFrame(server)
			s.mustWrite(server, reply(xidOf(frame), 0, CodeAuthFailed))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			scripted(t, nil, func(s *script) {
				client, server := s.attach()
				over := s.pump(client)
				require.NoError(s, server.Close())
				<-over
				s.link.cfg.SASL = func(context.Context) (Mechanism, error) { return oneStep{}, c.begin }
				require.Error(s, s.shake(7, func(server net.Conn) {
					if c.serve != nil {
						c.serve(s, server)
					}
				}))
				assert.Len(s, s.attached, 1)
				assert.EqualValues(s, 7, s.link.SessionID())
				if c.ends {
					require.Len(s, s.ended, 1)
					require.ErrorIs(s, s.ended[0], ErrAuthFailed)
					return
				}
				require.Empty(s, s.ended)
				s.link.cfg.SASL = nil
				require.NoError(s, s.shake(7, func(net.Conn) {}))
				assert.Len(s, s.attached, 2)
			})
		})
	}
}
