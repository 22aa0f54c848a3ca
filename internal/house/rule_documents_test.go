package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// block is a piece of Go in a document.
type block struct {
	line int // of its first line
	text string
}

// goBlocks finds the fenced blocks of Go in a Markdown text.
func goBlocks(text string) []block {
	var out []block
	var open *block
	for i, line := range strings.Split(text, "\n") {
		switch {
		case open == nil && strings.TrimSpace(line) == "```go":
			open = &block{line: i + 2}
		case open != nil && strings.TrimSpace(line) == "```":
			out = append(out, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return out
}

// Documents: Go in a document is valid Go, and each function in a document stands,
// word for word, in a Go file of the project, where the function is compiled and
// run. A test in a document has its imports, ready to be pasted. Links from a
// document to files of the project lead to existing files.
func Documents(t *Tree) []Finding {
	var code []string
	t.code(func(f *File) { code = append(code, flat(f.Text)) })
	exists := map[string]bool{".": true}
	paths := slices.Clone(t.Others)
	for _, f := range t.Files {
		paths = append(paths, f.Path)
	}
	for _, p := range paths {
		for ; p != "."; p = path.Dir(p) {
			exists[p] = true
		}
	}
	var out []Finding
	for _, f := range t.Files {
		if path.Ext(f.Path) != ".md" {
			continue
		}
		for _, b := range goBlocks(f.Text) {
			out = append(out, b.check(f, code)...)
		}
		out = append(out, f.deadLinks(exists)...)
	}
	return out
}

func (b block) check(f *File, code []string) []Finding {
	const head = "package p\n"
	text := b.text
	if !strings.HasPrefix(text, "package ") {
		text = head + text
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		if _, inner := parser.ParseExpr("func() {\n" + b.text + "\n}"); inner == nil {
			return nil // statements, without a function around them
		}
		return []Finding{{Path: f.Path, Line: b.line, Text: fmt.Sprintf("this is not Go: %v", err)}}
	}
	var out []Finding
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if strings.HasPrefix(fn.Name.Name, "Test") {
			for _, pkg := range notImported(file, fn) {
				out = append(out, Finding{Path: f.Path, Line: b.line, Text: fmt.Sprintf("func %s uses %s, which the text does not import", fn.Name.Name, pkg)})
			}
		}
		body := flat(text[fset.Position(fn.Pos()).Offset:fset.Position(fn.End()).Offset])
		found := false
		for _, c := range code {
			found = found || strings.Contains(c, body)
		}
		if !found {
			out = append(out, Finding{Path: f.Path, Line: b.line,
				Text: fmt.Sprintf("func %s is in no Go file of the project, so no compiler checks it", fn.Name.Name)})
		}
	}
	return out
}

// notImported returns the packages used by fn and not imported by file.
func notImported(file *ast.File, fn *ast.FuncDecl) (out []string) {
	known := map[string]bool{}
	for _, spec := range file.Imports {
		known[path.Base(strings.Trim(spec.Path.Value, `"`))] = true
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(file.Unresolved, x) && !known[x.Name] {
				known[x.Name] = true // once is enough
				out = append(out, x.Name)
			}
		}
		return true
	})
	return out
}

// flat is a text without indentation.
func flat(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

// deadLinks finds relative links to missing files.
func (f *File) deadLinks(exists map[string]bool) []Finding {
	var out []Finding
	for i, line := range strings.Split(f.Text, "\n") {
		for rest := line; ; {
			_, after, ok := strings.Cut(rest, "](")
			if !ok {
				break
			}
			var target string
			if target, rest, ok = strings.Cut(after, ")"); !ok {
				break
			}
			target, _, _ = strings.Cut(target, "#")
			if target == "" || strings.Contains(target, ":") || strings.Contains(target, " ") {
				continue
			}
			if !exists[path.Join(f.Dir(), target)] {
				out = append(out, Finding{Path: f.Path, Line: i + 1, Text: "the link to " + target + " leads nowhere"})
			}
		}
	}
	return out
}
