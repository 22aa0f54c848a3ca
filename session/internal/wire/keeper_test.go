package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A handshake without the byte for the read-only mode, or with a password of zeros, is that of
// a server of the Keeper family.
func TestKeeperIsKnownByItsHandshake(t *testing.T) {
	reply := func(version, timeout int32, password []byte, readOnly bool) []byte {
		var e Encoder
		e.Int32(version)
		e.Int32(timeout)
		e.Int64(7)
		e.Bytes(password)
		if readOnly {
			e.Bool(false)
		}
		return e.b
	}
	zeros, random := make([]byte, 16), []byte("0123456789abcdef")
	for name, one := range map[string]struct {
		frame  []byte
		keeper bool
	}{
		"ZooKeeper":              {reply(0, 1000, random, true), false},
		"Keeper":                 {reply(0, 1000, zeros, false), true},
		"a Keeper with the byte": {reply(0, 1000, zeros, true), true},
		"a Keeper with password": {reply(0, 1000, random, false), true},
	} {
		r, err := decodeConnectReply(one.frame)
		require.NoError(t, err, name)
		assert.Equal(t, one.keeper, r.keeper, name)
	}

	m := machine{mem: &memory{}, phase: awaiting}
	_, err := m.readConnectReply(reply(keeperRefusal, 1000, zeros, false))
	require.ErrorIs(t, err, errNoLeader)
	assert.Zero(t, m.mem.sid, "the session that the refusal names is none")
	m.mem.sid = 7
	_, err = m.readConnectReply(reply(keeperRefusal, -1, zeros, false))
	require.ErrorIs(t, err, ErrReplaced)
	require.NotErrorIs(t, err, ErrExpired, "a RaftKeeper without a leader says so, too")
}

// ClickHouse Keeper leaves the body of a failed read out.
func TestFailedReadOfAMultiReadHasABodyOrNone(t *testing.T) {
	for _, keeper := range []bool{false, true} {
		var e Encoder
		part := func(op, code int32, done bool) {
			e.Int32(op)
			e.Bool(done)
			e.Int32(code)
		}
		if keeper {
			part(OpGetData, -101, false)
		} else {
			part(opError, -101, false)
			e.Int32(-101)
		}
		part(OpGetData, CodeOK, false)
		e.Bytes([]byte("x"))
		for range 68 / 4 { // the stat
			e.Int32(0)
		}
		part(opError, -1, true)
		d := NewDecoder(e.b)
		got := DecodeMulti(d)
		require.NoError(t, d.Err())
		require.Len(t, got, 2)
		assert.EqualValues(t, -101, got[0].Code)
		assert.Equal(t, "x", string(got[1].Data))
		assert.Zero(t, d.Len())
	}
}
