package assignor

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"
)

// span is a pattern, and the names that begin with its literal prefix, which are neighbors
// in the sorted list. No two spans have the same pattern, and of any two spans one contains
// the other, or they have nothing in common.
type span struct {
	pattern     string
	prefix      int // its length
	first, last int32
	subs        []int32 // the subscriptions with the pattern
	kind        spanKind
	glob        *glob // of a tried pattern; nil: path.Match
	bit         int32 // of the automaton
}

// spanKind says how a span's names are matched with its pattern.
type spanKind uint8

const (
	matchesAll spanKind = iota // by the prefix alone
	tried                      // each by itself: they are few
	automatic                  // by an automaton, with other spans
)

// spansOf returns the spans of the patterns with metacharacters of subscriptions, except of
// patterns that match nothing. The names of a span are tried if they are few or fewer. The
// other patterns of the subscriptions are literals: each with the subscription that it is of.
func spansOf(names []string, subs []subscription, few int) (spans []span, literals []string, of []int32) {
	number := map[string]int{} // of each pattern: its span, or -1
	for s := range subs {
		for _, p := range subs[s].patterns {
			prefix := literalPrefix(p)
			if prefix < 0 {
				literals, of = append(literals, p), append(of, int32(s))
				continue
			}
			at, known := number[p]
			if !known {
				x := span{pattern: p, prefix: prefix}
				x.locate(names, few)
				if at = -1; x.first < x.last {
					at = len(spans)
					spans = append(spans, x)
				}
				number[p] = at
			}
			if at >= 0 {
				spans[at].subs = append(spans[at].subs, int32(s))
			}
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.prefix, b.prefix))
	})
	return spans, literals, of
}

// literalPrefix is the number of bytes before the first metacharacter, or -1 without one.
func literalPrefix(pattern string) int {
	for i := range len(pattern) {
		switch pattern[i] {
		case '*', '?', '[', '\\':
			return i
		}
	}
	return -1
}

// locate finds the names of a span, and says how to match them. A malformed pattern has no
// names.
func (x *span) locate(names []string, few int) {
	if _, err := path.Match(x.pattern, ""); err != nil {
		return
	}
	prefix := x.pattern[:x.prefix]
	first, _ := slices.BinarySearch(names, prefix)
	many := sort.Search(len(names)-first, func(j int) bool { return !strings.HasPrefix(names[first+j], prefix) })
	x.first, x.last = int32(first), int32(first+many)
	switch {
	case x.pattern[x.prefix:] == "*":
		x.kind = matchesAll
	case many <= few:
		x.kind = tried
		x.glob = compile(x.pattern[x.prefix:])
	default:
		x.kind = automatic
	}
}

// matches reports whether a name of the span, which may be easy, matches the pattern.
func (x *span) matches(name string, isEasy bool) bool {
	rest := name[x.prefix:]
	switch {
	case x.kind == matchesAll:
		return isEasy || !strings.Contains(rest, "/")
	case x.glob != nil && isEasy:
		return x.glob.match(rest)
	}
	return matches(x.pattern, name)
}
