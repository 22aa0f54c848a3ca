package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// Errors that a [Call] can end with instead of an answer, and that end a link.
var (
	// ErrNotSent: no byte of the request left; the server never sees it.
	ErrNotSent = errors.New("wire: not connected: the request was not sent")
	// ErrUnanswered: the request may have reached the server, and may have
	// been carried out; no answer will come.
	ErrUnanswered = errors.New("wire: the connection was lost before the answer came")
	// ErrExpired: the server says that it does not know the session any more.
	ErrExpired = errors.New("wire: the server has expired the session")
	// ErrReplaced: the server has made another session instead of resuming this one, of
	// which it says nothing: it may exist until it expires.
	ErrReplaced = errors.New("wire: the server has made another session")
	// ErrAuthFailed: the server refuses the credentials.
	ErrAuthFailed = errors.New("wire: the server refused the credentials")

	// ErrAuthRequired: the server serves only clients that have authenticated by a scheme
	// that this client has no credentials of, and closes the session.
	ErrAuthRequired = errors.New("wire: the server requires authentication")

	// ErrTooLarge: the request is longer than a server accepts; not sent.
	// A server cuts the connection on such a request, and with it all that
	// is in progress on it.
	ErrTooLarge = errors.New("wire: the request is too large")

	// ErrReplyTooLarge: the answer is longer than Config.MaxFrame.
	ErrReplyTooLarge = errors.New("wire: the answer is too large")

	// ErrReadOnlyOver: the connection to a server without a quorum is lost, and with it the
	// session that only this server knew.
	ErrReadOnlyOver = errors.New("wire: the connection to a server without a quorum was lost")

	// ErrNoLocalSessions: a server without a quorum carries out reads, and makes no sessions.
	ErrNoLocalSessions = errors.New("wire: the server has no quorum, and makes no sessions: it needs localSessionsEnabled")

	errProtocol = errors.New("wire: protocol violation")
	errNoLeader = errors.New("wire: the server has no leader")
	errMoved    = errors.New("wire: the session has moved to another server")
)

const (
	headerSize = 16 // of a reply: xid, zxid, code
	// ourXids is where the transaction ids of our own requests begin;
	// go-zookeeper counts up from 1 and makes a handful of requests (close).
	ourXids int32 = 0x10000000
	maxXid  int32 = 0x7fffffff
)

// Call is one request of ours.
type Call struct {
	Op int32
	// Commits says that a success proves a quorum's commit.
	Commits bool
	// FirstConnection lets the call be sent only on the connection on which the server
	// made the session.
	FirstConnection bool
	// Done gets the answer, exactly once, on the goroutine that reads the
	// connection: it must not block.
	Done func(Answer)

	xid  int32
	sent time.Time
}

// Answer is how a call ended. Err is ErrNotSent, ErrUnanswered or nil; with
// nil, Code is the server's verdict and Body what follows the header.
type Answer struct {
	Err  error
	Code int32
	Zxid int64
	Sent time.Time
	Body *Decoder
}

// memory is the state that one session's connections hand on to each other.
type memory struct {
	sid      int64         // 0 until the first handshake succeeded
	readOnly bool          // see Link.ReadOnly; of the newest handshake that succeeded
	keeper   bool          // see Link.Keeper; of the newest handshake that succeeded
	timeout  time.Duration // negotiated
	lastZxid int64         // newest seen in any reply or handshake
	nextXid  int32
}

// phase is how far a connection has come.
type phase int

const (
	greeting phase = iota // the connect request has not passed yet
	awaiting              // it has; its answer has not
	open                  // attached to the session
)

// machine is one connection's state. It turns frames into their meaning and knows which
// answers are due. It has no clock and no I/O.
type machine struct {
	mem     *memory
	phase   phase
	greeted time.Time // when the connect request was sent
	first   bool      // the server made the session on this connection
	calls   callQueue // unanswered
	unsent  int       // how many calls at the end of it were not written yet
	pings   []time.Time
	pairs   bool      // see Config.PairPings
	reads   bool      // see Config.ReadOnly
	seen    int64     // see Config.Seen
	pinged  time.Time // when the newest ping was sent that is not go-zookeeper's
	encoder Encoder   // used again and again
}

// submit appends c to buf as a frame of at most limit bytes, and to the answers
// that are due.
func (m *machine) submit(buf []byte, c *Call, body func(*Encoder), now time.Time, limit int) ([]byte, error) {
	next := m.nextXid()
	at := len(buf)
	out := m.appendFrame(buf, next, c.Op, body)
	if size := len(out) - at - 4; size > limit {
		return buf, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, size, limit)
	}
	c.xid, c.sent = m.takeXid(), now
	m.calls.push(c)
	m.unsent++
	return out, nil
}

// nextXid is the id of the next request of ours; takeXid uses it up.
func (m *machine) nextXid() int32 {
	if m.mem.nextXid < ourXids || m.mem.nextXid == maxXid {
		m.mem.nextXid = ourXids
	}
	return m.mem.nextXid
}

func (m *machine) takeXid() int32 {
	xid := m.nextXid()
	m.mem.nextXid++
	return xid
}

