package house

import (
	"go/ast"
	"regexp"
)

// How a comment says who waits for a goroutine, and what ends it.
var (
	waiting = regexp.MustCompile(`(?i)\b(wait|waits|waited|await|awaits|awaited|join|joins|joined)\b`)                                                             // read only
	ending  = regexp.MustCompile(`(?i)\b(end|ends|ended|ending|until|stop|stops|return|returns|close|closes|closed|closing|finish|finishes|bounded|exits|done)\b`) // read only
)

// Goroutines: directly above each statement that starts a goroutine a comment
// says who waits for it and what ends it. Such statements are go, and calls of
// any method Go, as sync.WaitGroup and errgroup.Group have it.
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
				out = append(out, f.finding(stmt.Pos(), "goroutine without a comment directly above: who waits for it, what ends it"))
			case !waiting.MatchString(g.Text()):
				out = append(out, f.finding(stmt.Pos(), "the comment does not say who waits for the goroutine"))
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
