package house

import (
	"go/ast"
	"slices"
	"strings"
)

// called returns the import path and the name of a function of another package
// called by call, and "" for any other call.
func called(call *ast.CallExpr, imports map[string]string) (importPath, name string) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok || imports[id.Name] == "" {
		return "", ""
	}
	return imports[id.Name], sel.Sel.Name
}

// program reports whether a file belongs to a program, which may own a context and
// print, unlike libraries.
func (f *File) program() bool {
	return f.Syntax.Name.Name == "main" || slices.ContainsFunc([]string{"cmd", "examples", "bench", "interop"},
		func(folder string) bool { return within(f.Dir(), folder) })
}

// Calls: libraries take their context from the caller, and neither print nor
// exit. No code decides by the text of an error, and there is no init.
func Calls(t *Tree) []Finding {
	var out []Finding
	t.code(func(f *File) {
		imports := f.imports()
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					out = append(out, f.finding(n.Pos(), "init runs unasked; make it a function that is called"))
				}
			case *ast.CallExpr:
				pkg, name := called(n, imports)
				if why := f.forbidden(pkg, name, n); why != "" {
					out = append(out, f.finding(n.Pos(), "%s.%s: %s", pkg, name, why))
				}
			}
			return true
		})
	})
	return out
}

func (f *File) forbidden(pkg, name string, call *ast.CallExpr) string {
	if pkg == "strings" && slices.ContainsFunc(call.Args, isErrorText) && !f.Test() {
		return "match errors by errors.Is and errors.As, not by their text"
	}
	if f.Test() || f.program() {
		return ""
	}
	switch {
	case pkg == "context" && (name == "Background" || name == "TO"+"DO") && f.imports()["testing"] == "":
		return "take the context from the caller" // tests, and packages that only tests import, have no caller
	case pkg == "fmt" && strings.HasPrefix(name, "Print"), pkg == "log":
		return "a library returns errors and logs to the logger that it was given"
	case pkg == "os" && name == "Exit":
		return "a library does not end the program"
	}
	return ""
}

// isErrorText is true for x.Error().
func isErrorText(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 0 {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Error"
}

// ContextFirst: a context is the first parameter. In tests the parameter for the
// test comes before the context.
func ContextFirst(t *Tree) []Finding {
	var out []Finding
	t.code(func(f *File) {
		if f.Test() || f.imports()["context"] != "context" {
			return
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			fn, ok := n.(*ast.FuncType)
			if !ok || fn.Params == nil {
				return true
			}
			for i, field := range fn.Params.List {
				if i == 0 || !isSelector(field.Type, "context", "Context") || isTestingValue(fn.Params.List[0].Type) {
					continue
				}
				out = append(out, f.finding(field.Pos(), "the context is not the first parameter"))
			}
			return true
		})
	})
	return out
}

func isTestingValue(typ ast.Expr) bool {
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	sel, ok := typ.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == "testing"
}

func isSelector(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}

// Skips: a skipped test proves nothing. Only the code that starts real servers and
// browsers may skip, loudly, if none are installed and the environment does not
// require them; so may tests of other programs, and of clients in
// other languages, that are not installed; and world.Needs, for products other than Apache's.
func Skips(t *Tree) []Finding {
	allowed := []string{"zktest/apache", browserDriver, "interop"}
	foreign := []string{"internal/world/feature.go", "zktest/kazoo_test.go", "cmd/zkr/internal/ui/foreign_apache_test.go", "cmd/zkr/internal/exporter/rules_test.go", "internal/kdctest/kdc.go", "cmd/zkr/doctor_rare_linux_test.go", "fence/sqltest/postgres_test.go"}
	var out []Finding
	t.code(func(f *File) {
		if slices.Contains(foreign, f.Path) || slices.ContainsFunc(allowed, func(dir string) bool {
			return within(f.Dir(), dir) && (dir == "interop" || !f.Test())
		}) {
			return
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				return true
			}
			// A rapid check that discards a draw, or a decoder that skips bytes, is
			// not a skipped test: their receivers are not called t, b, f or tb.
			if id, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, id.Name) {
				out = append(out, f.finding(call.Pos(), "a test must not be skipped"))
			}
			return true
		})
	})
	return out
}
