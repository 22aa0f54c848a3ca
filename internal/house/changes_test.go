package house

import "strings"

func changesExamples() []example {
	list := func(n int) string { return strings.Repeat("- entry\n", n) }
	return []example{
		{"few entries in each section", files{
			"CHANGELOG.md": "# Changes\n\n## 1.0\n\n### A\n\n" + list(maxChanges) + "\n### B\n\n" + list(maxChanges),
			"docs/a.md":    "# List\n\n" + list(2*maxChanges),
		}, nil},
		{"a long section", files{"CHANGELOG.md": "# Changes\n\n### A\n\n" + list(maxChanges+1) + "\n### B\n\n" + list(1)}, []string{"CHANGELOG.md:3: 21 entries in this section, at most 20"}},
		{"a long section at the end", files{"CHANGELOG.md": "### A\n\n" + list(maxChanges+2)}, []string{"CHANGELOG.md:1: 22 entries"}},
	}
}
