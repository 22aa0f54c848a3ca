package house

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// markers are pieces of znode names shared by clients; each piece has a single
// place in this project.
func markers() []string {
	return []string{
		"-lock-", "-latch-", "-lease-", "__READ__", "__WRIT__", "__lock__", "__rlock__",
		"__party__", "__REVOKE__", "_c_", "qn-", "entry-",
	}
}

// Layout: the constants for znodes of a recipe are in its layout.go and nowhere
// else in its code, and each constant there, or its group, has a comment that names
// the other writers of the znode.
func Layout(t *Tree) []Finding {
	var out []Finding
	t.code(func(f *File) {
		if f.Test() || !slices.Contains(published(), f.Dir()) {
			return
		}
		if path.Base(f.Path) == "layout.go" {
			out = append(out, f.uncommented()...)
			return
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				return true
			}
			for _, m := range markers() {
				if strings.Contains(text, m) {
					out = append(out, f.finding(lit.Pos(), "%q belongs into layout.go", m))
				}
			}
			return true
		})
	})
	return out
}

// uncommented finds the constants of a layout.go without a comment.
func (f *File) uncommented() []Finding {
	var out []Finding
	for _, decl := range f.Syntax.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			if group.Doc == nil && value.Doc == nil && value.Comment == nil {
				out = append(out, f.finding(value.Pos(), "%s has no comment: which other programs write or read it", value.Names[0].Name))
			}
		}
	}
	return out
}
