package assignor

import (
	"path"
	"strings"
)

// glob is a compiled pattern. It matches a million names many times faster than
// path.Match, which parses the pattern for each name. It supports only easy names and
// ASCII patterns, so every element except a star matches one byte, and a star matches any
// number of bytes.
type glob struct {
	chunks []chunk // with a star between each two
}

// easy reports whether a name is of ASCII, without a slash.
func easy(name string) bool {
	for i := range len(name) {
		if b := name[i]; b >= 0x80 || b == '/' {
			return false
		}
	}
	return true
}

// chunk is a piece without stars: a set of bytes for each byte of a name.
type chunk struct {
	sets    [][2]uint64
	literal string // if it has nothing but single bytes
	plain   bool
}

// compile returns nil for a pattern that is malformed, or not in ASCII.
func compile(pattern string) *glob {
	g := &glob{chunks: []chunk{{plain: true}}}
	for rest := pattern; rest != ""; {
		last := &g.chunks[len(g.chunks)-1]
		n := 1
		switch b := rest[0]; {
		case b == '*':
			g.chunks = append(g.chunks, chunk{plain: true})
		case b >= 0x80:
			return nil
		case b == '?' || b == '[' || b == '\\':
			if n = element(rest); n < 0 {
				return nil
			}
			set, ok := probe(rest[:n])
			if !ok {
				return nil
			}
			last.sets = append(last.sets, set)
			last.plain = false
		default:
			var set [2]uint64
			put(set[:], int32(b))
			last.sets = append(last.sets, set)
			last.literal += rest[:1]
		}
		rest = rest[n:]
	}
	return g
}

// element returns the length of the pattern's first element that stands for one byte,
// or -1.
func element(pattern string) int {
	switch pattern[0] {
	case '?':
		return 1
	case '\\':
		if len(pattern) < 2 || pattern[1] >= 0x80 {
			return -1
		}
		return 2
	}
	for n := 1; n < len(pattern); n++ {
		switch b := pattern[n]; {
		case b >= 0x80:
			return -1
		case b == '\\':
			n++
		case b == ']':
			return n + 1
		}
	}
	return -1
}

// probe asks path.Match which bytes an element stands for.
func probe(element string) (set [2]uint64, ok bool) {
	for b := range rune(0x80) {
		matched, err := path.Match(element, string(b))
		if err != nil {
			return set, false
		}
		if matched {
			put(set[:], b)
		}
	}
	return set, true
}

// match is path.Match for a name that is easy.
func (g *glob) match(name string) bool {
	first, last := &g.chunks[0], &g.chunks[len(g.chunks)-1]
	if !first.begins(name) {
		return false
	}
	name = name[len(first.sets):]
	if first == last {
		return name == ""
	}
	for i := 1; i < len(g.chunks)-1; i++ {
		at := g.chunks[i].find(name)
		if at < 0 {
			return false
		}
		name = name[at+len(g.chunks[i].sets):]
	}
	at := len(name) - len(last.sets)
	return at >= 0 && last.begins(name[at:])
}

// begins reports whether a name begins with a match of the chunk.
func (c *chunk) begins(name string) bool {
	if len(name) < len(c.sets) {
		return false
	}
	if c.plain {
		return name[:len(c.literal)] == c.literal
	}
	for i := range c.sets {
		if !has(c.sets[i][:], int32(name[i])) {
			return false
		}
	}
	return true
}

// find returns the first place where the chunk fits, or -1.
func (c *chunk) find(name string) int {
	if c.plain {
		return strings.Index(name, c.literal)
	}
	for at := 0; at+len(c.sets) <= len(name); at++ {
		if c.begins(name[at:]) {
			return at
		}
	}
	return -1
}
