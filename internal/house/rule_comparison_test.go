package house

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// comparisonDoc has tables that compare the project with others: a feature, the answer
// for this project, the answers for the others, and the tests.
const (
	comparisonDoc   = "docs/comparison.md"
	comparedFeature = "feature" // the first word of these tables
)

// namedTest is a folder and a test in it.
var namedTest = regexp.MustCompile(`^[a-z0-9/]+ Test\w+$`) // read only

// Comparison: each row of the comparison has as many cells as the head of its table, and
// only known answers. Its last cell names existing tests, each with its folder, as in
// "lock TestOrder"; only a row whose answer for this project is "no" may have none.
func Comparison(t *Tree) []Finding {
	tests := t.testNames()
	var out []Finding
	var head []string
	for i, line := range strings.Split(t.text(comparisonDoc), "\n") {
		cells := cellsOf(line)
		switch {
		case len(cells) == 0:
			head = nil
			continue
		case cells[0] == comparedFeature:
			head = cells
			continue
		case head == nil || strings.HasPrefix(cells[0], "---"):
			continue
		}
		if len(cells) == len(head)-1 {
			cells = append(cells, "") // no tests
		}
		at := func(format string, args ...any) {
			out = append(out, Finding{Path: comparisonDoc, Line: i + 1, Text: cells[0] + ": " + fmt.Sprintf(format, args...)})
		}
		if len(cells) != len(head) {
			at("has %d cells instead of %d", len(cells), len(head))
			continue
		}
		checkComparison(cells[1:len(cells)-1], cells[len(cells)-1], tests, at)
	}
	return out
}

func checkComparison(answers []string, named string, tests map[string]bool, report func(string, ...any)) {
	for _, answer := range answers {
		first, _, _ := strings.Cut(answer, ":")
		if !slices.Contains([]string{"yes", "better", "partly", "no", "?", "-"}, first) {
			report("%q is not an answer", answer)
		}
	}
	if ours, _, _ := strings.Cut(answers[0], ":"); named == "" {
		if ours != "no" {
			report("has no test")
		}
		return
	}
	for _, name := range strings.Split(strings.ReplaceAll(named, "`", ""), ",") {
		switch name = strings.TrimSpace(name); {
		case !namedTest.MatchString(name):
			report("%q is not a folder and a test", name)
		case !tests[name]:
			report("the test %q does not exist", name)
		}
	}
}

// testNames returns the tests of the project, each with its folder.
func (t *Tree) testNames() map[string]bool {
	out := map[string]bool{}
	t.code(func(f *File) {
		if !f.Test() {
			return
		}
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				out[f.Dir()+" "+fn.Name.Name] = true
			}
		}
	})
	return out
}
