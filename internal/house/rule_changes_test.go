package house

import (
	"fmt"
	"strings"
)

// maxChanges is the number of entries that a reader of a section of the changes reads.
const maxChanges = 20

// Changes: a section of CHANGELOG.md has few entries, so that users find what concerns them.
// The file is merged by union, which brings back entries that one branch has put together
// while another has added one.
func Changes(t *Tree) (out []Finding) {
	const path = "CHANGELOG.md"
	section, entries := Finding{Path: path}, 0
	end := func() {
		if entries > maxChanges {
			section.Text = fmt.Sprintf("%d entries in this section, at most %d: put entries of one package together, and delete what a merge has brought back", entries, maxChanges)
			out = append(out, section)
		}
	}
	for i, line := range strings.Split(t.text(path), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
			end()
			section.Line, entries = i+1, 0
		case strings.HasPrefix(line, "- "):
			entries++
		}
	}
	end()
	return out
}
