package assignor

import (
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// subscription is the common subscription of members that take the same resources.
type subscription struct {
	patterns []string // sorted, each once; none: all
	members  []int32  // by number
}

// subscriptions groups the members, numbered by order, by what they subscribe
// to. The first one is that to everything.
func subscriptions(members []Member, order []int32) []subscription {
	out := []subscription{{}}
	number := map[string]int{}
	var key []byte
	for i, at := range order {
		if len(members[at].Subscription) == 0 {
			out[0].members = append(out[0].members, int32(i))
			continue
		}
		patterns := slices.Clone(members[at].Subscription)
		slices.Sort(patterns)
		patterns = slices.Compact(patterns)
		key = key[:0]
		for _, p := range patterns {
			key = append(strconv.AppendInt(key, int64(len(p)), 10), ' ')
			key = append(key, p...)
		}
		s, ok := number[string(key)]
		if !ok {
			s = len(out)
			number[string(key)] = s
			out = append(out, subscription{patterns: patterns})
		}
		out[s].members = append(out[s].members, int32(i))
	}
	return out
}

// listing is sorted names, each once, to be looked through.
type listing struct {
	names []string
	easy  bool // all of them: see glob
}

func newListing(names []string) *listing {
	for _, name := range names {
		if !easy(name) {
			return &listing{names: names}
		}
	}
	return &listing{names: names, easy: true}
}

// match sets a bit of takes for each name that a subscription matches.
func (l *listing) match(s *subscription, takes []uint64, bit uint64) {
	for _, p := range s.patterns {
		l.matchOne(p, takes, bit)
	}
}

// matchOne does so for one pattern. It tries only names with the literal prefix of
// the pattern.
func (l *listing) matchOne(pattern string, takes []uint64, bit uint64) {
	literal := strings.IndexAny(pattern, `*?[\`)
	if literal < 0 {
		if j, found := slices.BinarySearch(l.names, pattern); found {
			takes[j] |= bit
		}
		return
	}
	prefix, rest := pattern[:literal], pattern[literal:]
	first, _ := slices.BinarySearch(l.names, prefix)
	last := first + sort.Search(len(l.names)-first, func(j int) bool { return !strings.HasPrefix(l.names[first+j], prefix) })
	g := compile(rest)
	for j := first; j < last; j++ {
		name := l.names[j][literal:]
		if g != nil && (l.easy || easy(name)) {
			if g.match(name) {
				takes[j] |= bit
			}
		} else if matches(rest, name) {
			takes[j] |= bit
		}
	}
}

// matches is path.Match, where a malformed pattern matches nothing.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// takes reports whether a member takes a resource of that name.
func (m *Member) takes(name string) bool {
	return len(m.Subscription) == 0 ||
		slices.ContainsFunc(m.Subscription, func(p string) bool { return matches(p, name) })
}
