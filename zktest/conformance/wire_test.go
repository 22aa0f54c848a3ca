package conformance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Operation codes of the protocol.
const (
	opCreate, opDelete, opExists, opGetData, opSetData          = 1, 2, 3, 4, 5
	opGetACL, opSetACL, opGetChildren, opSync, opPing           = 6, 7, 8, 9, 11
	opGetChildren2, opCheck, opMulti, opCreate2, opReconf       = 12, 13, 14, 15, 16
	opCheckWatches, opRemoveWatches, opContainer                = 17, 18, 19
	opDeleteContainer, opTTL, opMultiRead                       = 20, 21, 22
	opAuth, opSetWatches, opGetEphemerals                       = 100, 101, 103
	opAllChildren, opSetWatches2, opAddWatch, opWhoAmI          = 104, 105, 106, 107
	opClose                                                     = -11
	flagEphemeral, flagSequence, flagContainer, flagTTL         = 1, 2, 4, 5
	flagTTLSequence                                             = 6
	xidEvent, xidPing, xidAuth, xidSetWatches             int32 = -1, -2, -4, -8
)

// patience bounds the wait for a single answer.
const patience = time.Minute

// body builds a request.
type body []byte

func (b body) int(v int32) body  { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func (b body) long(v int64) body { return binary.BigEndian.AppendUint64(b, uint64(v)) }
func (b body) str(s string) body { return append(b.int(int32(len(s))), s...) }
func (b body) data(d []byte) body { // nil is the protocol's null
	if d == nil {
		return b.int(-1)
	}
	return append(b.int(int32(len(d))), d...)
}

func (b body) bool(v bool) body {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func (b body) list(all []string) body {
	b = b.int(int32(len(all)))
	for _, s := range all {
		b = b.str(s)
	}
	return b
}

func (b body) acl(all []acl) body {
	b = b.int(int32(len(all)))
	for _, a := range all {
		b = b.int(a.perms).str(a.scheme).str(a.id)
	}
	return b
}

type acl struct {
	perms      int32
	scheme, id string
}

// open gives all clients all permissions.
// read only
var open = []acl{{31, "world", "anyone"}}

// reader takes a reply apart. After an error everything is zero.
type reader struct {
	buf []byte
	err error
}

func (r *reader) takeBytes(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.buf)) {
		r.err = fmt.Errorf("reply is short: want %d bytes, have %d", n, len(r.buf))
	}
	if r.err != nil {
		return make([]byte, min(max(n, 0), 16))
	}
	out := r.buf[:n]
	r.buf = r.buf[n:]
	return out
}

func (r *reader) int() int32  { return int32(binary.BigEndian.Uint32(r.takeBytes(4))) }
func (r *reader) long() int64 { return int64(binary.BigEndian.Uint64(r.takeBytes(8))) }
func (r *reader) bool() bool  { return r.takeBytes(1)[0] != 0 }

func (r *reader) str() string {
	n := r.int()
	if n < 0 {
		return "<null>"
	}
	return string(r.takeBytes(int(n)))
}

func (r *reader) list() []string {
	n := r.int()
	out := []string{}
	for i := int32(0); i < n && r.err == nil; i++ {
		out = append(out, r.str())
	}
	return out
}

// frame is a message of the server after its length.
type frame struct {
	xid  int32
	zxid int64
	err  int32
	rest reader
}

// wire is one connection.
type wire struct {
	net.Conn
	sid     int64
	passwd  []byte
	timeout int32
}

func (w *wire) send(b body) error {
	_, err := w.Write(append(body{}.int(int32(len(b))), b...))
	return err
}

// receive reads a frame without a header.
func (w *wire) receive() ([]byte, error) { return w.receiveWithin(patience) }

func (w *wire) receiveWithin(limit time.Duration) ([]byte, error) {
	if err := w.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	var head [4]byte
	if _, err := io.ReadFull(w, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > 64<<20 {
		return nil, fmt.Errorf("the server sent a frame of %d bytes", n)
	}
	buf := make([]byte, n)
	_, err := io.ReadFull(w, buf)
	return buf, err
}

func (w *wire) next() (frame, error) { return w.nextWithin(patience) }

func (w *wire) nextWithin(limit time.Duration) (frame, error) {
	buf, err := w.receiveWithin(limit)
	if err != nil {
		return frame{}, err
	}
	r := reader{buf: buf}
	f := frame{xid: r.int(), zxid: r.long(), err: r.int()}
	f.rest = r
	return f, r.err
}

// describeEnd tells how a connection ended.
func describeEnd(err error) string {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "silence"
	}
	return "closed" // EOF and reset are the same to a client
}

// connectRequest is a connect request. readOnly is left out by old clients.
func connectRequest(version int32, zxid int64, timeout int32, sid int64, passwd []byte, readOnly bool) body {
	b := body{}.int(version).long(zxid).int(timeout).long(sid).data(passwd)
	if readOnly {
		return b.bool(false)
	}
	return b
}

func connect(addr string) (*wire, error) {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: conn}, nil
}

// handshake sends a connect request and takes over the granted session.
func (w *wire) handshake(b body) (*reader, error) {
	if err := w.send(b); err != nil {
		return nil, err
	}
	buf, err := w.receive()
	if err != nil {
		return nil, err
	}
	r := &reader{buf: buf}
	r.int() // protocol version
	w.timeout, w.sid = r.int(), r.long()
	w.passwd = []byte(r.str())
	return r, r.err
}
