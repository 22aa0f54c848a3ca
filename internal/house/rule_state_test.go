package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// readOnly marks a package-level variable without changes: a table, a compiled
// pattern. The mark stands in the variable's comment.
const readOnly = "// read only"

var errName = regexp.MustCompile(`^[eE]rr[A-Z]\w*$`) // read only

// PackageState: a package has no state. Its variables are error sentinels, blank
// checks of interfaces, embedded files, and tables marked as read only.
func PackageState(t *Tree) []Finding {
	var out []Finding
	t.code(func(f *File) {
		for _, decl := range f.Syntax.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				value := spec.(*ast.ValueSpec)
				if marked(readOnly, group.Doc, value.Doc, value.Comment) || marked("//go:embed ", group.Doc, value.Doc) {
					continue
				}
				for _, name := range value.Names {
					if name.Name != "_" && !errName.MatchString(name.Name) {
						out = append(out, f.finding(name.Pos(), "variable %s is package state; if it is never changed, say %q", name.Name, readOnly))
					}
				}
			}
		}
	})
	return out
}

// marked reports whether a line of the comments begins with mark.
func marked(mark string, comments ...*ast.CommentGroup) bool {
	for _, group := range comments {
		if group == nil {
			continue
		}
		for _, line := range group.List {
			if strings.HasPrefix(line.Text, mark) {
				return true
			}
		}
	}
	return false
}

// Mutexes: a comment at a mutex in a struct, or at the field right below the mutex,
// names the guarded fields and the invariant.
func Mutexes(t *Tree) []Finding {
	var out []Finding
	t.code(func(f *File) {
		if f.Test() {
			return
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			body, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for i, field := range body.Fields.List {
				if !isSelector(field.Type, "sync", "Mutex") && !isSelector(field.Type, "sync", "RWMutex") {
					continue
				}
				text := field.Doc.Text() + field.Comment.Text()
				last := i == len(body.Fields.List)-1
				if !last {
					text += body.Fields.List[i+1].Doc.Text()
				}
				switch {
				case text == "":
					out = append(out, f.finding(field.Pos(), "the mutex has no comment: what it guards, and the invariant"))
				case last && strings.Contains(strings.ToLower(text), "guards the fields below"):
					out = append(out, f.finding(field.Pos(), "nothing follows the mutex that guards the fields below"))
				}
			}
			return true
		})
	})
	return out
}
