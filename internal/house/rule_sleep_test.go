package house

import (
	"go/ast"
	"regexp"
	"strings"
)

// inBubble matches the comment of a function that runs, or runs its argument, in a
// testing/synctest bubble.
var inBubble = regexp.MustCompile(`\b(in|inside) (a|its|their|the|each) ?(own|fresh|new|synctest)? ?bubble\b`) // read only

// Sleep: only tests sleep, and only in a testing/synctest bubble, where a sleep
// costs no time and cannot be too short. Allowed are functions passed to
// synctest.Test, or to a function that calls synctest.Test or whose comment says
// "in a bubble", and functions whose own comment says so.
func Sleep(t *Tree) []Finding {
	bubbles := t.bubbles()
	var out []Finding
	t.code(func(f *File) {
		s := sleeper{t: t, f: f, imports: f.imports(), bubbles: bubbles}
		for _, decl := range f.Syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			s.look(decl, ok && f.Test() && inBubble.MatchString(spaced(fn.Doc)))
		}
		out = append(out, s.out...)
	})
	return out
}

// bubbles are the functions, as folder and name, that run something in a bubble:
// their comments say so, or they call synctest.Test.
func (t *Tree) bubbles() map[string]bool {
	out := map[string]bool{}
	t.code(func(f *File) {
		imports := f.imports()
		for _, decl := range f.Syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			runs := inBubble.MatchString(spaced(fn.Doc))
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if ok && !runs {
					pkg, name := called(call, imports)
					runs = pkg == "testing/synctest" && name == "Test"
				}
				return true
			})
			if runs {
				out[f.Dir()+" "+fn.Name.Name] = true
			}
		}
	})
	return out
}

// spaced is a comment's text with its line breaks taken out.
func spaced(doc *ast.CommentGroup) string {
	return strings.Join(strings.Fields(doc.Text()), " ")
}

type sleeper struct {
	t       *Tree
	f       *File
	imports map[string]string
	bubbles map[string]bool
	out     []Finding
}

// look walks n; in reports whether n runs in a bubble.
func (s *sleeper) look(n ast.Node, in bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		pkg, name := called(call, s.imports)
		switch {
		case pkg == "time" && name == "Sleep" && !s.f.Test():
			s.out = append(s.out, s.f.finding(call.Pos(), "time.Sleep: wait for what is awaited, or for a timer and the context"))
		case pkg == "time" && name == "Sleep" && !in:
			s.out = append(s.out, s.f.finding(call.Pos(), "time.Sleep outside a bubble: the test is slow or flaky, or both"))
		case !in && s.f.Test() && s.enters(call, pkg, name):
			for _, arg := range call.Args {
				s.look(arg, true)
			}
			return false
		}
		return true
	})
}

// enters reports whether call runs its arguments in a bubble.
func (s *sleeper) enters(call *ast.CallExpr, pkg, name string) bool {
	if pkg == "testing/synctest" {
		return name == "Test"
	}
	if dir, ok := s.t.local(pkg); ok {
		return s.bubbles[dir+" "+name]
	}
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return s.bubbles[s.f.Dir()+" "+fun.Name]
	case *ast.SelectorExpr: // a method of this package, as far as syntax tells
		return pkg == "" && s.bubbles[s.f.Dir()+" "+fun.Sel.Name]
	}
	return false
}
