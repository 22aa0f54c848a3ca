package counter

import (
	"fmt"

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
		return fmt.Errorf("Format is %d; it must be CuratorLong, CuratorInt or KazooText", int(f))
	}
	return nil
}

// form is the format in package counterformat, whose constants have the same order.
func (f Format) form() counterformat.Form { return counterformat.Form(f) }

// fits wants the format to have room for v.
func (f Format) fits(v int64) error {
	if !f.form().Fits(v) {
		return fmt.Errorf("%w: %d does not fit 32 bits", ErrOverflow, v)
	}
	return nil
}

// maxValue is the highest number of the format.
func (f Format) maxValue() int64 { return f.form().Max() }

// encode encodes v, which must fit.
func (f Format) encode(v int64) []byte { return f.form().Encode(v) }

// decode reads a node's data.
func (f Format) decode(data []byte) (int64, error) {
	v, err := f.form().Decode(data)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return v, nil
}

// add returns a+b, or an error if the sum does not fit.
func (f Format) add(a, b int64) (int64, error) {
	s := a + b
	if b > 0 && s < a || b < 0 && s > a {
		return 0, fmt.Errorf("%w: %d%+d does not fit 64 bits", ErrOverflow, a, b)
	}
	return s, f.fits(s)
}
