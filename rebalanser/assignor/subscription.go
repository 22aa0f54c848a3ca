package assignor

import (
	"path"
	"slices"
	"strconv"
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
