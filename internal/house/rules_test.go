package house

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// files are the small trees for trying rules: text by path.
type files map[string]string

// example is a tree and the expected findings of the rule: pieces of the findings,
// in order, and nothing for a good example.
type example struct {
	name  string
	files files
	want  []string
}

// tree loads an example's files, with a go.mod beside them.
func tree(t *testing.T, in files) *Tree {
	t.Helper()
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module example.org/m\n\ngo 1.26\n")}}
	for p, text := range in {
		fsys[p] = &fstest.MapFile{Data: []byte(text)}
	}
	out, err := Load(fsys)
	require.NoError(t, err)
	return out
}

// examples has good and bad trees for each rule, by the rule's name.
func examples() map[string][]example {
	return map[string][]example{
		"arrows between folders":          arrowExamples(),
		"imports from elsewhere":          thirdPartyExamples(),
		"length of files and functions":   lengthExamples(),
		"names of files":                  fileNameExamples(),
		"documentation of exported names": exportedExamples(),
		"number of exported names":        countExamples(),
		"package documentation":           packageDocExamples(),
		"contexts of holds":               contextDocExamples(),
		"comments of goroutines":          goroutineExamples(),
		"calls":                           callExamples(),
		"sleep":                           sleepExamples(),
		"skipped tests":                   skipExamples(),
		"package state":                   stateExamples(),
		"mutexes":                         mutexExamples(),
		"context comes first":             contextExamples(),
		"layout constants":                layoutExamples(),
		"formats of records":              formatExamples(),
		"unfinished marks":                unfinishedExamples(),
		"requirements":                    requirementExamples(),
		"comparison with others":          comparisonExamples(),
		"documents":                       documentExamples(),
		"changes":                         changesExamples(),
		"direct calls of a session":       sessionExamples(),
		"language":                        languageExamples(),
	}
}

func TestEachRulePassesGoodTreesAndFindsWhatIsWrongInBadOnes(t *testing.T) {
	all := examples()
	for _, rule := range Rules() {
		good, bad := 0, 0
		for _, ex := range all[rule.Name] {
			t.Run(rule.Name+"/"+ex.name, func(t *testing.T) {
				found := rule.Check(tree(t, ex.files))
				require.Len(t, found, len(ex.want), "%v", found)
				for i, want := range ex.want {
					require.Contains(t, found[i].String(), want)
				}
			})
			if len(ex.want) > 0 {
				bad++
			} else {
				good++
			}
		}
		require.Positive(t, bad, "rule %q has no bad example: the rule may be unable to fail", rule.Name)
		require.Positive(t, good, "rule %q has no good example: the rule may forbid everything", rule.Name)
		delete(all, rule.Name)
	}
	require.Empty(t, slices.Collect(maps.Keys(all)), "examples of unknown rules")
}

func TestEveryRuleHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range Rules() {
		require.NotEmpty(t, rule.Name)
		require.False(t, seen[rule.Name], rule.Name)
		seen[rule.Name] = true
	}
}

func TestEveryRuleAcceptsTheEmptyTree(t *testing.T) {
	empty := tree(t, nil)
	for _, rule := range Rules() {
		if rule.Name == "requirements" {
			continue // the requirements must be listed even before there is code
		}
		require.Empty(t, rule.Check(empty), rule.Name)
	}
}

// lines is n lines of comment.
func lines(n int) string { return strings.Repeat("// x\n", n) }
