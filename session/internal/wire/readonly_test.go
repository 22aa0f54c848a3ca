package wire

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func handshakeReply(sid int64, readOnly bool) []byte {
	var e Encoder
	e.Int32(0)
	e.Int32(10_000)
	e.Int64(sid)
	e.Bytes([]byte("0123456789abcdef"))
	e.Bool(readOnly)
	return e.b
}

// Only a link for reads says in its handshake that a server without a quorum will do, and
// takes a session of such a server.
func TestServerWithoutAQuorumIsForReadsOnly(t *testing.T) {
	for _, reads := range []bool{false, true} {
		m := machine{mem: &memory{lastZxid: 77}, reads: reads}
		out, err := m.handleConnect(connectRequest(0, 0), time.Now())
		require.NoError(t, err)
		assert.Equal(t, reads, out[len(out)-1] == 1)
		_, err = m.readConnectReply(handshakeReply(7, true))
		if !reads {
			require.ErrorIs(t, err, errProtocol)
			assert.Zero(t, m.mem.sid)
			continue
		}
		require.NoError(t, err)
		assert.True(t, m.mem.readOnly)
	}
}

func TestServerWithAQuorumIsKnownToALinkForReads(t *testing.T) {
	m := machine{mem: &memory{}, reads: true, phase: awaiting}
	first, err := m.readConnectReply(handshakeReply(7, false))
	require.NoError(t, err)
	assert.True(t, first)
	assert.False(t, m.mem.readOnly)
}

// A handshake demands that the server knows what this session has seen, and others have.
func TestHandshakeCarriesTheNewestTransactionThatWasSeen(t *testing.T) {
	for seen, want := range map[int64]uint64{0: 77, 76: 77, 78: 78} {
		m := machine{mem: &memory{lastZxid: 77}, seen: seen}
		out, err := m.handleConnect(connectRequest(0, 0), time.Now())
		require.NoError(t, err)
		assert.Equal(t, want, binary.BigEndian.Uint64(out[4:]))
	}
}

// A server without a quorum that makes no sessions answers a handshake with the header of a
// refused request.
func TestServerWithoutLocalSessionsIsNamed(t *testing.T) {
	var e Encoder
	e.Int32(0)
	e.Int64(0x100000003)
	e.Int32(CodeReadOnly)
	m := machine{mem: &memory{}, reads: true, phase: awaiting}
	_, err := m.readConnectReply(e.b)
	require.ErrorIs(t, err, ErrNoLocalSessions)
	assert.True(t, endsLink(err))
	m.reads = false
	_, err = m.readConnectReply(e.b)
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrNoLocalSessions)
}

// The session of a server without a quorum ends with its connection.
func TestLinkForReadsHasOneConnection(t *testing.T) {
	scripted(t, nil, func(s *script) {
		s.link.cfg.ReadOnly = true
		client, server := s.attach()
		over := s.pump(client)
		require.NoError(s, server.Close())
		<-over
		require.Len(s, s.ended, 1)
		require.ErrorIs(s, s.ended[0], ErrReadOnlyOver)
		require.ErrorIs(s, s.link.Send(&Call{}, nil), ErrNotSent)
	})
}
