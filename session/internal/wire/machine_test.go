package wire

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// at is the n-th second of a test's own time.
func at(n int) time.Time { return time.Unix(int64(n), 0) }

// connectRequest is go-zookeeper's connect request.
func connectRequest(zxid, sid int64) []byte {
	e := &Encoder{}
	e.Int32(0)
	e.Int64(zxid)
	e.Int32(10_000)
	e.Int64(sid)
	e.Bytes(make([]byte, 16))
	return e.b
}

// encodeConnectReply is the server's answer to it.
func encodeConnectReply(timeoutMs int32, sid int64) []byte {
	e := &Encoder{}
	e.Int32(0)
	e.Int32(timeoutMs)
	e.Int64(sid)
	e.Bytes(make([]byte, 16))
	e.Bool(false)
	return e.b
}

// reply is an answer's frame.
func reply(xid int32, zxid int64, code int32, body ...byte) []byte {
	e := &Encoder{}
	e.Int32(xid)
	e.Int64(zxid)
	e.Int32(code)
	return append(e.b, body...)
}

// opened is a machine past its handshake.
func opened(t *testing.T, mem *memory) *machine {
	t.Helper()
	m := &machine{mem: mem}
	_, err := m.handleConnect(connectRequest(0, mem.sid), at(0))
	require.NoError(t, err)
	sid := mem.sid
	if sid == 0 {
		sid = 7
	}
	_, err = m.readConnectReply(encodeConnectReply(9_000, sid))
	require.NoError(t, err)
	return m
}

func submitted(t *testing.T, m *machine, c *Call, now time.Time) []byte {
	t.Helper()
	out, err := m.submit(nil, c, nil, now, 1000)
	require.NoError(t, err)
	return out
}

func TestGreetReplacesTheZxidByTheNewestSeen(t *testing.T) {
	m := &machine{mem: &memory{sid: 7, lastZxid: 0x500}}
	in := connectRequest(3, 7)
	out, err := m.handleConnect(in, at(1))
	require.NoError(t, err)
	assert.EqualValues(t, 0x500, binary.BigEndian.Uint64(out[4:]))
	assert.EqualValues(t, 3, binary.BigEndian.Uint64(in[4:]), "go-zookeeper's buffer is its own")
	assert.Equal(t, append(append(binary.BigEndian.AppendUint64(in[:4:4], 0x500), in[12:]...), 0), out, "the byte says: not read-only")
	assert.Equal(t, at(1), m.greeted)
	_, err = m.handleConnect(in, at(2))
	require.ErrorIs(t, err, errProtocol, "a second hello")
}

func TestGreetRefusesAnotherSession(t *testing.T) {
	for name, in := range map[string][]byte{
		"another session": connectRequest(0, 8), "a new session": connectRequest(0, 0), "short": connectRequest(0, 7)[:20], "empty": nil,
	} {
		m := &machine{mem: &memory{sid: 7}}
		_, err := m.handleConnect(in, at(0))
		require.ErrorIs(t, err, errProtocol, name)
	}
}

func TestWelcome(t *testing.T) {
	for _, tc := range []struct {
		name  string
		known int64 // session before
		in    []byte
		first bool
		err   error
	}{
		{"makes a session", 0, encodeConnectReply(9_000, 7), true, nil},
		{"attaches again", 7, encodeConnectReply(9_000, 7), false, nil},
		{"from a server before 3.4, without the last byte", 7, encodeConnectReply(9_000, 7)[:36], false, nil},
		{"expired", 7, encodeConnectReply(0, 0), false, ErrExpired},
		{"expired, with a timeout", 7, encodeConnectReply(9_000, 0), false, ErrExpired},
		{"expired, with the id", 7, encodeConnectReply(0, 7), false, ErrExpired},
		{"negative timeout", 7, encodeConnectReply(-5, 7), false, ErrExpired},
		{"refused from the start", 0, encodeConnectReply(0, 0), false, errProtocol},
		{"another session", 7, encodeConnectReply(9_000, 8), false, ErrReplaced},
		{"short", 7, encodeConnectReply(9_000, 7)[:19], false, errShort},
		{"empty", 7, nil, false, errShort},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mem := &memory{sid: tc.known}
			m := &machine{mem: mem}
			_, err := m.handleConnect(connectRequest(0, tc.known), at(0))
			require.NoError(t, err)
			first, err := m.readConnectReply(tc.in)
			if tc.err != nil {
				require.ErrorIs(t, err, tc.err)
				assert.Equal(t, tc.known, mem.sid)
				assert.NotEqual(t, open, m.phase)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.first, first)
			assert.EqualValues(t, 7, mem.sid)
			assert.Equal(t, 9*time.Second, mem.timeout)
			assert.Equal(t, open, m.phase)
		})
	}
}

