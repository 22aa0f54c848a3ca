package jute

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrFrameSize is wrapped when a frame announces a negative length or a length
// above the limit.
var ErrFrameSize = errors.New("jute: frame length out of range")

// Frame puts the length in front of a record.
func Frame(record []byte) []byte { return Frames(record) }

// Frames puts its length in front of each record.
func Frames(records ...[]byte) []byte {
	size := 0
	for _, r := range records {
		size += 4 + len(r)
	}
	out := make([]byte, 0, size)
	for _, r := range records {
		out = binary.BigEndian.AppendUint32(out, uint32(len(r)))
		out = append(out, r...)
	}
	return out
}

// Framer cuts a byte stream into frames. The zero value accepts only empty
// frames; set Max.
type Framer struct {
	// Max is the largest length accepted, in bytes, without the length field.
	Max int
	buf []byte
}

// Feed takes the next bytes of the stream and returns the completed frames,
// without their length fields. After an error the stream is useless.
func (f *Framer) Feed(p []byte) ([][]byte, error) {
	f.buf = append(f.buf, p...)
	var out [][]byte
	for len(f.buf) >= 4 {
		n := int32(binary.BigEndian.Uint32(f.buf))
		if n < 0 || int(n) > f.Max {
			return out, fmt.Errorf("%w: %d, limit %d", ErrFrameSize, n, f.Max)
		}
		if len(f.buf) < 4+int(n) {
			break
		}
		out = append(out, append([]byte{}, f.buf[4:4+n]...))
		f.buf = f.buf[4+n:]
	}
	if len(f.buf) == 0 {
		f.buf = nil
	}
	return out, nil
}

// Pending returns the bytes of the incomplete frame.
func (f *Framer) Pending() []byte { return f.buf }
