package zktest_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// raw speaks the protocol byte by byte, for requests that go-zookeeper cannot
// send.
type raw struct {
	t       *testing.T
	conn    net.Conn
	xid     int32
	session int64
	timeout int32
	passwd  []byte
}

type reply struct {
	xid  int32
	zxid int64
	code proto.Code
	body *jute.Reader
}

func dialRaw(t *testing.T, s *zktest.Server, server int) *raw {
	t.Helper()
	c, err := s.Dial(context.Background(), "tcp", s.ServerAddr(server))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &raw{t: t, conn: c}
}

// handshake sends a connect request and returns the session id of the reply.
func (r *raw) handshake(session int64, passwd []byte, timeout int32, old bool) int64 {
	r.t.Helper()
	r.greet(session, passwd, timeout, 0, old)
	return r.readGreeting(old)
}

func (r *raw) greet(session int64, passwd []byte, timeout int32, zxid int64, old bool) {
	var w jute.Writer
	w.Int32(0)
	w.Int64(zxid)
	w.Int32(timeout)
	w.Int64(session)
	w.Buffer(passwd)
	if !old {
		w.Bool(false)
	}
	r.writeRecord(w.Bytes())
}

func (r *raw) readGreeting(old bool) int64 {
	r.t.Helper()
	b, err := r.readFrame()
	require.NoError(r.t, err)
	if old {
		require.Len(r.t, b, 36)
	} else {
		require.Len(r.t, b, 37)
	}
	j := jute.NewReader(b)
	_ = j.Int32()
	r.timeout, r.session, r.passwd = j.Int32(), j.Int64(), j.Buffer()
	return r.session
}

func openRaw(t *testing.T, s *zktest.Server, server int) *raw {
	t.Helper()
	r := dialRaw(t, s, server)
	require.NotZero(t, r.handshake(0, make([]byte, 16), 10000, false))
	return r
}

func (r *raw) writeRecord(record []byte) {
	r.t.Helper()
	_, err := r.conn.Write(jute.Frame(record))
	require.NoError(r.t, err)
}

func (r *raw) readFrame() ([]byte, error) {
	var n [4]byte
	if _, err := io.ReadFull(r.conn, n[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	_, err := io.ReadFull(r.conn, b)
	return b, err
}

// send sends a request and returns its xid.
func (r *raw) send(op proto.Op, body func(w *jute.Writer)) int32 {
	r.t.Helper()
	r.xid++
	r.sendAs(r.xid, op, body)
	return r.xid
}

func (r *raw) sendAs(xid int32, op proto.Op, body func(w *jute.Writer)) {
	r.t.Helper()
	var w jute.Writer
	w.Int32(xid)
	w.Int32(int32(op))
	if body != nil {
		body(&w)
	}
	r.writeRecord(w.Bytes())
}

// receiveReply returns the next answer or event.
func (r *raw) receiveReply() reply {
	r.t.Helper()
	b, err := r.readFrame()
	require.NoError(r.t, err)
	j := jute.NewReader(b)
	return reply{j.Int32(), j.Int64(), proto.Code(j.Int32()), j}
}

// call sends a request and returns the next frame, which must be the answer.
func (r *raw) call(op proto.Op, body func(w *jute.Writer)) reply {
	r.t.Helper()
	xid := r.send(op, body)
	got := r.receiveReply()
	require.Equal(r.t, xid, got.xid)
	return got
}

// receiveEvent reads a watch event.
func (r *raw) receiveEvent() (proto.EventType, string) {
	r.t.Helper()
	got := r.receiveReply()
	require.Equal(r.t, proto.XidWatch, got.xid)
	typ := proto.EventType(got.body.Int32())
	require.EqualValues(r.t, 3, got.body.Int32())
	return typ, got.body.String()
}

// wantEOF fails unless the server closes the connection without a word.
func (r *raw) wantEOF() {
	r.t.Helper()
	require.NoError(r.t, r.conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := r.readFrame()
	require.ErrorIs(r.t, err, io.EOF)
}

// wantSilence fails if anything comes within d.
func (r *raw) wantSilence(d time.Duration) {
	r.t.Helper()
	require.NoError(r.t, r.conn.SetReadDeadline(time.Now().Add(d)))
	_, err := r.readFrame()
	var ne net.Error
	require.ErrorAs(r.t, err, &ne)
	require.True(r.t, ne.Timeout(), "%v", err)
	require.NoError(r.t, r.conn.SetReadDeadline(time.Time{}))
}

func create(path string, flags int32) func(w *jute.Writer) {
	return func(w *jute.Writer) {
		w.String(path)
		w.Buffer([]byte(strings.TrimPrefix(path, "/")))
		proto.EncodeACLs(w, proto.WorldACL())
		w.Int32(flags)
	}
}

func pathWatch(path string, watch bool) func(w *jute.Writer) {
	return func(w *jute.Writer) { w.String(path); w.Bool(watch) }
}

func pathInt(path string, v int32) func(w *jute.Writer) {
	return func(w *jute.Writer) { w.String(path); w.Int32(v) }
}

func pathOnly(path string) func(w *jute.Writer) {
	return func(w *jute.Writer) { w.String(path) }
}

func setData(path, data string, version int32) func(w *jute.Writer) {
	return func(w *jute.Writer) { w.String(path); w.Buffer([]byte(data)); w.Int32(version) }
}