// markSent notes that everything submitted so far may have left.
func (m *machine) markSent() { m.unsent = 0 }

// ping appends a ping to buf. go-zookeeper, which gets the answers to all pings, ignores
// them.
func (m *machine) ping(buf []byte, now time.Time) []byte {
	m.pings, m.pinged = append(m.pings, now), now
	return m.appendFrame(buf, xidPing, OpPing, nil)
}

// forward appends a frame of go-zookeeper's own, with its length, to buf. With
// Config.PairPings, another ping follows a ping, unless one was sent lately: go-zookeeper
// pings once per third of the timeout.
func (m *machine) forward(buf, frame []byte, now time.Time) []byte {
	buf = append(buf, frame...)
	if len(frame) >= 8 && int32(binary.BigEndian.Uint32(frame[4:])) == xidPing {
		m.pings = append(m.pings, now)
		if m.pairs && now.Sub(m.pinged) >= m.mem.timeout*3/10 {
			buf = m.ping(buf, now)
		}
	}
	return buf
}

// incoming is the meaning of one frame of the server. At most one of call, event and
// touched is set.
type incoming struct {
	forward bool // go-zookeeper waits for this frame
	call    *Call
	answer  Answer
	event   *Event
	touched time.Time // send time of an answered ping
	zxid    int64     // of the header
}

// receive takes a frame that came after the handshake.
func (m *machine) receive(frame []byte) (incoming, error) {
	if len(frame) < headerSize {
		return incoming{}, fmt.Errorf("%w: a frame of %d bytes is shorter than a reply header", errProtocol, len(frame))
	}
	d := NewDecoder(frame)
	xid, zxid, code := d.Int32(), d.Int64(), d.Int32()
	m.mem.lastZxid = max(m.mem.lastZxid, zxid)
	switch {
	case xid == xidEvent:
		return receiveEvent(d)
	case xid == xidPing && code == CodeAuthRequired:
		return incoming{}, ErrAuthRequired // the server has not taken it for a sign of life
	case xid == xidPing:
		in := incoming{forward: true, zxid: zxid}
		if len(m.pings) > 0 {
			in.touched, m.pings = m.pings[0], m.pings[1:]
		}
		return in, nil
	case xid == xidAuth:
		if code != CodeOK {
			return incoming{}, ErrAuthFailed
		}
		return incoming{}, nil
	case xid < ourXids:
		return incoming{forward: true}, nil
	}
	d.Zxid = zxid
	return m.matchAnswer(xid, Answer{Code: code, Zxid: zxid, Body: d})
}

func receiveEvent(d *Decoder) (incoming, error) {
	kind := d.Int32()
	d.Int32() // the server's idea of our connection
	ev := Event{Path: d.String()}
	if d.Err() != nil {
		return incoming{}, d.Err()
	}
	ev.Type = zk.EventType(kind)
	return incoming{event: &ev}, nil
}

// matchAnswer matches an answer with the oldest call. Answers come in the order of
// the requests; any other order means that one side has lost count, and then
// no answer can be trusted.
func (m *machine) matchAnswer(xid int32, a Answer) (incoming, error) {
	if m.calls.len() <= m.unsent || m.calls.first().xid != xid { // unsent requests have no answer
		return incoming{}, fmt.Errorf("%w: answer %#x out of order", errProtocol, xid)
	}
	// A call stays in the queue, whose end settles it, if the answer ends the connection.
	switch a.Code {
	case CodeSessionExpired:
		return incoming{}, ErrExpired
	case CodeSessionMoved:
		// Another connection of this session was accepted elsewhere after this one: its
		// answers mean nothing any more. The request itself was refused, but the
		// outcome of the requests before it is just as unknown.
		return incoming{}, errMoved
	}
	c := m.calls.pop()
	a.Sent = c.sent
	return incoming{call: c, answer: a, zxid: a.Zxid}, nil
}

// abandon ends the connection and returns the calls that get no answer: those
// that may have reached the server, and those that have not.
func (m *machine) abandon() (unanswered, unsent []*Call) {
	all := m.calls.takeAll()
	at := len(all) - m.unsent
	unanswered, unsent = all[:at], all[at:]
	m.pings, m.unsent = nil, 0
	return unanswered, unsent
}

// settleAll ends calls that the server has not answered.
func settleAll(unanswered, unsent []*Call) {
	for _, c := range unanswered {
		c.Done(Answer{Err: ErrUnanswered})
	}
	for _, c := range unsent {
		c.Done(Answer{Err: ErrNotSent})
	}
}

// appendFrame appends a request frame to buf.
func (m *machine) appendFrame(buf []byte, xid, op int32, body func(*Encoder)) []byte {
	at := len(buf)
	e := &m.encoder
	defer func() { e.b = nil }()
	e.b = buf
	e.Int32(0) // the length, which is known in the end
	e.Int32(xid)
	e.Int32(op)
	if body != nil {
		body(e)
	}
	binary.BigEndian.PutUint32(e.b[at:], uint32(len(e.b)-at-4))
	return e.b
}
