package assignor

import (
	"math/bits"
	"strings"
)

// matcher finds out which subscriptions match each of the sorted names, one name after the
// other. The states of the automaton behind the beginnings of a name are kept for the next
// name, which often begins with the same bytes.
type matcher struct {
	names []string
	exact *mentions // by patterns without metacharacters
	spans []span
	next  int     // the first span that has not begun
	plain []int32 // the spans not for the automaton that the name is in, the widest first

	a        *automaton
	specs    []*spec
	spanOf   []int32 // of each bit of the automaton
	states   []state // of each length of a beginning
	accepted []uint64
	easy     bool // the present name is
}

// newMatcher makes a matcher that tries the names of a pattern one by one if the names that
// begin like it are few or fewer.
func newMatcher(names []string, subs []subscription, few int) *matcher {
	spans, literals, of := spansOf(names, subs, few)
	m := &matcher{names: names, exact: newMentions(names, literals, of), spans: spans}
	var spanOf []int32 // of each spec
	for at := range m.spans {
		if x := &m.spans[at]; x.kind == automatic {
			m.specs = append(m.specs, parseSpec(x.pattern[x.prefix:]))
			spanOf = append(spanOf, int32(at))
		}
	}
	m.a = newAutomaton(m.specs)
	for bit, s := range m.a.slots {
		m.spans[spanOf[s]].bit = int32(bit)
		m.spanOf = append(m.spanOf, spanOf[s])
	}
	m.accepted = make([]uint64, (len(m.specs)+63)/64)
	return m
}

// match puts the subscriptions that match name j into a set. It must be called for each
// name, in order.
func (m *matcher) match(j int, set []uint64) {
	name := m.names[j]
	m.easy = easy(name)
	begun := m.next
	for m.next < len(m.spans) && int(m.spans[m.next].first) == j {
		m.next++
	}
	if len(m.specs) > 0 {
		m.run(j, m.spans[begun:m.next])
		m.putAccepted(name, set)
	}
	for len(m.plain) > 0 && int(m.spans[m.plain[len(m.plain)-1]].last) <= j {
		m.plain = m.plain[:len(m.plain)-1]
	}
	for at := begun; at < m.next; at++ {
		if m.spans[at].kind != automatic {
			m.plain = append(m.plain, int32(at))
		}
	}
	for _, at := range m.plain {
		if x := &m.spans[at]; x.matches(name, m.easy) {
			putAll(set, x.subs)
		}
	}
	putAll(set, m.exact.of(j))
}

// run runs the automaton over what name j does not have in common with the name before.
// begun are the spans whose first name this is: their prefixes are longer than that.
func (m *matcher) run(j int, begun []span) {
	name, known := m.names[j], 0
	for len(m.states) <= len(name) {
		m.states = append(m.states, state{words: make([]uint64, len(m.a.ends))})
	}
	if j > 0 {
		known = 1 + commonLength(m.names[j-1], name)
	}
	for n := known; n <= len(name); n++ {
		s := &m.states[n]
		if n > 0 {
			m.a.read(&m.states[n-1], s, name[n-1])
		}
		for len(begun) > 0 && begun[0].prefix == n {
			if begun[0].kind == automatic {
				s.beginSpec(begun[0].bit)
			}
			begun = begun[1:]
		}
	}
}

// putAccepted puts the subscriptions into a set whose specs match the name that was run,
// unless the specs match too much.
func (m *matcher) putAccepted(name string, set []uint64) {
	clear(m.accepted)
	m.a.matched(&m.states[len(name)], m.accepted)
	slash := !m.easy && strings.Contains(name, "/")
	for w, rest := range m.accepted {
		for ; rest != 0; rest &= rest - 1 {
			bit := w<<6 + bits.TrailingZeros64(rest)
			x := &m.spans[m.spanOf[bit]]
			sure := m.easy || !slash && m.specs[m.a.slots[bit]].exact
			if sure || matches(x.pattern, name) {
				putAll(set, x.subs)
			}
		}
	}
}

// commonLength is how many bytes two names begin with alike.
func commonLength(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// putAll puts all of list into a set.
func putAll(set []uint64, list []int32) {
	for _, i := range list {
		put(set, i)
	}
}
