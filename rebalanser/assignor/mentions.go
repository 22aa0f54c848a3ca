package assignor

import "slices"

// mentions are the subscriptions that mention a name in full, of each name.
type mentions struct {
	first []int32 // of each name: the place of its first subscription; nil: there are none
	subs  []int32
}

// newMentions finds the sorted names that are patterns of subscriptions.
func newMentions(names []string, subs []subscription) *mentions {
	total := 0
	for s := range subs {
		for _, p := range subs[s].patterns {
			if literalPrefix(p) < 0 {
				total++
			}
		}
	}
	if total == 0 {
		return &mentions{}
	}
	find := func(p string) int32 {
		if j, found := slices.BinarySearch(names, p); found {
			return int32(j)
		}
		return -1
	}
	if total > len(names)/16 {
		find = indexOf(names).find
	}
	type mention struct{ name, sub int32 }
	found := make([]mention, 0, total)
	m := &mentions{first: make([]int32, len(names)+1)}
	for s := range subs {
		for _, p := range subs[s].patterns {
			if literalPrefix(p) >= 0 {
				continue
			}
			if j := find(p); j >= 0 {
				found = append(found, mention{j, int32(s)})
				m.first[j]++
			}
		}
	}
	place := int32(0)
	for j, n := range m.first {
		m.first[j] = place
		place += n
	}
	m.subs = make([]int32, len(found))
	next := slices.Clone(m.first)
	for _, x := range found {
		m.subs[next[x.name]] = x.sub
		next[x.name]++
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
