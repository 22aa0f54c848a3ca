package house

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// listing makes both documents with a planned row for every id; rows in replaced
// take the places of those of their ids.
func listing(replaced map[string]string) files {
	out := files{}
	for _, doc := range []string{requirementsDoc, museumDoc} {
		text := "# Title\n\n| id | what | status | where | test |\n|---|---|---|---|---|\n"
		for _, id := range requiredIDs(doc) {
			line, ok := replaced[id]
			if !ok {
				line = "| " + id + " | x | planned | `lock` | |\n"
			}
			text += line
		}
		out[doc] = text + replaced[doc]
	}
	return out
}

// with adds files to a listing.
func (f files) with(p, text string) files {
	f[p] = text
	return f
}

func requirementExamples() []example {
	done := map[string]string{"N18": "| N18 | queue | done | `lock/mutex.go`, lock | `lock/a_test.go` |\n"}
	code := func(f files) files { return f.with("lock/mutex.go", "package lock\n") }
	test := func(comment string) string { return "package lock\n\n" + comment }
	return []example{
		{"all planned", listing(nil), nil},
		{"done, named in a comment", code(listing(done)).with("lock/a_test.go", test("// N18: the order is the queue's.\nfunc TestOrder() {}\n")), nil},
		{"done, named in a test's name", code(listing(done)).with("lock/a_test.go", test("func TestOrder_N18() {}\n")), nil},
		{"done, named in a string", code(listing(done)).with("lock/a_test.go", test("func TestOrder() { run(\"N18 order\") }\n")), nil},
		{"not ours", listing(map[string]string{
			"CL3": "| CL3 | queue | not ours | there is no queue here | |\n",
			"N31": "| N31 | no quorum read | stays so | ZooKeeper has none | |\n",
		}), nil},
		{"done, but no test names it", code(listing(done)).with("lock/a_test.go", test("// N180 and XN18 are others.\nfunc N18x(N18 int) {}\n")), []string{
			"N18: is done, but lock/a_test.go does not mention it",
		}},
		{"done, but only the code names it", listing(done).with("lock/mutex.go", "// N18\npackage lock\n"), []string{"N18: is done, but lock/a_test.go does not mention it"}},
		{"done in a file that is gone", listing(done).with("lock/a_test.go", test("// N18\n")), []string{
			"N18: is done in lock/mutex.go, which does not exist",
		}},
		{"done, but another test names it", code(listing(done)).with("lock/a_test.go", test("")).with("lock/b_test.go", test("// N18\n")), []string{
			"N18: is done, but lock/a_test.go does not mention it",
		}},
		{"done, and one of two named tests does not name it", code(listing(map[string]string{"N18": "| N18 | queue | done | lock | `lock/a_test.go`, `lock/b_test.go` |\n"})).
			with("lock/a_test.go", test("// N18\n")), []string{"N18: is done, but lock/b_test.go does not mention it"}},
		{"done differently", code(listing(map[string]string{"N18": "| N18 | queue | done differently | `lock`: watches the holder, which is cheaper | lock/a_test.go |\n"})).
			with("lock/a_test.go", test("// N18\n")), nil},
		{"done differently without a reason, elsewhere and untested", code(listing(map[string]string{"N18": "| N18 | queue | done differently | `queue`: | lock/a_test.go |\n"})), []string{
			"does not say why", "is done in queue, which", "lock/a_test.go does not mention it",
		}},
		{"done without a place", code(listing(map[string]string{"N18": "| N18 | queue | done | | |\n"})).with("lock/a_test.go", test("// N18\n")), []string{
			"does not say where, or which test",
		}},
		{"no row", listing(map[string]string{"R7": "", "PD11": ""}), []string{"R7: has no row", "docs/project/museum.md: PD11: has no row"}},
		{"two rows", listing(map[string]string{requirementsDoc: "| R7 | x | planned | lock | |\n"}), []string{"R7: is listed twice"}},
		{"an unassigned id", listing(map[string]string{museumDoc: "| CH13 | x | planned | lock | |\n"}), []string{"CH13: is not an id"}},
		{"an id of the other document", listing(map[string]string{museumDoc: "| R1 | x | planned | lock | |\n"}), []string{"R1: is not an id"}},
		{"a status that says nothing", listing(map[string]string{"R7": "| R7 | x | soon | lock | |\n"}), []string{`R7: has status "soon"`}},
		{"planned for nowhere", listing(map[string]string{"R7": "| R7 | x | planned | queue | |\n"}), []string{`R7: is planned for "queue"`}},
		{"not ours, and no reason", listing(map[string]string{"CL3": "| CL3 | x | not ours | | |\n"}), []string{"CL3: does not say why"}},
		{"cells missing", listing(map[string]string{"R7": "| R7 | x |\n"}), []string{`R7: has status ""`}},
	}
}

func TestAnEmptyProjectLacksAllRequirements(t *testing.T) {
	found := Requirements(tree(t, nil))
	require.Len(t, found, len(requiredIDs(requirementsDoc))+len(requiredIDs(museumDoc)))
}

// The house's own tests are full of ids; they show nothing about recipes.
func TestMentionsInTheHouseDoNotCount(t *testing.T) {
	in := listing(map[string]string{"N18": "| N18 | queue | done | lock | lock/a_test.go |\n"}).
		with("lock/mutex.go", "package lock\n").
		with("internal/house/a_test.go", "package house\n\n// N18\n")
	found := Requirements(tree(t, in))
	require.Len(t, found, 1)
	require.Contains(t, found[0].String(), "lock/a_test.go does not mention it")
}

func TestSpreadWritesRangesOut(t *testing.T) {
	require.Equal(t, []string{"R1", "R2", "R3", "PD7", "X10", "X11"}, spread("R1-3 PD7 X10-11"))
	require.Empty(t, spread(""))
}

func TestRowsReadsTablesAndNothingElse(t *testing.T) {
	text := strings.Join([]string{
		"| id | what | status | where | test |",
		"|---|---|---|---|---|",
		"| R1 | a \\| b | done | `lock/a.go` | TestA |",
		"| CH12 | x | planned | lock |  |",
		"R2 | no table | done | lock | TestA |",
		"| R3x | no id | done | lock | TestA |",
		"| ABC1 | no id | done | lock | TestA |",
	}, "\n")
	require.Equal(t, []row{
		{line: 3, id: "R1", status: "done", where: "lock/a.go", test: "TestA"},
		{line: 4, id: "CH12", status: "planned", where: "lock"},
	}, rows(text))
}

func TestEveryIDIsRequiredOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, doc := range []string{requirementsDoc, museumDoc} {
		for _, id := range requiredIDs(doc) {
			require.True(t, rowID.MatchString(id), id)
			require.False(t, seen[id], id)
			seen[id] = true
		}
	}
	require.Empty(t, requiredIDs("docs/testing.md"))
}
