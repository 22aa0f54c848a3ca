package wire

import (
	"bytes"
	"math"
	"runtime"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDecoderReadsWhatEncoderWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i32 := rapid.Int32().Draw(t, "int32")
		i64 := rapid.Int64().Draw(t, "int64")
		flag := rapid.Bool().Draw(t, "bool")
		text := rapid.String().Draw(t, "string")
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		acl := []zk.ACL{{Perms: i32, Scheme: text, ID: "x"}, {Perms: 1, Scheme: "", ID: text}}
		e := &Encoder{}
		e.Int32(i32)
		e.Int64(i64)
		e.Bool(flag)
		e.String(text)
		e.Bytes(data)
		e.Bytes(nil)
		EncodeACL(e, acl)

		d := NewDecoder(e.b)
		assert.Equal(t, i32, d.Int32())
		assert.Equal(t, i64, d.Int64())
		assert.Equal(t, flag, d.Bool())
		assert.Equal(t, text, d.String())
		assert.True(t, bytes.Equal(data, d.Bytes()))
		assert.Nil(t, d.Bytes())
		assert.Equal(t, acl, DecodeACL(d))
		assert.NoError(t, d.Err())
		assert.Zero(t, d.Len())
	})
}

func TestNullDecodesToNothing(t *testing.T) {
	null := []byte{0xff, 0xff, 0xff, 0xff}
	assert.Nil(t, NewDecoder(null).Bytes())
	assert.Empty(t, NewDecoder(null).String())
	assert.Zero(t, NewDecoder(null).Count(1))
	assert.Empty(t, NewDecoder(null).Strings())
	assert.Empty(t, DecodeACL(NewDecoder(null)))
}

func TestDecodedBytesAreACopy(t *testing.T) {
	e := &Encoder{}
	e.Bytes([]byte("abc"))
	got := NewDecoder(e.b).Bytes()
	e.b[4] = 'x'
	assert.Equal(t, "abc", string(got))
}

func TestTheFirstFailureSticks(t *testing.T) {
	d := NewDecoder([]byte{0, 0, 0})
	assert.Zero(t, d.Int32())
	require.ErrorIs(t, d.Err(), errShort)
	assert.Zero(t, d.Int64())
	assert.False(t, d.Bool())
	assert.Empty(t, d.String())
	assert.Nil(t, d.Bytes())
	assert.Nil(t, d.Strings())
	assert.Zero(t, d.Count(1))
	assert.Zero(t, d.Len())
	require.ErrorIs(t, d.Err(), errShort)
}

// length encodes n where a length is due, with some bytes behind it.
func length(n int32, tail ...byte) []byte {
	e := &Encoder{}
	e.Int32(n)
	return append(e.b, tail...)
}

func TestAClaimedLengthThatCannotBeIsRefusedWithoutAllocating(t *testing.T) {
	for _, n := range []int32{-2, math.MinInt32, 5, 1 << 20, math.MaxInt32} {
		in := length(n, 1, 2, 3)
		decode := map[string]func(*Decoder){
			"bytes":   func(d *Decoder) { assert.Nil(t, d.Bytes()) },
			"string":  func(d *Decoder) { assert.Empty(t, d.String()) },
			"strings": func(d *Decoder) { assert.Empty(t, d.Strings()) },
			"acl":     func(d *Decoder) { assert.Empty(t, DecodeACL(d)) },
		}
		for name, f := range decode {
			d := NewDecoder(in)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f(d)
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, d.Err(), errShort, "%s of %d", name, n)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<18), "%s of %d", name, n)
		}
	}
}

func TestStatsFieldsAreInTheServersOrder(t *testing.T) {
	e := &Encoder{}
	for i := int64(1); i <= 4; i++ {
		e.Int64(i)
	}
	for i := int32(5); i <= 7; i++ {
		e.Int32(i)
	}
	e.Int64(8)
	e.Int32(9)
	e.Int32(10)
	e.Int64(11)
	d := NewDecoder(e.b)
	assert.Equal(t, zk.Stat{
		Czxid: 1, Mzxid: 2, Ctime: 3, Mtime: 4, Version: 5, Cversion: 6, Aversion: 7,
		EphemeralOwner: 8, DataLength: 9, NumChildren: 10, Pzxid: 11,
	}, DecodeStat(d))
	require.NoError(t, d.Err())
	assert.Zero(t, d.Len())
}

// multi encodes a transaction's answer.
func multi(parts ...func(*Encoder)) []byte {
	e := &Encoder{}
	for _, p := range parts {
		p(e)
	}
	e.Int32(opError)
	e.Bool(true)
	e.Int32(-1)
	return e.b
}

func part(op int32, code int32, body func(*Encoder)) func(*Encoder) {
	return func(e *Encoder) {
		e.Int32(op)
		e.Bool(false)
		e.Int32(code)
		if body != nil {
			body(e)
		}
	}
}

func emptyStat(e *Encoder) { e.b = append(e.b, make([]byte, 68)...) }

func TestATransactionsAnswerIsReadOperationByOperation(t *testing.T) {
	d := NewDecoder(multi(
		part(OpCreate, 0, func(e *Encoder) { e.String("/a") }),
		part(OpCreate2, 0, func(e *Encoder) { e.String("/b"); emptyStat(e) }),
		part(OpSetData, 0, emptyStat),
		part(OpDelete, 0, nil),
		part(OpCheck, 0, nil),
		part(opError, -101, func(e *Encoder) { e.Int32(-101) }),
	))
	got := DecodeMulti(d)
	require.NoError(t, d.Err())
	require.Len(t, got, 6)
	assert.Equal(t, "/a", got[0].Path)
	assert.Equal(t, "/b", got[1].Path)
	assert.EqualValues(t, -101, got[5].Code)
	assert.Zero(t, d.Len())
}

func TestATransactionsAnswerWithAnUnknownPartIsRefused(t *testing.T) {
	d := NewDecoder(multi(part(77, 0, nil), part(OpDelete, 0, nil)))
	DecodeMulti(d)
	require.ErrorIs(t, d.Err(), errShort)
}

// FuzzDecoders: no input makes a decoder panic or loop, or allocate out of
// proportion.
func FuzzDecoders(f *testing.F) {
	f.Add(multi(part(OpCreate, 0, func(e *Encoder) { e.String("/a") })))
	f.Add(length(math.MaxInt32))
	f.Add(length(2, 0, 0, 0, 1, 'a', 0, 0, 0, 1, 'b'))
	f.Add(bytes.Repeat([]byte{0xff}, 80))
	f.Fuzz(func(t *testing.T, in []byte) {
		if got := DecodeMulti(NewDecoder(in)); len(got) > len(in)/9+1 {
			t.Fatalf("%d results of %d bytes", len(got), len(in))
		}
		if got := NewDecoder(in).Strings(); len(got) > len(in)/4 {
			t.Fatalf("%d strings of %d bytes", len(got), len(in))
		}
		if got := DecodeACL(NewDecoder(in)); len(got) > len(in)/12 {
			t.Fatalf("%d entries of %d bytes", len(got), len(in))
		}
		d := NewDecoder(in)
		DecodeStat(d)
		if (d.Err() == nil) != (len(in) >= 68) {
			t.Fatalf("stat of %d bytes: %v", len(in), d.Err())
		}
		_, _ = decodeConnectReply(in)
		_, _ = receiveEvent(NewDecoder(in))
	})
}
