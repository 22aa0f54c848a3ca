// Package jute reads and writes ZooKeeper's wire encoding.
//
// Integers are big-endian, a buffer or string is preceded by its length as a
// signed 32-bit integer (-1 means null), a vector by its number of elements. A
// Reader never panics and never allocates more than the input justifies, for
// any input.
package jute

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// ErrMalformed is wrapped by every error of a Reader.
var ErrMalformed = errors.New("jute: malformed record")

// Reader takes values off the front of a byte slice. The first error sticks:
// later calls return zero values, so a record is decoded without a check after
// each field and Err is asked once at its end.
type Reader struct {
	b   []byte
	err error
}

// NewReader returns a Reader of b. The Reader keeps b but does not change b.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Err returns the first error, which wraps ErrMalformed, or nil.
func (r *Reader) Err() error { return r.err }

// Len returns how many bytes are left.
func (r *Reader) Len() int { return len(r.b) }

func (r *Reader) setMalformed(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s with %d bytes left", ErrMalformed, what, len(r.b))
	}
	r.b = nil
}

func (r *Reader) takeBytes(n int, what string) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.setMalformed(what)
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

// Int32 reads a signed 32-bit integer.
func (r *Reader) Int32() int32 {
	if p := r.takeBytes(4, "int"); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

// Int64 reads a signed 64-bit integer.
func (r *Reader) Int64() int64 {
	if p := r.takeBytes(8, "long"); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

// Bool reads a byte; anything but zero is true, as in Java's DataInput.
func (r *Reader) Bool() bool {
	p := r.takeBytes(1, "boolean")
	return p != nil && p[0] != 0
}

// Buffer reads a byte string and returns a copy; null is returned as nil, an
// empty string as an empty slice.
func (r *Reader) Buffer() []byte {
	n := r.Int32()
	if r.err != nil || n == -1 {
		return nil
	}
	p := r.takeBytes(int(n), "buffer")
	if r.err != nil {
		return nil
	}
	return append([]byte{}, p...)
}

// String reads a UTF-8 string; null comes back as "".
func (r *Reader) String() string { return string(r.Buffer()) }

// Count reads the number of elements of a vector whose elements take at least
// min bytes each. A null vector counts as empty. A count too large for the
// remaining bytes is an error, so hostile counts allocate nothing.
func (r *Reader) Count(min int) int {
	n := r.Int32()
	if r.err != nil || n == -1 {
		return 0
	}
	if n < 0 || int64(n)*int64(min) > int64(len(r.b)) {
		r.setMalformed("vector")
		return 0
	}
	return int(n)
}

// Strings reads a vector of strings; null is returned as nil, an empty vector
// as an empty slice.
func (r *Reader) Strings() []string {
	if len(r.b) >= 4 && int32(binary.BigEndian.Uint32(r.b)) == -1 {
		r.b = r.b[4:]
		return nil
	}
	n := r.Count(4)
	out := make([]string, 0, n)
	for i := 0; i < n && r.err == nil; i++ {
		out = append(out, r.String())
	}
	return out
}

// Writer appends values to a byte slice. The zero value is ready.
type Writer struct{ b []byte }

// Bytes returns the bytes written so far, without a copy.
func (w *Writer) Bytes() []byte { return w.b }

// Int32 writes a signed 32-bit integer.
func (w *Writer) Int32(v int32) { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }

// Int64 writes a signed 64-bit integer.
func (w *Writer) Int64(v int64) { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }

// Bool writes a byte, 1 or 0.
func (w *Writer) Bool(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

// Buffer writes a byte string; nil is written as null.
func (w *Writer) Buffer(v []byte) {
	if v == nil {
		w.Int32(-1)
		return
	}
	w.Int32(int32(len(v)))
	w.b = append(w.b, v...)
}

// String writes a UTF-8 string.
func (w *Writer) String(v string) {
	w.Int32(int32(len(v)))
	w.b = append(w.b, v...)
}

// Strings writes a vector of strings.
func (w *Writer) Strings(v []string) {
	size := 4
	for _, s := range v {
		size += 4 + len(s)
	}
	w.b = slices.Grow(w.b, size)
	w.Int32(int32(len(v)))
	for _, s := range v {
		w.String(s)
	}
}
