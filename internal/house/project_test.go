package house

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// project is the tree of this package, loaded once.
func project(t *testing.T) *Tree {
	t.Helper()
	tree, err := loadProject()
	require.NoError(t, err)
	return tree
}

var loadProject = sync.OnceValues(func() (*Tree, error) {
	dir, err := os.Getwd()
	for err == nil {
		mod, failed := os.ReadFile(filepath.Join(dir, "go.mod"))
		if failed == nil && strings.Contains(string(mod), "module github.com/zkrecipes/zkrecipes\n") {
			return Load(os.DirFS(dir))
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		err = errors.New("the tests run outside of the project")
	}
	return nil, err
}) // read only

func TestTheProjectKeepsTheRulesOfTheHouse(t *testing.T) {
	tree := project(t)
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			for _, f := range rule.Check(tree) {
				t.Error(f)
			}
		})
	}
}

// An empty walk would pass every rule.
func TestTheWalkSeesTheWholeProject(t *testing.T) {
	tree := project(t)
	seen := map[string]bool{}
	code, tests := 0, 0
	for _, f := range tree.Files {
		seen[f.Path] = true
		switch {
		case f.Test():
			tests++
		case f.Syntax != nil:
			code++
		}
	}
	for _, want := range []string{"go.mod", "README.md", "session/client.go", "internal/house/doc.go", "internal/house/project_test.go"} {
		require.True(t, seen[want], "the walk misses %s", want)
	}
	require.Greater(t, code, 50)
	require.Greater(t, tests, 10)
}

// Rows missed by the reader of tables would never be checked. The test also reports
// planned rows already named by tests: such a row may be done, or the test may
// belong to another package than the row.
func TestEveryRowOfTheDocumentsIsRead(t *testing.T) {
	tree := project(t)
	mentioned := tree.mentions()
	counts := map[string]int{}
	read := 0
	for _, doc := range []string{requirementsDoc, museumDoc} {
		for _, r := range rows(tree.text(doc)) {
			read++
			counts[r.status]++
			if files := mentioned[r.id]; r.status == statusPlanned && len(files) > 0 {
				t.Logf("%s:%d: %s is planned for %s, and named in %s", doc, r.line, r.id, r.where, strings.Join(files, ", "))
			}
		}
	}
	t.Logf("rows by status: %v", counts)
	require.Equal(t, len(requiredIDs(requirementsDoc))+len(requiredIDs(museumDoc)), read)
}

// TestArchitectureNamesTheExamples requires all examples.
func TestArchitectureNamesTheExamples(t *testing.T) {
	tree := project(t)
	text, n := tree.text("docs/project/architecture.md"), 0
	for _, f := range tree.Files {
		if folder, ok := strings.CutPrefix(f.Dir(), "examples/"); ok && filepath.Base(f.Path) == "main.go" {
			n++
			require.Contains(t, text, "["+folder+"](../../"+f.Dir()+")")
		}
	}
	require.Positive(t, n)
}

// TestDocsIndexLinksEveryPage: readers find no page outside the index.
func TestDocsIndexLinksEveryPage(t *testing.T) {
	tree := project(t)
	text, n := tree.text("docs/README.md"), 0
	for _, f := range tree.Files {
		if page, ok := strings.CutPrefix(f.Path, "docs/"); ok && filepath.Ext(page) == ".md" && page != "README.md" {
			n++
			require.Contains(t, text, "]("+page+")")
		}
	}
	require.Positive(t, n)
}
