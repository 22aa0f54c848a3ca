package house

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// Files and functions stay below these numbers of lines.
const (
	maxFile     = 300
	maxFunction = 70
)

// Lengths: files other than tests have fewer than 300 lines, and their functions
// fewer than 70, signature and last brace included.
func Lengths(t *Tree) []Finding {
	var out []Finding
	t.code(func(f *File) {
		if f.Test() {
			return
		}
		if n := strings.Count(f.Text, "\n"); n >= maxFile {
			out = append(out, Finding{Path: f.Path, Text: fmt.Sprintf("%d lines; stay below %d", n, maxFile)})
		}
		for _, decl := range f.Syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.line(fn.End()) - f.line(fn.Pos()) + 1; n >= maxFunction {
				out = append(out, f.finding(fn.Pos(), "%s has %d lines; stay below %d", fn.Name.Name, n, maxFunction))
			}
		}
	})
	return out
}

// FileNames: a file is named for the noun inside, and none for being a heap of
// things.
func FileNames(t *Tree) []Finding {
	heaps := []string{"util", "utils", "common", "types", "helper", "helpers", "misc", "base", "shared"}
	var out []Finding
	for _, f := range t.Files {
		name, ok := strings.CutSuffix(path.Base(f.Path), ".go")
		if !ok {
			continue
		}
		name = strings.TrimSuffix(name, "_test")
		if slices.Contains(heaps, name) {
			out = append(out, Finding{Path: f.Path, Text: "name the file for the noun inside"})
		}
	}
	return out
}
