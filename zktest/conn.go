package zktest

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/zkrecipes/zkrecipes/zktest/internal/ensemble"
	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// wire is the way to the client. No method blocks.
type wire interface {
	// send queues bytes.
	send(b []byte)
	// close closes after the bytes sent so far.
	close()
	// reset closes at once.
	reset()
}

// conn is one connection with everything that can go wrong on its way. Its
// fields are guarded by the server's mu.
type conn struct {
	s       *Server
	core    *ensemble.Conn
	wire    wire
	client  string // name given to Server.Client
	addr    net.Addr
	claims  int64 // session in the connect request
	server  int
	framer  jute.Framer
	in, out *ensemble.Line
	dead    bool // nothing gets through any more, indefinitely
	gone    bool // the client closed its end
	deaf    bool // the client reads no more answers
	over    bool // the server closed its end
	raw     bool // four-letter word
	started bool // the connect request has arrived
	greeted bool // and was processed
	waiting int  // bytes in the line "in"
	// room is signaled when crammedLocked may have become false.
	room *sync.Cond
	// unsent counts the bytes of answers that the client has not read. mu is
	// held whenever the count grows.
	unsent atomic.Int64
}

// acceptLocked makes a conn for a client of server i, or returns nil if the
// server is down.
func (s *Server) acceptLocked(i int, w wire, client string, addr net.Addr) *conn {
	n := s.world.Node(i)
	c := &conn{s: s, wire: w, client: client, addr: addr, server: i, room: sync.NewCond(&s.mu)}
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		host = addr.String()
	}
	if c.core = n.Accept(c, host); c.core == nil {
		return nil
	}
	c.framer.Max = s.opt.MaxFrame
	c.in = ensemble.NewLine(s.loop, func() bool { return n.Frozen() || c.Full() || s.holeLocked(c, ToServer) })
	c.out = ensemble.NewLine(s.loop, func() bool { return s.holeLocked(c, ToClient) })
	s.conns[c] = true
	return c
}

// Send implements ensemble.Sink.
func (c *conn) Send(records ...[]byte) { c.sendRecords(c.s.delayLocked(c, ToClient), records...) }

// Close implements ensemble.Sink: the server closes its end, and the client is
// told, unless that direction is blocked.
func (c *conn) Close() {
	c.over = true
	c.in.Clear()
	c.waiting = 0
	c.room.Broadcast()
	c.out.Push(c.s.delayLocked(c, ToClient), func() {
		c.wire.close()
		delete(c.s.conns, c)
	})
}

// cutLocked breaks the connection; both ends notice at once.
func (c *conn) cutLocked() {
	c.clearLocked()
	c.wire.reset()
	c.core.Close()
	c.clearLocked()
	delete(c.s.conns, c)
}

// receivedLocked takes bytes from the client.
func (c *conn) receivedLocked(p []byte) {
	if c.raw || c.dead || c.over {
		return // no more input is processed
	}
	frames, err := c.framer.Feed(p)
	if !c.started && len(frames) == 0 {
		if word := c.framer.Pending(); len(word) >= 4 && isFourLetterWord(string(word[:4])) {
			c.raw = true
			c.pushIn(0, func() { c.answerWord(string(word[:4])) })
			return
		}
	}
	for _, f := range frames {
		if !c.started {
			c.started = true
			if q, err := proto.DecodeConnect(f); err == nil {
				c.claims = q.Session
			}
		}
		c.pushIn(len(f), func() { c.deliverLocked(f) })
	}
	if err != nil {
		c.pushIn(0, c.core.Close)
	}
}

// hungUpLocked notes that the client closed its end. The server is told after
// everything that the client sent before.
func (c *conn) hungUpLocked() {
	if c.gone {
		return
	}
	c.gone = true
	c.deafenLocked()
	if c.dead {
		delete(c.s.conns, c)
	}
	c.pushIn(0, func() {
		c.core.Close()
		delete(c.s.conns, c)
	})
}

func (c *conn) sessionID() int64 {
	if id := c.core.Session(); id != 0 {
		return id
	}
	return c.claims
}

// deliverLocked hands a frame to the server, past the hooks.
func (c *conn) deliverLocked(frame []byte) {
	s := c.s
	if !c.greeted {
		c.greeted = true
		q, err := proto.DecodeConnect(frame)
		if err != nil {
			c.core.Close()
			return
		}
		r := s.countLocked(c, "connect", &proto.Request{})
		c.actLocked(s.askLocked(r), func(reply func([]byte)) { c.core.Connect(q) }, true)
		return
	}
	q, err := proto.DecodeRequest(frame)
	if err != nil {
		c.core.Close()
		return
	}
	q.Size = len(frame) + frameCost
	r := s.countLocked(c, q.Op.String(), &q)
	c.actLocked(s.askLocked(r), func(reply func([]byte)) { c.core.Submit(q, reply) }, false)
}

// actLocked processes a request as the hooks want it.
func (c *conn) actLocked(a Action, process func(reply func([]byte)), handshake bool) {
	s := c.s
	switch a.Do {
	case CutBefore:
		c.cutLocked()
	case DropRequest:
		c.dead = true
	case ExpireBefore:
		_ = s.world.Expire(c.sessionID())
	case DropReplyCut, DropReplyHole, ExpireAfter:
		if handshake {
			// The answer to a handshake does not come through reply, but is the
			// first to be sent.
			c.dead = true
			process(nil)
			s.loop.After(0, func() { c.loseReplyLocked(a.Do) })
			return
		}
		process(func([]byte) { c.loseReplyLocked(a.Do) })
	case CutAfter:
		process(func(b []byte) {
			c.Send(b)
			c.core.Close()
		})
	case DelayReply:
		if handshake {
			c.out.Push(a.For, func() {})
			process(nil)
			return
		}
		process(func(b []byte) {
			c.sendRecords(a.For, b)
		})
	default:
		process(nil)
	}
}

func (c *conn) loseReplyLocked(f Fault) {
	switch f {
	case DropReplyCut:
		c.cutLocked()
	case DropReplyHole:
		c.dead = true
	case ExpireAfter:
		_ = c.s.world.Expire(c.sessionID())
	}
}
