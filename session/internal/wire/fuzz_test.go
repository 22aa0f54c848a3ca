package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// FuzzReadFrame: a stream is cut into frames for any sizes of its pieces, and a
// wrong length ends the stream without an allocation.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0}, 10)
	f.Add(withLength([]byte("abc")), 3)
	f.Add(withLength([]byte("abcd")), 3)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1}, 10)
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff, 1}, 0x7fffffff)
	f.Add([]byte{0, 0, 0, 9, 1}, 100)
	f.Fuzz(func(t *testing.T, stream []byte, limit int) {
		limit &= 1<<31 - 1
		whole := frames(t, bytes.NewReader(stream), limit)
		pieces := frames(t, iotest.OneByteReader(bytes.NewReader(stream)), limit)
		if !bytes.Equal(bytes.Join(whole, nil), bytes.Join(pieces, nil)) || len(whole) != len(pieces) {
			t.Fatalf("%q: %q at once, %q in pieces", stream, whole, pieces)
		}
		for _, frame := range whole {
			if len(frame) > limit || !bytes.HasPrefix(stream, withLength(frame)) {
				t.Fatalf("frame %q of %q, limit %d", frame, stream, limit)
			}
			stream = stream[4+len(frame):]
		}
		if len(stream) >= 4 {
			size := int64(int32(binary.BigEndian.Uint32(stream)))
			if size >= 0 && size <= int64(limit) && size <= int64(len(stream)-4) {
				t.Fatalf("a frame was left: %q", stream)
			}
		}
	})
}

// frames reads all frames of r.
func frames(t *testing.T, r io.Reader, limit int) (all [][]byte) {
	t.Helper()
	c := &conn{link: &Link{cfg: Config{MaxFrame: limit}}, in: bufio.NewReader(r)}
	for {
		frame, err := c.readFrame()
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrReplyTooLarge) {
				t.Fatal(err)
			}
			return all
		}
		if cap(frame) > 4*(len(frame)+64<<10) {
			t.Fatalf("%d bytes for a frame of %d", cap(frame), len(frame))
		}
		all = append(all, frame)
	}
}
