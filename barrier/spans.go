package barrier

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// spans is a set of numbers of znodes: ranges in ascending order that neither
// touch nor overlap. Parties that come and go together have numbers in a row,
// so that a set of many is short: "0-31999" is a thousand rounds of 32.
type spans []span

// span is the numbers from lo to hi, both included.
type span struct{ lo, hi int32 }

func (s span) count() int64 { return int64(s.hi) - int64(s.lo) + 1 }

// count is how many numbers there are.
func (s spans) count() (n int64) {
	for _, r := range s {
		n += r.count()
	}
	return n
}

// contains reports whether n is one of the numbers.
func (s spans) contains(n int32) bool {
	for i := len(s) - 1; i >= 0; i-- {
		if n >= s[i].lo {
			return n <= s[i].hi
		}
	}
	return false
}

// above is how many of the numbers are greater than n.
func (s spans) above(n int32) (k int64) {
	for i := len(s) - 1; i >= 0 && s[i].hi > n; i-- {
		k += int64(s[i].hi) - max(int64(n), int64(s[i].lo)-1)
	}
	return k
}

// add returns the set with n, which is greater than all of s.
func (s spans) add(n int32) spans {
	if len(s) > 0 && s[len(s)-1].hi == n-1 {
		s[len(s)-1].hi = n
		return s
	}
	return append(s, span{n, n})
}

// slice is the numbers but for the skip greatest: the k greatest of these.
func (s spans) slice(skip, k int64) (out spans) {
	for i := len(s) - 1; i >= 0 && k > 0; i-- {
		r := s[i]
		dropped := min(skip, r.count())
		skip -= dropped
		taken := min(k, r.count()-dropped)
		k -= taken
		if hi := int64(r.hi) - dropped; taken > 0 {
			out = append(spans{{int32(hi - taken + 1), int32(hi)}}, out...)
		}
	}
	return out
}

func (s spans) String() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = strconv.Itoa(int(r.lo))
		if r.hi > r.lo {
			parts[i] += "-" + strconv.Itoa(int(r.hi))
		}
	}
	return strings.Join(parts, ",")
}

var errSpans = errors.New("ranges of numbers must look like 0-4,7,9-12")

// parseSpans reads what String writes, and nothing else.
func parseSpans(text string) (spans, error) {
	if text == "" {
		return nil, nil
	}
	var out spans
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		lo, err := strconv.ParseInt(first, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSpans, err)
		}
		hi, err := strconv.ParseInt(last, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSpans, err)
		}
		r := span{int32(lo), int32(hi)}
		if lo < 0 || hi < lo || len(out) > 0 && lo <= int64(out[len(out)-1].hi)+1 {
			return nil, fmt.Errorf("%w: %.40q", errSpans, part)
		}
		out = append(out, r)
	}
	if out.String() != text {
		return nil, fmt.Errorf("%w: not %.40q", errSpans, text)
	}
	return out, nil
}
