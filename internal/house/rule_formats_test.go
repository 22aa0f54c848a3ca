package house

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// dashboard is the folder of the code that recognizes the znodes of recipes.
const dashboard = "cmd/zkr/internal/ui/recognize"

// unread lists records that the dashboard need not read, with the reasons.
func unread() map[string]string {
	return map[string]string{
		"taskformat.Assignment": "the record of the task says the same",
		"taskformat.Ending":     "the record of the task says the same",
		"taskformat.Counts":     "the dashboard reads every task",
	}
}

// record is a struct written as JSON.
type record struct {
	file  *File
	name  string
	spec  *ast.TypeSpec
	parts []string // types of the same package in its fields
}

// records finds the structs of a file with JSON names for their fields.
func (f *File) records() []record {
	var out []record
	for _, decl := range f.Syntax.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			ts := spec.(*ast.TypeSpec)
			s, ok := ts.Type.(*ast.StructType)
			if !ok || !slices.ContainsFunc(s.Fields.List, func(field *ast.Field) bool { return field.Tag != nil && strings.Contains(field.Tag.Value, "json:") }) {
				continue
			}
			r := record{file: f, name: ts.Name.Name, spec: ts}
			for _, field := range s.Fields.List {
				ast.Inspect(field.Type, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						r.parts = append(r.parts, id.Name)
					}
					return true
				})
			}
			out = append(out, r)
		}
	}
	return out
}

// Formats: a record of a znode stands in a format package, for the recipe and for
// the dashboard, and the dashboard reads each record: an unknown record would hide
// the work of the recipe.
func Formats(t *Tree) []Finding {
	var out []Finding
	var records []record
	// The names of format packages used by the dashboard, and the types returned by
	// the functions of format packages.
	read, results := map[string]bool{}, map[string][]string{}
	t.code(func(f *File) {
		switch dir := f.Dir(); {
		case f.Test():
		case within(dir, formats):
			records = append(records, f.records()...)
			for _, decl := range f.Syntax.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Type.Results != nil {
					ast.Inspect(fn.Type.Results, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok {
							results[path.Base(dir)+"."+fn.Name.Name] = append(results[path.Base(dir)+"."+fn.Name.Name], path.Base(dir)+"."+id.Name)
						}
						return true
					})
				}
			}
		case slices.Contains(published(), dir):
			for _, r := range f.records() {
				out = append(out, f.finding(r.spec.Pos(), "%s is a record: its place is in %s", r.name, formats))
			}
		case within(dir, dashboard):
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if pkg, ok := s.X.(*ast.Ident); ok {
						read[pkg.Name+"."+s.Sel.Name] = true
					}
				}
				return true
			})
		}
	})
	for fn, types := range results {
		for _, name := range types {
			read[name] = read[name] || read[fn]
		}
	}
	for _, r := range records {
		dir := r.file.Dir()
		name := path.Base(dir) + "." + r.name
		part := slices.ContainsFunc(records, func(other record) bool {
			return other.file.Dir() == dir && other.name != r.name && slices.Contains(other.parts, r.name)
		})
		if ast.IsExported(r.name) && !part && !read[name] && unread()[name] == "" {
			out = append(out, r.file.finding(r.spec.Pos(), "%s does not read %s", dashboard, name))
		}
	}
	return out
}
