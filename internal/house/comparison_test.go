package house

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func comparisonExamples() []example {
	const head = "| feature | ours | other | tests |\n|---|---|---|---|\n"
	doc := func(rows string) files {
		return files{
			comparisonDoc:           "| answer | means |\n|---|---|\n| maybe | x |\n\n" + head + rows + "\n| word | x | y | z |\n",
			"lock/a_test.go":        "package lock\n\nfunc TestOrder() {}\n\nfunc (x T) TestMethod() {}\n",
			"lock/deep/b_test.go":   "package deep\n\nfunc TestDeep_N1() {}\n",
			"lock/not_a_test.go.go": "package lock\n\nfunc TestCode() {}\n",
		}
	}
	return []example{
		{"complete", doc("| order | yes | no: in no order | `lock TestOrder`, `lock/deep TestDeep_N1` |\n" +
			"| speed | no: slow | better | |\n| a \\| b | partly: a | ? | `lock TestOrder` |\n| off | no | - | lock TestOrder |\n"), nil},
		{"no test", doc("| order | yes | no | |\n| part | partly: x | no | |\n"), []string{
			comparisonDoc + ":7: order: has no test", "part: has no test",
		}},
		{"tests that do not exist", doc("| order | yes | no | `lock TestOther`, `deep TestDeep_N1` |\n| code | yes | no | `lock TestMethod`, `lock TestCode` |\n"), []string{
			`order: the test "lock TestOther" does not exist`, `order: the test "deep TestDeep_N1"`, `code: the test "lock TestMethod"`, `code: the test "lock TestCode"`,
		}},
		{"a test of a row without the feature", doc("| order | no | no | `lock TestOther` |\n"), []string{`the test "lock TestOther" does not exist`}},
		{"unknown answers", doc("| order | yes | perhaps: x | `lock TestOrder` |\n| speed | fast | yess | `lock TestOrder` |\n"), []string{
			`order: "perhaps: x" is not an answer`, `speed: "fast" is not`, `speed: "yess" is not`,
		}},
		{"cells", doc("| order | yes | no | no | `lock TestOrder` |\n| speed | yes |\n"), []string{
			"order: has 5 cells instead of 4", "speed: has 2 cells instead of 4",
		}},
		{"no names", doc("| order | yes | no | see lock |\n| x | yes | no | TestOrder |\n"), []string{
			`"see lock" is not a folder and a test`, `"TestOrder" is not a folder and a test`,
		}},
	}
}

// A reader of tables that misses the rows would find nothing wrong in them.
func TestComparisonIsRead(t *testing.T) {
	tree := project(t)
	const row = "| `lock TestStressOnApache` |"
	require.Contains(t, tree.text(comparisonDoc), row)
	changed := &Tree{Module: tree.Module, Files: slices.Clone(tree.Files)} // tree is for all tests
	for i, f := range changed.Files {
		if f.Path == comparisonDoc {
			wrong := *f
			wrong.Text = strings.ReplaceAll(f.Text, row, "| `lock TestNothing` |")
			changed.Files[i] = &wrong
		}
	}
	found := Comparison(changed)
	require.Len(t, found, 1)
	require.Contains(t, found[0].Text, `one holder at a time: the test "lock TestNothing" does not exist`)
}
