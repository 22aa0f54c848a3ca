package house

import (
	"go/ast"
	"regexp"
)

// Words for the wait for a goroutine, and for its end, in a comment.
var (
	waiting = regexp.MustCompile(`(?i)\b(wait|waits|waited|await|awaits|awaited|join|joins|joined)\b`)                                                             // read only
	ending  = regexp.MustCompile(`(?i)\b(end|ends|ended|ending|until|stop|stops|return|returns|close|closes|closed|closing|finish|finishes|bounded|exits|done)\b`) // read only
)

// Goroutines: a comment directly above each statement that starts a goroutine names
// the code that waits for the goroutine, and the event that ends the goroutine.
// Such statements are go, and calls of any method Go, as of sync.WaitGroup and
// errgroup.Group.
func Goroutines(t *Tree) []Finding {
	var out []Finding
	t.code(func(f *File) {
		above := map[int]*ast.CommentGroup{} // by the line below the comment
		for _, g := range f.Syntax.Comments {
			above[f.line(g.End())+1] = g
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			stmt, ok := n.(ast.Stmt)
			if !ok || !startsGoroutine(stmt) {
				return true
			}
			switch g := above[f.line(stmt.Pos())]; {
			case g == nil:
				out = append(out, f.finding(stmt.Pos(), "goroutine without a comment directly above: what waits for it, what ends it"))
			case !waiting.MatchString(g.Text()):
				out = append(out, f.finding(stmt.Pos(), "the comment does not say what waits for the goroutine"))
			case !ending.MatchString(g.Text()):
				out = append(out, f.finding(stmt.Pos(), "the comment does not say what ends the goroutine"))
			}
			return true
		})
	})
	return out
}

func startsGoroutine(stmt ast.Stmt) bool {
	switch s := stmt.(type) {
	case *ast.GoStmt:
		return true
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Go"
	}
	return false
}
