package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// mutation is one change of a file: the text in [start, end) is replaced.
type mutation struct {
	line       int
	start, end int
	text       string
	change     string // for people
}

// apply returns src with the change made.
func (m mutation) apply(src []byte) []byte {
	out := append([]byte{}, src[:m.start]...)
	out = append(out, m.text...)
	return append(out, src[m.end:]...)
}

// mutations returns all mutations of a file, in the order of the source:
//
//   - the condition of an if or a for is negated, the condition of a case is false;
//   - == and != are exchanged, && and ||, + and -; < and <= are exchanged, > and >=;
//   - a statement is not executed: a call, an assignment, a send, break, continue,
//     go, defer; but not Lock or Unlock;
//   - a returned bool is negated, an error is returned as nil;
//   - 0 becomes 1, any other number one more.
//
// Each keeps the lines of the file as they are. Most compile: a statement that is not
// executed stays in the code, so that what it uses remains used.
func mutations(name string, src []byte) ([]mutation, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	c := collector{fset: fset, src: src}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			c.inFunc(fn.Type, fn.Body)
		}
	}
	slices.SortStableFunc(c.found, func(a, b mutation) int { return a.start - b.start })
	return c.found, nil
}

type collector struct {
	fset  *token.FileSet
	src   []byte
	found []mutation
}

func (c *collector) textOf(n ast.Node) string {
	return string(c.src[c.offset(n.Pos()):c.offset(n.End())])
}

func (c *collector) offset(p token.Pos) int { return c.fset.Position(p).Offset }

// add adds a mutation that replaces [from, to) by text.
func (c *collector) add(from, to token.Pos, text, change string) {
	c.found = append(c.found, mutation{
		line:  c.fset.Position(from).Line,
		start: c.offset(from), end: c.offset(to), text: text, change: change,
	})
}

// inFunc collects the mutations of a function's body. Function literals in the body are
// collected with their own results.
func (c *collector) inFunc(fn *ast.FuncType, body *ast.BlockStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			c.inFunc(n.Type, n.Body)
			return false
		case *ast.BlockStmt:
			c.inList(n.List)
		case *ast.CaseClause:
			c.inList(n.Body)
		case *ast.CommClause:
			c.inList(n.Body)
		case *ast.SwitchStmt:
			c.inSwitch(n)
		case *ast.IfStmt:
			c.negate(n.Cond)
		case *ast.ForStmt:
			if n.Cond != nil {
				c.negate(n.Cond)
			}
		case *ast.BinaryExpr:
			c.inBinary(n)
		case *ast.BasicLit:
			c.inLiteral(n)
		case *ast.ReturnStmt:
			c.inReturn(fn, n)
		}
		return true
	})
}

func (c *collector) negate(cond ast.Expr) {
	if b, ok := cond.(*ast.BinaryExpr); ok && opposite(b.Op) {
		return // inBinary makes the same mutant
	}
	text := c.textOf(cond)
	c.add(cond.Pos(), cond.End(), "!("+text+")", "negate: "+text)
}

// opposite reports whether exchanging op negates the expression.
func opposite(op token.Token) bool { return op == token.EQL || op == token.NEQ }

// exchange returns the operator that takes the place of op, if there is one.
func exchange(op token.Token) (token.Token, bool) {
	for _, pair := range [][2]token.Token{
		{token.EQL, token.NEQ}, {token.LSS, token.LEQ}, {token.GTR, token.GEQ},
		{token.LAND, token.LOR}, {token.ADD, token.SUB},
	} {
		switch op {
		case pair[0]:
			return pair[1], true
		case pair[1]:
			return pair[0], true
		}
	}
	return op, false
}

func (c *collector) inBinary(b *ast.BinaryExpr) {
	op, ok := exchange(b.Op)
	if !ok || op == token.SUB && (isText(b.X) || isText(b.Y)) {
		return
	}
	end := b.OpPos + token.Pos(len(b.Op.String()))
	c.add(b.OpPos, end, op.String(), fmt.Sprintf("%v instead of %v: %s", op, b.Op, c.textOf(b)))
}

// isText reports whether e is surely a string.
func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return isText(e.X) || isText(e.Y)
	}
	return false
}

func (c *collector) inLiteral(lit *ast.BasicLit) {
	if lit.Kind != token.INT {
		return
	}
	text := lit.Value + "+1"
	if lit.Value == "0" {
		text = "1"
	}
	c.add(lit.Pos(), lit.End(), text, text+" instead of "+lit.Value)
}

// inList collects the statements of a list that can go without others to change.
func (c *collector) inList(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.SendStmt, *ast.IncDecStmt, *ast.GoStmt, *ast.DeferStmt, *ast.BranchStmt:
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || !assigns(s) {
				continue
			}
		default:
			continue
		}
		text := c.textOf(s)
		if b, ok := s.(*ast.BranchStmt); ok && b.Tok != token.BREAK && b.Tok != token.CONTINUE || locks.MatchString(text) {
			continue
		}
		c.add(s.Pos(), s.End(), "if false { "+text+" }", "delete: "+text)
	}
}

// locks matches what always fails at once, or blocks until the timeout, when it goes
// without its counterpart.
var locks = regexp.MustCompile(`\.R?(Lock|Unlock)\(\)$`) // read only

// assigns reports whether an assignment does more than to mark names as used.
func assigns(s *ast.AssignStmt) bool {
	for i, left := range s.Lhs {
		name, ok := left.(*ast.Ident)
		if !ok || name.Name != "_" {
			return true
		}
		if i < len(s.Rhs) {
			if _, ok := s.Rhs[i].(*ast.Ident); !ok {
				return true
			}
		}
	}
	return false
}

// inSwitch collects the cases of a switch without a tag: one case at a time is never
// taken.
func (c *collector) inSwitch(s *ast.SwitchStmt) {
	if s.Tag != nil {
		return
	}
	for _, clause := range s.Body.List {
		for _, cond := range clause.(*ast.CaseClause).List {
			text := c.textOf(cond)
			c.add(cond.Pos(), cond.End(), "false && ("+text+")", "never: case "+text)
		}
	}
}

// inReturn collects the results of a return: bools by the function's type, and the
// error, which is its last result.
func (c *collector) inReturn(fn *ast.FuncType, r *ast.ReturnStmt) {
	types := resultTypes(fn)
	if len(types) != len(r.Results) {
		return // none, or a call that returns all of them
	}
	for i, result := range r.Results {
		text := c.textOf(result)
		switch {
		case types[i] == "bool" && text == "true":
			c.add(result.Pos(), result.End(), "false", "return false instead of true")
		case types[i] == "bool" && text == "false":
			c.add(result.Pos(), result.End(), "true", "return true instead of false")
		case types[i] == "bool":
			if b, ok := result.(*ast.BinaryExpr); !ok || !opposite(b.Op) {
				c.add(result.Pos(), result.End(), "!("+text+")", "return the negation of "+text)
			}
		case types[i] == "error" && text != "nil":
			c.add(result.Pos(), result.End(), "func(error) error { return nil }("+text+")", "return nil instead of "+text)
		}
	}
}

// resultTypes returns the names of a function's result types, "" for a type without.
func resultTypes(fn *ast.FuncType) []string {
	var types []string
	if fn.Results == nil {
		return nil
	}
	for _, field := range fn.Results.List {
		name := ""
		if id, ok := field.Type.(*ast.Ident); ok {
			name = id.Name
		}
		for range max(1, len(field.Names)) {
			types = append(types, name)
		}
	}
	return types
}

// oneLine shortens a text to one line.
func oneLine(text string) string {
	const most = 100
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
