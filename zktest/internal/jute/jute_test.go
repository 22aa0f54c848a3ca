package jute

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWrittenRecordIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i, l := rapid.Int32().Draw(t, "int"), rapid.Int64().Draw(t, "long")
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "buffer")
		s, list := rapid.String().Draw(t, "string"), rapid.SliceOf(rapid.String()).Draw(t, "list")
		flag := rapid.Bool().Draw(t, "bool")
		var w Writer
		w.Int32(i)
		w.Int64(l)
		w.Buffer(b)
		w.String(s)
		w.Strings(list)
		w.Bool(flag)
		w.Buffer(nil)
		r := NewReader(w.Bytes())
		require.Equal(t, i, r.Int32())
		require.Equal(t, l, r.Int64())
		require.True(t, bytes.Equal(b, r.Buffer()))
		require.Equal(t, s, r.String())
		got := r.Strings()
		require.Len(t, got, len(list))
		for k := range list {
			require.Equal(t, list[k], got[k])
		}
		require.Equal(t, flag, r.Bool())
		require.Nil(t, r.Buffer())
		require.NoError(t, r.Err())
		require.Zero(t, r.Len())
	})
}

func TestEveryTruncationIsAnError(t *testing.T) {
	var w Writer
	w.Int32(7)
	w.Strings([]string{"ab", "c"})
	w.Int64(9)
	whole := w.Bytes()
	for n := range whole {
		r := NewReader(whole[:n])
		r.Int32()
		r.Strings()
		r.Int64()
		require.ErrorIs(t, r.Err(), ErrMalformed, n)
	}
}

func TestHostileLengthsAllocateNothing(t *testing.T) {
	for _, b := range [][]byte{
		{0x7f, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xfe}, {0x80, 0, 0, 0, 1}, {0, 0, 0, 5, 0, 0},
	} {
		require.Nil(t, NewReader(b).Buffer())
		r := NewReader(b)
		require.Empty(t, r.Strings())
		require.Error(t, r.Err())
	}
	require.Zero(t, NewReader([]byte{0xff, 0xff, 0xff, 0xff}).Count(4), "null vector")
}

func TestFramerDoesNotCareHowTheStreamIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 20), 0, 6).Draw(t, "records")
		var stream []byte
		for _, r := range records {
			stream = append(stream, Frame(r)...)
		}
		f := Framer{Max: 20}
		var got [][]byte
		for len(stream) > 0 {
			n := rapid.IntRange(1, len(stream)).Draw(t, "cut")
			frames, err := f.Feed(stream[:n])
			require.NoError(t, err)
			got = append(got, frames...)
			stream = stream[n:]
		}
		require.Len(t, got, len(records))
		for i := range records {
			require.True(t, bytes.Equal(records[i], got[i]))
		}
		require.Empty(t, f.Pending())
	})
}

func TestFramerRefusesLengthsOutOfRange(t *testing.T) {
	f := Framer{Max: 3}
	frames, err := f.Feed(append(Frame([]byte("abc")), Frame([]byte("abcd"))...))
	require.ErrorIs(t, err, ErrFrameSize)
	require.Equal(t, [][]byte{[]byte("abc")}, frames)
	f = Framer{Max: 3}
	_, err = f.Feed([]byte{0xff, 0xff, 0xff, 0xff})
	require.ErrorIs(t, err, ErrFrameSize)
}

func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1, 'a'})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		for r.Err() == nil && r.Len() > 0 {
			_ = r.Strings()
			_ = r.Buffer()
			_ = r.Int32()
			_ = r.Bool()
		}
		if r.Len() > len(b) {
			t.Fatal("grew")
		}
	})
}

func FuzzFramer(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 5}, 2)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		whole, parts := Framer{Max: 64}, Framer{Max: 64}
		a, errA := whole.Feed(b)
		if cut < 0 || cut > len(b) {
			cut = len(b) / 2
		}
		c, errB := parts.Feed(b[:cut])
		if errB == nil {
			var more [][]byte
			more, errB = parts.Feed(b[cut:])
			c = append(c, more...)
		}
		if (errA == nil) != (errB == nil) || len(a) != len(c) {
			t.Fatalf("%v %v, %d %d", errA, errB, len(a), len(c))
		}
	})
}