func TestWelcomeBeforeGreetIsRefused(t *testing.T) {
	m := &machine{mem: &memory{}}
	_, err := m.readConnectReply(encodeConnectReply(9_000, 7))
	require.ErrorIs(t, err, errProtocol)
}

func TestAnAnswerCarriesItsRequestsSendTime(t *testing.T) {
	mem := &memory{}
	m := opened(t, mem)
	first, second := &Call{Op: OpExists}, &Call{Op: OpDelete}
	submitted(t, m, first, at(3))
	submitted(t, m, second, at(4))
	m.markSent()
	in, err := m.receive(reply(first.xid, 0x11, -101))
	require.NoError(t, err)
	assert.Same(t, first, in.call)
	assert.Equal(t, at(3), in.answer.Sent)
	assert.EqualValues(t, -101, in.answer.Code)
	assert.EqualValues(t, 0x11, in.answer.Zxid)
	assert.False(t, in.forward)
	in, err = m.receive(reply(second.xid, 0x12, 0))
	require.NoError(t, err)
	assert.Same(t, second, in.call)
	assert.Equal(t, at(4), in.answer.Sent)
	assert.EqualValues(t, 0x12, mem.lastZxid)
}

func TestAnAnswerOutOfOrderBreaksTheConnection(t *testing.T) {
	m := opened(t, &memory{})
	first, second := &Call{}, &Call{}
	submitted(t, m, first, at(1))
	submitted(t, m, second, at(1))
	m.markSent()
	_, err := m.receive(reply(second.xid, 1, 0))
	require.ErrorIs(t, err, errProtocol)
	_, err = opened(t, &memory{}).receive(reply(ourXids, 1, 0))
	require.ErrorIs(t, err, errProtocol, "nothing was asked")
}

func TestAnAnswerToARequestThatHasNotLeftIsRefused(t *testing.T) {
	m := opened(t, &memory{})
	c := &Call{}
	submitted(t, m, c, at(1))
	_, err := m.receive(reply(c.xid, 1, 0))
	require.ErrorIs(t, err, errProtocol)
	_, unsent := m.abandon()
	assert.Equal(t, []*Call{c}, unsent)
}

func TestShortFramesAreRefused(t *testing.T) {
	for n := range headerSize {
		_, err := opened(t, &memory{}).receive(make([]byte, n))
		require.ErrorIs(t, err, errProtocol, "%d bytes", n)
	}
	// An event's header alone.
	_, err := opened(t, &memory{}).receive(reply(xidEvent, -1, 0))
	require.ErrorIs(t, err, errShort)
}

// Another ping follows each ping of go-zookeeper, if pings are paired.
func TestPingsAreTouchesInTheirOrder(t *testing.T) {
	ping := new(machine).appendFrame(nil, xidPing, OpPing, nil)
	assert.Equal(t, ping, opened(t, &memory{}).forward(nil, ping, at(1)))
	m := opened(t, &memory{})
	m.pairs, m.mem.timeout = true, 6*time.Second
	out := m.forward(nil, ping, at(1))
	assert.Equal(t, slices.Concat(ping, ping), out)
	out = m.forward(out, ping, at(3))
	assert.Equal(t, slices.Repeat(ping, 4), out)
	assert.Equal(t, ping, m.forward(nil, ping, at(4)), "one was sent a second ago")
	m.pings = m.pings[:4]
	other := new(machine).appendFrame(nil, 1, OpCloseSession, nil)
	assert.Equal(t, slices.Concat(out, other), m.forward(out, other, at(5)))
	for _, want := range []time.Time{at(1), at(1), at(3), at(3), {}} {
		in, err := m.receive(reply(xidPing, 1, 0))
		require.NoError(t, err)
		assert.True(t, in.forward, "go-zookeeper waits for this reply")
		assert.Equal(t, want, in.touched)
	}
	in, err := m.receive(reply(1, 1, 0))
	require.NoError(t, err)
	assert.True(t, in.forward)
	assert.True(t, in.touched.IsZero())
}

func TestEventsAreTakenOutAndAreNoTouch(t *testing.T) {
	mem := &memory{lastZxid: 9}
	m := opened(t, mem)
	body := &Encoder{}
	body.Int32(int32(zk.EventNodeDeleted))
	body.Int32(3)
	body.String("/a")
	in, err := m.receive(reply(xidEvent, -1, 0, body.b...))
	require.NoError(t, err)
	assert.False(t, in.forward)
	assert.Equal(t, &Event{Type: zk.EventNodeDeleted, Path: "/a"}, in.event)
	assert.True(t, in.touched.IsZero())
	assert.EqualValues(t, 9, mem.lastZxid, "an event's zxid of -1 does not count")
}

