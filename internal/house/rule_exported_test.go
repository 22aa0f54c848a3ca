package house

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/token"
	"slices"
	"strings"
)

// maxExported is how many exported names a recipe package has at most, methods
// and fields not counted.
const maxExported = 25

// ExportedDocs: every exported name of the code, and every exported field of an
// exported Options struct, has a comment. A comment above a group serves its names.
// Well-known methods (Error, String, Unwrap, Is) need no comment.
func ExportedDocs(t *Tree) []Finding {
	var out []Finding
	t.code(func(f *File) {
		if f.Test() {
			return
		}
		for _, decl := range f.Syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && !wellKnown(d) && receiverExported(d) {
					out = append(out, f.finding(d.Pos(), "%s has no comment", d.Name.Name))
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					out = append(out, f.undocumented(d, spec)...)
				}
			}
		}
	})
	return out
}

func (f *File) undocumented(d *ast.GenDecl, spec ast.Spec) []Finding {
	var out []Finding
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				out = append(out, f.finding(name.Pos(), "%s has no comment", name.Name))
			}
		}
	case *ast.TypeSpec:
		if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
			out = append(out, f.finding(s.Pos(), "%s has no comment", s.Name.Name))
		}
		body, ok := s.Type.(*ast.StructType)
		if !ok || !s.Name.IsExported() || !strings.HasSuffix(s.Name.Name, "Options") {
			break
		}
		for _, field := range body.Fields.List {
			for _, name := range field.Names {
				if name.IsExported() && field.Doc == nil && field.Comment == nil {
					out = append(out, f.finding(name.Pos(), "option %s has no comment: what it does, and its default", name.Name))
				}
			}
		}
	}
	return out
}

func wellKnown(d *ast.FuncDecl) bool {
	return d.Recv != nil && slices.Contains([]string{"Error", "String", "Unwrap", "Is"}, d.Name.Name)
}

// receiverExported is true for plain functions, and for methods of exported
// types.
func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

// ExportedCount: a recipe package exports about 25 names at most. A package with
// more names does more than one thing.
func ExportedCount(t *Tree) []Finding {
	names := map[string][]string{}
	t.code(func(f *File) {
		if !f.Test() {
			names[f.Dir()] = append(names[f.Dir()], exported(f.Syntax)...)
		}
	})
	var out []Finding
	for _, dir := range published() {
		if n := len(names[dir]); n > maxExported {
			out = append(out, Finding{Path: dir, Text: fmt.Sprintf("%d exported names, at most %d: %s",
				n, maxExported, strings.Join(names[dir], " "))})
		}
	}
	return out
}

// exported lists the exported names at the top level of a file.
func exported(file *ast.File) []string {
	var out []string
	add := func(id *ast.Ident) {
		if id.IsExported() {
			out = append(out, id.Name)
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						add(name)
					}
				}
			}
		}
	}
	return out
}

// headings are those of every recipe's package documentation, in order. A
// package may have others between them.
func headings() []string {
	return []string{
		"What it is", "Guarantees", "How it is lost, and how you find out",
		"Znodes", "Failures", "Compatibility", "Concurrency",
	}
}

// PackageDocs: every package has a package comment, in exactly one file, and the
// recipes and session have the same headings.
func PackageDocs(t *Tree) []Finding {
	docs := map[string][]*File{}
	var dirs []string
	t.code(func(f *File) {
		if f.Test() {
			return
		}
		if _, seen := docs[f.Dir()]; !seen {
			docs[f.Dir()] = nil
			dirs = append(dirs, f.Dir())
		}
		if f.Syntax.Doc != nil {
			docs[f.Dir()] = append(docs[f.Dir()], f)
		}
	})
	var out []Finding
	for _, dir := range dirs {
		switch files := docs[dir]; {
		case len(files) != 1:
			out = append(out, Finding{Path: dir, Text: fmt.Sprintf("%d files document the package; one must", len(files))})
		case dir == "session" || slices.Contains(published(), dir):
			out = append(out, files[0].headings()...)
		}
	}
	return out
}

func (f *File) headings() []Finding {
	var p comment.Parser
	want := headings()
	blocks := p.Parse(f.Syntax.Doc.Text()).Content
	for i, block := range blocks {
		h, ok := block.(*comment.Heading)
		if !ok || len(want) == 0 || headingText(h) != want[0] {
			continue
		}
		if i+1 == len(blocks) {
			return []Finding{f.finding(f.Syntax.Package, "heading %q has nothing below it", want[0])}
		}
		if _, empty := blocks[i+1].(*comment.Heading); empty {
			return []Finding{f.finding(f.Syntax.Package, "heading %q has nothing below it", want[0])}
		}
		want = want[1:]
	}
	if len(want) > 0 {
		return []Finding{f.finding(f.Syntax.Package, "heading %q is missing, or not in its place", want[0])}
	}
	return nil
}

func headingText(h *comment.Heading) string {
	var b strings.Builder
	for _, text := range h.Text {
		if plain, ok := text.(comment.Plain); ok {
			b.WriteString(string(plain))
		}
	}
	return b.String()
}
