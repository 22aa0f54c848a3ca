package house

import (
	"cmp"
	"go/ast"
	"go/parser"
	"path"
	"slices"
	"strings"
)

// toolFolder is the folder of the commands of the tool.
const toolFolder = "cmd/zkr"

// sharedByCommands are the files of the tool that several families of commands use. All
// other files belong to the family named by the first word of their name.
func sharedByCommands() []string {
	return []string{"main", "commands", "registration", "list_diff", "discovered", "foreign", "candidate", "listen"}
}

// familyOf returns the family that a file of the tool belongs to; "" for a shared file.
func familyOf(file string) string {
	name := strings.TrimSuffix(path.Base(file), ".go")
	for _, system := range []string{"_unix", "_linux", "_windows", "_other"} {
		name = strings.TrimSuffix(name, system)
	}
	if slices.Contains(sharedByCommands(), name) {
		return ""
	}
	family, _, _ := strings.Cut(name, "_")
	return family
}

// Families: each family of commands can be read by itself. Its files use no name that a
// file of another family declares, and shared files use no name of a family, apart from
// the list of the commands in commands.go.
func Families(t *Tree) []Finding {
	declared := map[string]string{} // name -> the file of its declaration
	parsed := map[*File]*ast.File{}
	t.code(func(f *File) {
		if f.Dir() != toolFolder || f.Test() {
			return
		}
		// With the resolution of objects: the tree's own parsing leaves it out.
		syntax, err := parser.ParseFile(f.fset, f.Path, f.Text, 0)
		if err != nil {
			return // Load has refused such a file
		}
		parsed[f] = syntax
		for name := range syntax.Scope.Objects {
			declared[name] = f.Path
		}
	})
	var out []Finding
	for f, syntax := range parsed {
		own, seen := familyOf(f.Path), map[string]bool{}
		for _, id := range syntax.Unresolved {
			family := familyOf(declared[id.Name])
			if path.Base(f.Path) == "commands.go" || seen[id.Name] || declared[id.Name] == "" || family == "" || family == own {
				continue
			}
			seen[id.Name] = true // once for each file
			out = append(out, f.finding(id.Pos(), "%s is declared in %s, a file of another family of commands: move it to a package below %s/internal, or to a shared file", id.Name, path.Base(declared[id.Name]), toolFolder))
		}
	}
	slices.SortFunc(out, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line)) })
	return out
}
