package assignor

import "slices"

// mentions are the subscriptions that mention a name in full, of each name.
type mentions struct {
	first []int32 // of each name: the place of its first subscription; nil: there are none
	subs  []int32
}

// newMentions finds the sorted names that are patterns without metacharacters.
func newMentions(names []string, patterns []string, subs []int32) *mentions {
	if len(patterns) == 0 {
		return &mentions{}
	}
	found := make([]int32, len(patterns)) // the names, or -1
	if len(patterns) > len(names)/16 {
		indexOf(names).findAll(patterns, found)
	} else {
		for at, p := range patterns {
			j, is := slices.BinarySearch(names, p)
			if found[at] = int32(j); !is {
				found[at] = -1
			}
		}
	}
	m := &mentions{first: make([]int32, len(names)+1)}
	for _, j := range found {
		if j >= 0 {
			m.first[j]++
		}
	}
	place := int32(0)
	for j, n := range m.first {
		m.first[j] = place
		place += n
	}
	m.subs = make([]int32, place)
	next := slices.Clone(m.first)
	for at, j := range found {
		if j >= 0 {
			m.subs[next[j]] = subs[at]
			next[j]++
		}
	}
	return m
}

// of are the subscriptions that mention name j.
func (m *mentions) of(j int) []int32 {
	if m.first == nil {
		return nil
	}
	return m.subs[m.first[j]:m.first[j+1]]
}
