package counter

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
)

// Format is the form of a number in its znode. In every format a znode without
// data means 0, as in Curator and Kazoo.
type Format int

const (
	// CuratorLong is the format of Curator's DistributedAtomicLong: 8 bytes, a
	// big-endian two's complement. Curator reads the first 8 of more bytes; this
	// package refuses longer data, because a write would cut off the rest.
	CuratorLong Format = iota
	// CuratorInt is the format of Curator's DistributedAtomicInteger and
	// SharedCount, and of Kazoo's Counter with support_curator=True: 4 bytes, a
	// big-endian two's complement.
	CuratorInt
	// KazooText is the format of Kazoo's Counter: decimal text as Python writes
	// an int. Other spellings of a number ("+1", "007"), fractions, and numbers
	// beyond 64 bits are refused.
	KazooText
)

// check checks whether the format is valid.
func (f Format) check() error {
	if f < CuratorLong || f > KazooText {
		return fmt.Errorf("%w: Format is %d; it must be CuratorLong, CuratorInt or KazooText", ErrInvalidArgument, int(f))
	}
	return nil
}

// fits wants the format to have room for v.
func (f Format) fits(v int64) error {
	if f == CuratorInt && (v < math.MinInt32 || v > math.MaxInt32) {
		return fmt.Errorf("%w: %d does not fit 32 bits", ErrOverflow, v)
	}
	return nil
}

// maxValue is the highest number of the format.
func (f Format) maxValue() int64 {
	if f == CuratorInt {
		return math.MaxInt32
	}
	return math.MaxInt64
}

// encode encodes v, which must fit.
func (f Format) encode(v int64) []byte {
	switch f {
	case CuratorInt:
		return binary.BigEndian.AppendUint32(nil, uint32(int32(v)))
	case KazooText:
		return strconv.AppendInt(nil, v, 10)
	}
	return binary.BigEndian.AppendUint64(nil, uint64(v))
}

// decode reads a node's data.
func (f Format) decode(data []byte) (int64, error) {
	switch {
	case len(data) == 0:
		return 0, nil
	case f == KazooText:
		v, err := strconv.ParseInt(string(data), 10, 64)
		if err != nil || strconv.FormatInt(v, 10) != string(data) {
			return 0, fmt.Errorf("%w: %d bytes that are no decimal number of 64 bits: %.40q", ErrCorrupt, len(data), data)
		}
		return v, nil
	case f == CuratorInt && len(data) == counterformat.IntSize:
		return int64(int32(binary.BigEndian.Uint32(data))), nil
	case f == CuratorLong && len(data) == counterformat.LongSize:
		return int64(binary.BigEndian.Uint64(data)), nil
	}
	want := counterformat.LongSize
	if f == CuratorInt {
		want = counterformat.IntSize
	}
	return 0, fmt.Errorf("%w: %d bytes of data instead of %d", ErrCorrupt, len(data), want)
}

// add returns a+b, or an error if the sum does not fit.
func (f Format) add(a, b int64) (int64, error) {
	s := a + b
	if b > 0 && s < a || b < 0 && s > a {
		return 0, fmt.Errorf("%w: %d%+d does not fit 64 bits", ErrOverflow, a, b)
	}
	return s, f.fits(s)
}
