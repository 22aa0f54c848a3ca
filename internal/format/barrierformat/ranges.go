package barrierformat

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Ranges is a set of numbers of znodes: ranges in ascending order that neither
// touch nor overlap. Parties that come and go together have numbers in a row,
// so that a set of many is short: "0-31999" is a thousand rounds of 32.
type Ranges []Range

// Range is the numbers from Lo to Hi, both included.
type Range struct{ Lo, Hi int32 }

// Count is how many numbers there are.
func (s Range) Count() int64 { return int64(s.Hi) - int64(s.Lo) + 1 }

// Count is how many numbers there are.
func (s Ranges) Count() (n int64) {
	for _, r := range s {
		n += r.Count()
	}
	return n
}

// Contains reports whether n is one of the numbers.
func (s Ranges) Contains(n int32) bool {
	i, found := slices.BinarySearchFunc(s, n, func(r Range, n int32) int { return cmp.Compare(r.Lo, n) })
	return found || i > 0 && n <= s[i-1].Hi
}

// Above is how many of the numbers are greater than n.
func (s Ranges) Above(n int32) (k int64) {
	for i := len(s) - 1; i >= 0 && s[i].Hi > n; i-- {
		k += int64(s[i].Hi) - max(int64(n), int64(s[i].Lo)-1)
	}
	return k
}

// Add returns the set with n, which is greater than all of s.
func (s Ranges) Add(n int32) Ranges {
	if len(s) > 0 && s[len(s)-1].Hi == n-1 {
		s[len(s)-1].Hi = n
		return s
	}
	return append(s, Range{n, n})
}

// Slice is the numbers but for the skip greatest: the k greatest of these.
func (s Ranges) Slice(skip, k int64) (out Ranges) {
	for i := len(s) - 1; i >= 0 && k > 0; i-- {
		r := s[i]
		dropped := min(skip, r.Count())
		skip -= dropped
		taken := min(k, r.Count()-dropped)
		k -= taken
		if hi := int64(r.Hi) - dropped; taken > 0 {
			out = append(Ranges{{int32(hi - taken + 1), int32(hi)}}, out...)
		}
	}
	return out
}

// String is such as "0-4,7".
func (s Ranges) String() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = strconv.Itoa(int(r.Lo))
		if r.Hi > r.Lo {
			parts[i] += "-" + strconv.Itoa(int(r.Hi))
		}
	}
	return strings.Join(parts, ",")
}

var errRanges = errors.New("ranges of numbers must look like 0-4,7,9-12")

// ParseRanges reads the output of String, and nothing else.
func ParseRanges(text string) (Ranges, error) {
	if text == "" {
		return nil, nil
	}
	var out Ranges
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		lo, err := strconv.ParseInt(first, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errRanges, err)
		}
		hi, err := strconv.ParseInt(last, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errRanges, err)
		}
		r := Range{int32(lo), int32(hi)}
		if lo < 0 || hi < lo || len(out) > 0 && lo <= int64(out[len(out)-1].Hi)+1 {
			return nil, fmt.Errorf("%w: %.40q", errRanges, part)
		}
		out = append(out, r)
	}
	if out.String() != text {
		return nil, fmt.Errorf("%w: not %.40q", errRanges, text)
	}
	return out, nil
}
