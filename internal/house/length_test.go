package house

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// function is a function of n lines.
func function(name string, n int) string {
	return "func " + name + "() {\n" + strings.Repeat("\tprintln()\n", n-2) + "}\n"
}

func lengthExamples() []example {
	return []example{
		{"just below", files{
			"lock/a.go": "package lock\n" + lines(298),
			"lock/b.go": "package lock\n" + function("f", 69),
		}, nil},
		{"tests may be longer", files{
			"lock/a_test.go": "package lock\n" + lines(900) + function("f", 200),
		}, nil},
		{"a long file", files{"lock/a.go": "package lock\n" + lines(299)}, []string{
			"lock/a.go: 300 lines; stay below 300",
		}},
		{"a long function", files{"lock/a.go": "package lock\n\n" + function("f", 70)}, []string{
			"lock/a.go:3: f has 70 lines; stay below 70",
		}},
		{"a long method", files{"lock/a.go": "package lock\n\ntype T int\n\n" +
			strings.Replace(function("f", 71), "func f", "func (T) f", 1)}, []string{
			"f has 71 lines",
		}},
		{"a long literal inside", files{"lock/a.go": "package lock\n\nfunc f() func() {\n\treturn " +
			strings.Replace(function("", 80), "func ", "func", 1) + "}\n"}, []string{"f has 82 lines"}},
	}
}

func TestTheCommentAboveAFunctionDoesNotCount(t *testing.T) {
	in := files{"lock/a.go": "package lock\n\n" + lines(60) + function("f", 60)}
	require.Empty(t, Lengths(tree(t, in)))
}

func fileNameExamples() []example {
	return []example{
		{"nouns", files{
			"lock/mutex.go":      "package lock\n",
			"lock/mutex_test.go": "package lock\n",
			"docs/util.md":       "not Go\n",
			"lock/utility.go":    "package lock\n",
		}, nil},
		{"heaps", files{
			"lock/common.go":       "package lock\n",
			"lock/helpers_test.go": "package lock\n",
			"lock/types.go":        "package lock\n",
			"lock/util.go":         "package lock\n",
		}, []string{"lock/common.go", "lock/helpers_test.go", "lock/types.go", "lock/util.go"}},
	}
}
