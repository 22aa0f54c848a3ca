package house

import (
	"go/ast"
	"slices"
	"strings"
)

// clockHelper is the function that looks at the clock for a context derived from that of
// a hold.
const clockHelper = "ContextErr"

// HoldContexts: the package comment of each recipe that gives users the context of a
// hold names the function for contexts derived from it, whose Err is late after a pause
// of the process.
func HoldContexts(t *Tree) []Finding {
	documented, gives := map[string]bool{}, map[string]*File{}
	var dirs []string
	t.code(func(f *File) {
		if f.Test() || f.Dir() != "session" && !slices.Contains(published(), f.Dir()) {
			return
		}
		if strings.Contains(f.Syntax.Doc.Text(), clockHelper) {
			documented[f.Dir()] = true
		}
		if gives[f.Dir()] == nil && slices.ContainsFunc(f.Syntax.Decls, givesContext) {
			gives[f.Dir()] = f
			dirs = append(dirs, f.Dir())
		}
	})
	var out []Finding
	for _, dir := range dirs {
		if !documented[dir] {
			out = append(out, Finding{Path: gives[dir].Path, Text: "it gives users a context, and the package comment does not name session." + clockHelper})
		}
	}
	return out
}

// givesContext is true for an exported method Context without parameters, of an exported
// type.
func givesContext(d ast.Decl) bool {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil || f.Name.Name != "Context" || f.Type.Params.NumFields() > 0 || f.Type.Results.NumFields() != 1 {
		return false
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	id, ok := receiver.(*ast.Ident)
	return ok && id.IsExported() && isSelector(f.Type.Results.List[0].Type, "context", "Context")
}
