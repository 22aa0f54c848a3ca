package wire

import (
	"encoding/binary"
	"errors"
)

// errShort is the error of every decoder method once the input ended early or claimed
// an impossible length.
var errShort = errors.New("wire: malformed reply: ended early")

// Encoder appends the primitive types of ZooKeeper's serialization (jute):
// big-endian integers, and byte strings behind an int32 length of which -1
// means null.
type Encoder struct{ b []byte }

// Int32 appends v.
func (e *Encoder) Int32(v int32) { e.b = binary.BigEndian.AppendUint32(e.b, uint32(v)) }

// Int64 appends v.
func (e *Encoder) Int64(v int64) { e.b = binary.BigEndian.AppendUint64(e.b, uint64(v)) }

// Bool appends v as one byte.
func (e *Encoder) Bool(v bool) {
	if v {
		e.b = append(e.b, 1)
		return
	}
	e.b = append(e.b, 0)
}

// String appends s.
func (e *Encoder) String(s string) {
	e.Int32(int32(len(s)))
	e.b = append(e.b, s...)
}

// Bytes appends p; nil is written as null.
func (e *Encoder) Bytes(p []byte) {
	if p == nil {
		e.Int32(-1)
		return
	}
	e.Int32(int32(len(p)))
	e.b = append(e.b, p...)
}

// Decoder reads the output of [Encoder]. The first failure sticks: later calls return
// zero values, and Err tells. It never allocates more than the input can hold.
type Decoder struct {
	// Zxid is that of the reply's header, which is the transaction's if a write succeeded.
	Zxid int64

	b   []byte
	err error
}

// NewDecoder reads from b, which it does not copy.
func NewDecoder(b []byte) *Decoder { return &Decoder{b: b} }

// Err is the first failure, or nil.
func (d *Decoder) Err() error { return d.err }

// Len is the number of bytes not read yet.
func (d *Decoder) Len() int { return len(d.b) }

func (d *Decoder) takeBytes(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > len(d.b) {
		d.err, d.b = errShort, nil
		return nil
	}
	p := d.b[:n]
	d.b = d.b[n:]
	return p
}

// Int32 reads an int32.
func (d *Decoder) Int32() int32 {
	p := d.takeBytes(4)
	if p == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(p))
}

// Int64 reads an int64.
func (d *Decoder) Int64() int64 {
	p := d.takeBytes(8)
	if p == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(p))
}

// Bool reads one byte.
func (d *Decoder) Bool() bool {
	p := d.takeBytes(1)
	return p != nil && p[0] != 0
}

// Bytes reads a byte string into memory of its own; null gives nil.
func (d *Decoder) Bytes() []byte {
	n := d.Int32()
	if d.err != nil || n == -1 {
		return nil
	}
	p := d.takeBytes(int(n))
	if p == nil {
		return nil
	}
	return append(make([]byte, 0, len(p)), p...)
}

// String reads a string; null gives "".
func (d *Decoder) String() string {
	n := d.Int32()
	if d.err != nil || n == -1 {
		return ""
	}
	return string(d.takeBytes(int(n)))
}

// Count reads the length of a vector whose elements take at least size bytes
// each, and fails when the input cannot hold that many.
func (d *Decoder) Count(size int) int {
	n := d.Int32()
	if d.err != nil || n == -1 {
		return 0
	}
	if n < 0 || int(n) > len(d.b)/size {
		d.err, d.b = errShort, nil
		return 0
	}
	return int(n)
}

// Strings reads a vector of strings.
func (d *Decoder) Strings() []string {
	n := d.Count(4)
	out := make([]string, 0, n)
	for range n {
		out = append(out, d.String())
	}
	if d.err != nil {
		return nil
	}
	return out
}
