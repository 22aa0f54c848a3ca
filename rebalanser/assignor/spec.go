package assignor

import "unicode/utf8"

// spec is a pattern, parsed into elements that stand for one byte each, so that an
// [automaton] can read a name byte by byte.
//
// For names in ASCII without a slash, a spec matches exactly the names that the pattern
// matches. For other names a spec may match more than path.Match, never less: an element
// that stands for a character beyond ASCII matches any number of bytes beyond ASCII, and a
// star matches slashes. If exact is true, only a slash makes a difference.
type spec struct {
	elements []byteSet
	stars    []bool // before each element, and behind the last one
	wide     []bool // of each element: it stands for characters beyond ASCII
	exact    bool
}

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) addRange(low, high rune) {
	for b := low; b <= high && b <= 0xff; b++ {
		put(s[:], b)
	}
}

// parseSpec parses a pattern that is not malformed.
func parseSpec(pattern string) *spec {
	s := &spec{stars: []bool{false}, exact: true}
	for at := 0; at < len(pattern); {
		var set byteSet
		wide := false
		switch b := pattern[at]; b {
		case '*':
			s.stars[len(s.elements)] = true
			at++
			continue
		case '?':
			set.addRange(0, 0xff)
			wide = true
			at++
		case '[':
			set, wide, at = parseClass(pattern, at+1)
		case '\\':
			put(set[:], int32(pattern[at+1]))
			at += 2
		default:
			put(set[:], int32(b))
			at++
		}
		s.elements = append(s.elements, set)
		s.stars = append(s.stars, false)
		s.wide = append(s.wide, wide)
		s.exact = s.exact && !wide
	}
	return s
}

// parseClass parses the class of characters that begins at a place behind its bracket, and
// returns the place behind the class.
func parseClass(pattern string, at int) (set byteSet, wide bool, behind int) {
	not := pattern[at] == '^'
	if not {
		at++
	}
	char := func() rune {
		if pattern[at] == '\\' {
			at++
		}
		r, n := utf8.DecodeRuneInString(pattern[at:])
		at += n
		return r
	}
	for pattern[at] != ']' {
		low := char()
		high := low
		if pattern[at] == '-' {
			at++
			high = char()
		}
		set.addRange(low, min(high, 0x7f))
		wide = wide || high > 0x7f
	}
	if not {
		for w := range set {
			set[w] = ^set[w]
		}
	}
	if wide = wide || not; wide {
		set.addRange(0x80, 0xff)
	}
	return set, wide, at + 1
}
