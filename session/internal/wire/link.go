package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Credential is sent ahead of all requests on every connection.
type Credential struct {
	Scheme string
	Auth   []byte
}

// Handler receives the events of the session. Its methods are called one after the
// other, never two at once for one connection (but for Unplugged); they must not
// block, but may call [Link.Send], [Link.Drop] and a polite [Link.End].
type Handler interface {
	// Attached: a server has accepted the session on a new connection. sent
	// is when the handshake left.
	Attached(sent time.Time, first bool)
	// Unplugged: that connection takes no requests any more; Detached will
	// follow. Called at any time, and on any goroutine.
	Unplugged()
	// Detached: that connection is gone.
	Detached(cause error)
	// Answered: the server, whose newest transaction was zxid, answered something
	// that was sent at sent; committed says that the answer proves a quorum's commit.
	Answered(sent time.Time, zxid int64, committed bool)
	// Event: a watch fired.
	Event(Event)
	// HandshakeFailed: a server has hung up on a handshake of the session, or left
	// it without an answer. The first one to end so since the session last had a
	// connection was sent at since.
	HandshakeFailed(since time.Time)
	// Ended: the session must not be used any more. Called once.
	Ended(cause error)
}

// Config of a link. All fields are required unless said otherwise.
type Config struct {
	// Timeout is the session timeout that will be asked for; it bounds the
	// first handshake, before one has been negotiated.
	Timeout time.Duration
	// Servers is the number of addresses that take turns.
	Servers     func() int
	Credentials []Credential
	// SASL begins the authentication of a connection to the present address; nil: none.
	// The context has the limit of the handshake.
	SASL func(context.Context) (Mechanism, error)
	// MaxFrame is the longest frame accepted from a server, in bytes.
	MaxFrame int
	// MaxRequest is the longest frame that a server accepts, in bytes.
	MaxRequest int
	// PairPings lets another ping follow each ping of go-zookeeper: a follower can lose
	// the sign of life that it takes from one request, but not that of the next one too.
	PairPings bool
	// ReadOnly makes the session one for reads, which a server without a quorum may make,
	// too. The link ends with its connection: no other server knows such a session.
	ReadOnly bool
	// Seen is the newest transaction, besides those that the session has seen, that a server
	// must know to be connected to; nil: none. It is called before each handshake.
	Seen func() int64
	// Opening returns a request that is sent ahead of all others on a connection to which a
	// server has just attached the session, or nil; optional.
	Opening func() (*Call, func(*Encoder))
	// Dial opens a connection.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Pause is how long to wait before dial number n (from 0) since the
	// session last had a connection.
	Pause func(n int) time.Duration
	// Now is the clock.
	Now     func() time.Time
	Handler Handler
}

// Link carries one ZooKeeper session over the connections that go-zookeeper
// dials for it.
type Link struct {
	cfg    Config
	ctx    context.Context // ends with the link; bounds dials
	cancel context.CancelFunc
	// closing is connections that are being closed.
	closing sync.WaitGroup

	// mu guards the fields below. It is held for bookkeeping only, never while
	// bytes move or a handler runs. current, when not nil, is a connection
	// whose machine is open and not abandoned.
	// newest is the connection dialed last, in whatever phase.
	mu      sync.Mutex
	mem     memory
	current *conn
	newest  *conn
	// refusedSince is when the first handshake was sent that has got no answer since
	// the session last had a connection; zero if none.
	dials        int
	refusedSince time.Time
	addresses    int     // that took turns at the last dial
	failures     []error // see failLocked
	ended        error
}

// NewLink makes a link; it opens nothing. ctx gives values only: its end does
// not end the link.
func NewLink(ctx context.Context, cfg Config) *Link {
	l := &Link{cfg: cfg}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

// SessionID is the session's id, or 0 while there is none.
func (l *Link) SessionID() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mem.sid
}

// Keeper reports whether the present server, or the last one, is ClickHouse Keeper or
// RaftKeeper, by its handshake: it has no byte for the read-only mode, or a password of zeros.
// Apache's servers since 3.4 send that byte to a client that sends it, and a random password.
func (l *Link) Keeper() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mem.keeper
}

// ReadOnly reports whether the present server, or the last one, has no quorum.
func (l *Link) ReadOnly() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mem.readOnly
}

// LastZxid is the newest transaction id that the session has seen.
func (l *Link) LastZxid() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mem.lastZxid
}

// Timeout is the negotiated session timeout, or what was asked for while there
// is no session.
func (l *Link) Timeout() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.timeoutLocked()
}

func (l *Link) timeoutLocked() time.Duration {
	if l.mem.timeout > 0 {
		return l.mem.timeout
	}
	return l.cfg.Timeout
}

// Send submits a request on the present connection and returns at once. With
// ErrNotSent there is no connection, or not the one that the call asks for, with
// ErrTooLarge the request could not be sent on any; Done will not be called. Otherwise it
// will be. Requests are sent, carried out and answered in the order in which they were
// submitted.
func (l *Link) Send(c *Call, body func(*Encoder)) error {
	now := l.cfg.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil || l.ended != nil || c.FirstConnection && !l.current.machine.first {
		return ErrNotSent
	}
	cn := l.current
	out, err := cn.machine.submit(cn.out, c, body, now, l.cfg.MaxRequest)
	if err != nil {
		return err
	}
	cn.out = out
	cn.wake()
	return nil
}

// Ping sends a ping, besides those of go-zookeeper, if there is a connection. The handler
// hears of its answer.
func (l *Link) Ping() {
	now := l.cfg.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if cn := l.current; cn != nil && l.ended == nil {
		cn.out = cn.machine.ping(cn.out, now)
		cn.wake()
	}
}

// Drop closes the present connection, if there is one, so that go-zookeeper
// dials the next server. The session stays.
func (l *Link) Drop(cause error) {
	l.mu.Lock()
	cn := l.current
	l.mu.Unlock()
	if cn != nil {
		cn.kill(cause)
	}
}

// Failure has the errors of the last attempts to connect, one for each address, or is nil if
// the last attempt succeeded.
func (l *Link) Failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return joinErrors(l.failures)
}

// End ends the link: no connection is opened and no request sent any more, and
// calls that wait get ErrUnanswered. With polite, an open connection, or a
// connection whose handshake was sent, is left for go-zookeeper's close
// request, and [Link.Hangup] closes it: an abandoned handshake would leave a
// session on the server. The first cause stays.
func (l *Link) End(cause error, polite bool) {
	l.mu.Lock()
	if l.ended != nil {
		l.mu.Unlock()
		return
	}
	l.ended = cause
	cn, newest := l.current, l.newest
	var unanswered, unsent []*Call
	if cn != nil {
		unanswered, unsent = cn.machine.abandon()
		cn.out = nil // a request that is reported as not sent must not be sent after all
	}
	l.mu.Unlock()
	l.cancel()
	l.cfg.Handler.Ended(cause)
	settleAll(unanswered, unsent)
	if !polite || cn == nil && (newest == nil || !newest.sentHandshake()) {
		l.Hangup()
	}
}

// Hangup closes the connection that a polite End left.
func (l *Link) Hangup() {
	l.mu.Lock()
	cn := l.newest
	l.mu.Unlock()
	if cn != nil {
		cn.kill(errors.New("wire: closed"))
	}
}

// Wait waits until all connections of an ended link are closed. The link must
// not be used any more.
func (l *Link) Wait() { l.closing.Wait() }

// Ended is the cause of the end, or nil.
func (l *Link) Ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}