func TestCredentials(t *testing.T) {
	in, err := opened(t, &memory{}).receive(reply(xidAuth, 0, 0))
	require.NoError(t, err)
	assert.Equal(t, incoming{}, in)
	_, err = opened(t, &memory{}).receive(reply(xidAuth, 0, CodeAuthFailed))
	require.ErrorIs(t, err, ErrAuthFailed)
}

func TestExpiredAndMovedLeaveTheCallUnanswered(t *testing.T) {
	for code, want := range map[int32]error{CodeSessionExpired: ErrExpired, CodeSessionMoved: errMoved} {
		m := opened(t, &memory{})
		first, second := &Call{}, &Call{}
		submitted(t, m, first, at(1))
		submitted(t, m, second, at(1))
		m.markSent()
		_, err := m.receive(reply(first.xid, 1, code))
		require.ErrorIs(t, err, want)
		unanswered, unsent := m.abandon()
		assert.Equal(t, []*Call{first, second}, unanswered)
		assert.Empty(t, unsent)
	}
}

func TestAbandonTellsUnsentFromUnanswered(t *testing.T) {
	m := opened(t, &memory{})
	calls := []*Call{{}, {}, {}, {}}
	submitted(t, m, calls[0], at(1))
	submitted(t, m, calls[1], at(1))
	m.markSent()
	submitted(t, m, calls[2], at(1))
	submitted(t, m, calls[3], at(1))
	_, err := m.receive(reply(calls[0].xid, 1, 0))
	require.NoError(t, err)
	unanswered, unsent := m.abandon()
	assert.Equal(t, calls[1:2], unanswered)
	assert.Equal(t, calls[2:], unsent)

	var ends []error
	for _, c := range calls {
		c.Done = func(a Answer) { ends = append(ends, a.Err) }
	}
	settleAll(unanswered, unsent)
	assert.Equal(t, []error{ErrUnanswered, ErrNotSent, ErrNotSent}, ends)
	unanswered, unsent = m.abandon()
	assert.Empty(t, unanswered)
	assert.Empty(t, unsent)
}

func TestTransactionIdsStayInTheirRange(t *testing.T) {
	mem := &memory{nextXid: maxXid - 1}
	m := opened(t, mem)
	seen := map[int32]bool{}
	for range 3 {
		c := &Call{}
		submitted(t, m, c, at(1))
		assert.GreaterOrEqual(t, c.xid, ourXids)
		assert.False(t, seen[c.xid])
		seen[c.xid] = true
	}
	// The next connection goes on counting: a late answer is never mistaken for
	// another request's.
	next := opened(t, mem)
	c := &Call{}
	submitted(t, next, c, at(2))
	assert.False(t, seen[c.xid])
}

func TestATooLargeRequestIsNotSubmitted(t *testing.T) {
	m := opened(t, &memory{})
	body := func(e *Encoder) { e.Bytes(make([]byte, 100)) }
	out, err := m.submit([]byte("before"), &Call{}, body, at(1), 111)
	require.ErrorIs(t, err, ErrTooLarge)
	assert.Equal(t, "before", string(out))
	assert.Zero(t, m.calls.len())
	out, err = m.submit(nil, &Call{}, body, at(1), 112)
	require.NoError(t, err)
	assert.Len(t, out, 4+112)
	assert.EqualValues(t, 112, binary.BigEndian.Uint32(out))
}

// FuzzMachine: whatever a server sends, the machine keeps count of its calls.
func FuzzMachine(f *testing.F) {
	f.Add(reply(ourXids, 1, 0), reply(ourXids+1, 1, 0))
	f.Add(reply(xidPing, 1, 0), reply(xidEvent, -1, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 1, '/'))
	f.Add([]byte{1, 2, 3}, reply(ourXids, 1, CodeSessionMoved))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		m := opened(t, &memory{})
		calls := 3
		for i := range calls {
			submitted(t, m, &Call{}, at(1))
			if i == 1 {
				m.markSent()
			}
		}
		for _, frame := range [][]byte{one, two} {
			in, err := m.receive(frame)
			if err == nil && in.call != nil {
				calls--
			}
		}
		unanswered, unsent := m.abandon()
		if len(unanswered)+len(unsent) != calls {
			t.Fatalf("%d calls went lost", calls-len(unanswered)-len(unsent))
		}
	})
}
