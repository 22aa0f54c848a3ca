package proto

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
)

// encodeRequest returns the bytes of a request.
func encodeRequest(xid int32, op Op, body func(w *jute.Writer)) []byte {
	var w jute.Writer
	w.Int32(xid)
	w.Int32(int32(op))
	if body != nil {
		body(&w)
	}
	return w.Bytes()
}

func TestRequestsAreDecoded(t *testing.T) {
	acl := WorldACL()
	create := func(w *jute.Writer) {
		w.String("/a")
		w.Buffer([]byte("d"))
		EncodeACLs(w, acl)
		w.Int32(FlagTTL)
	}
	cases := []struct {
		op   Op
		body func(w *jute.Writer)
		want Request
	}{
		{OpCreate, create, Request{Path: "/a", Data: []byte("d"), ACL: acl, Flags: FlagTTL}},
		{OpCreateTTL, func(w *jute.Writer) { create(w); w.Int64(77) }, Request{Path: "/a", Data: []byte("d"), ACL: acl, Flags: FlagTTL, TTL: 77}},
		{OpDelete, func(w *jute.Writer) { w.String("/a"); w.Int32(4) }, Request{Path: "/a", Version: 4}},
		{OpGetData, func(w *jute.Writer) { w.String("/a"); w.Bool(true) }, Request{Path: "/a", Watch: true}},
		{OpSetData, func(w *jute.Writer) { w.String("/a"); w.Buffer(nil); w.Int32(-1) }, Request{Path: "/a", Version: -1}},
		{OpSetACL, func(w *jute.Writer) { w.String("/a"); EncodeACLs(w, acl); w.Int32(2) }, Request{Path: "/a", ACL: acl, Version: 2}},
		{OpSync, func(w *jute.Writer) { w.String("/a") }, Request{Path: "/a"}},
		{OpAddWatch, func(w *jute.Writer) { w.String("/a"); w.Int32(1) }, Request{Path: "/a", Mode: 1}},
		{OpAuth, func(w *jute.Writer) { w.Int32(0); w.String("digest"); w.Buffer([]byte("u:p")) }, Request{Scheme: "digest", Data: []byte("u:p")}},
		{OpSetWatches2, func(w *jute.Writer) {
			w.Int64(9)
			for _, l := range [][]string{{"/a"}, {"/b"}, {"/c"}, {"/d"}, {"/e"}} {
				w.Strings(l)
			}
		}, Request{Watches: SetWatches{9, []string{"/a"}, []string{"/b"}, []string{"/c"}, []string{"/d"}, []string{"/e"}}}},
		{OpPing, nil, Request{}},
	}
	for _, c := range cases {
		b := encodeRequest(5, c.op, c.body)
		got, err := DecodeRequest(b)
		require.NoError(t, err)
		c.want.Xid, c.want.Op = 5, c.op
		require.Equal(t, c.want, got, c.op.String())
		if c.body != nil {
			got, err = DecodeRequest(b[:len(b)-1])
			require.NoError(t, err)
			require.True(t, got.BadBody, c.op.String())
		}
	}
	_, err := DecodeRequest([]byte{0, 0, 0, 1, 0})
	require.ErrorIs(t, err, jute.ErrMalformed)
}

func encodeMulti(parts ...Op) []byte {
	return encodeRequest(1, OpMulti, func(w *jute.Writer) {
		for _, op := range parts {
			w.Int32(int32(op))
			w.Bool(false)
			w.Int32(-1)
			w.String("/p")
			w.Int32(3)
		}
		w.Int32(-1)
		w.Bool(true)
		w.Int32(-1)
	})
}

func TestMultiIsDecodedPartByPart(t *testing.T) {
	q, err := DecodeRequest(encodeMulti(OpCheck, OpDelete))
	require.NoError(t, err)
	require.False(t, q.BadBody)
	require.Len(t, q.Ops, 2)
	require.Equal(t, OpDelete, q.Ops[1].Op)
	require.EqualValues(t, 3, q.Ops[1].Version)
	require.Equal(t, []string{"/p", "/p"}, q.Paths())
	require.False(t, q.OnlyChecks())

	q, _ = DecodeRequest(encodeMulti(OpCheck, OpCheck))
	require.True(t, q.OnlyChecks())
	q, _ = DecodeRequest(encodeMulti())
	require.False(t, q.OnlyChecks(), "an empty multi is no heartbeat")
	q, _ = DecodeRequest(encodeMulti(OpExists))
	require.True(t, q.BadBody, "reads do not belong in a multi")
}

func TestConnectWithAndWithoutTheReadOnlyByte(t *testing.T) {
	var w jute.Writer
	w.Int32(0)
	w.Int64(5)
	w.Int32(4000)
	w.Int64(77)
	w.Buffer([]byte("pw"))
	old, err := DecodeConnect(w.Bytes())
	require.NoError(t, err)
	require.Equal(t, Connect{LastZxidSeen: 5, Timeout: 4000, Session: 77, Password: []byte("pw"), Old: true}, old)
	w.Bool(true)
	c, err := DecodeConnect(w.Bytes())
	require.NoError(t, err)
	require.True(t, c.ReadOnly)
	require.False(t, c.Old)
	require.Len(t, EncodeConnectReply(true, false, 1, 2, make([]byte, 16)), 36)
	require.Len(t, EncodeConnectReply(false, true, 1, 2, make([]byte, 16)), 37)
}

func TestStatRoundTrip(t *testing.T) {
	s := Stat{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	var w jute.Writer
	s.Encode(&w)
	require.Len(t, w.Bytes(), 68)
	require.Equal(t, s, DecodeStat(jute.NewReader(w.Bytes())))
}

func TestOpsHaveNamesIfAndOnlyIfTheyAreKnown(t *testing.T) {
	for op := Op(-20); op < 200; op++ {
		if Known(op) {
			require.NotEqual(t, "unknown", op.String(), op)
		}
		if Since36(op) {
			require.True(t, Known(op), op)
		}
	}
	require.Equal(t, "unknown", Op(99).String())
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add(encodeMulti(OpCheck, OpDelete))
	f.Add(encodeRequest(1, OpSetWatches, func(w *jute.Writer) { w.Int64(1); w.Strings([]string{"/a"}); w.Strings(nil); w.Strings(nil) }))
	f.Add(encodeRequest(1, OpCreate, func(w *jute.Writer) { w.String("/a"); w.Buffer(nil); EncodeACLs(w, WorldACL()); w.Int32(0) }))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := DecodeRequest(b)
		if err == nil && len(b) < 8 {
			t.Fatal("a header has eight bytes")
		}
		_ = q.Paths()
		_ = q.OnlyChecks()
		if c, err := DecodeConnect(b); err == nil && len(c.Password) > len(b) {
			t.Fatal("password longer than the frame")
		}
	})
}
