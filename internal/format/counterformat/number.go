package counterformat

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// Form is the form of a number in its znode. In every form a znode without data means 0,
// as in Curator and Kazoo.
type Form int

// The forms.
const (
	// Long: LongSize bytes.
	Long Form = iota
	// Int: IntSize bytes.
	Int
	// Text: Kazoo's Counter, decimal text as Python writes an int. Other spellings of a
	// number ("+1", "007") and numbers beyond 64 bits are refused.
	Text
)

// Sizes in bytes. The binary forms are big-endian two's complements.
const (
	// LongSize: Curator's DistributedAtomicLong.
	LongSize = 8
	// IntSize: Curator's DistributedAtomicInteger and SharedCount, and Kazoo's Counter with
	// support_curator=True.
	IntSize = 4
	// MaxSize is that of the lowest number as text.
	MaxSize = 20
)

// BinaryForm is the form of binary data with size bytes. Decode refuses the data if no
// binary form has this size.
func BinaryForm(size int) Form {
	if size == IntSize {
		return Int
	}
	return Long
}

// Max is the highest number of the form.
func (f Form) Max() int64 {
	if f == Int {
		return math.MaxInt32
	}
	return math.MaxInt64
}

// Fits reports whether the form has room for v.
func (f Form) Fits(v int64) bool { return f != Int || v >= math.MinInt32 && v <= math.MaxInt32 }

// Encode encodes v, which must fit.
func (f Form) Encode(v int64) []byte {
	switch f {
	case Int:
		return binary.BigEndian.AppendUint32(nil, uint32(int32(v)))
	case Text:
		return strconv.AppendInt(nil, v, 10)
	}
	return binary.BigEndian.AppendUint64(nil, uint64(v))
}

// Decode reads the data of a znode. There is one way to write a number: the data that
// Encode writes, or no data for 0.
func (f Form) Decode(data []byte) (int64, error) {
	switch {
	case len(data) == 0:
		return 0, nil
	case f == Text:
		v, err := strconv.ParseInt(string(data), 10, 64)
		if err != nil || strconv.FormatInt(v, 10) != string(data) {
			return 0, fmt.Errorf("%d bytes that are not a decimal number of 64 bits: %.40q", len(data), data)
		}
		return v, nil
	case f == Int && len(data) == IntSize:
		return int64(int32(binary.BigEndian.Uint32(data))), nil
	case f == Long && len(data) == LongSize:
		return int64(binary.BigEndian.Uint64(data)), nil
	}
	want := LongSize
	if f == Int {
		want = IntSize
	}
	return 0, fmt.Errorf("%d bytes of data instead of %d", len(data), want)
}
