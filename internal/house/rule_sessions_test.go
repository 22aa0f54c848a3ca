package house

import (
	"fmt"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// sessionDocument has the list of direct calls of a session, below sessionHeading.
	sessionDocument = "docs/project/architecture.md"
	sessionHeading  = "## Direct calls of a session"
)

// localMethods are the methods of a session that send no request of their own.
func localMethods() []string {
	return []string{
		"BackOff", "CheckOp", "Context", "Err", "GiveBackContext", "Heartbeat", "ID", "LastHeard", "Retry", "Timeout", "TrustedUntil",
	}
}

// SessionCalls: packages above the recipes are made of recipes. Each of their files
// with calls of session operations is listed with the number of its calls and a
// reason, so the list does not grow unnoticed. The calls through internal/optimistic,
// which is not a recipe, are listed by package.
func SessionCalls(t *Tree) []Finding {
	calls := map[string]int{}
	for _, dir := range upper() {
		for path, n := range t.sessionCalls(dir) {
			calls[path] = n
		}
	}
	listed, packages, out := t.listedSessionCalls()
	for _, path := range slices.Sorted(maps.Keys(calls)) {
		if row, ok := listed[path]; !ok || row.n != calls[path] {
			text := fmt.Sprintf("direct calls of a session: %d, in the list of %s: %d; use a recipe, package stm or optimistic.Reading, or list the calls with a reason", calls[path], sessionDocument, row.n)
			out = append(out, Finding{Path: path, Text: text})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(listed)) {
		if calls[path] == 0 {
			out = append(out, Finding{Path: sessionDocument, Line: listed[path].line, Text: path + " calls no operation of a session: remove it from the list"})
		}
	}
	for _, dir := range upper() {
		if n, row := t.optimisticCalls(dir), packages[dir]; n != row.n {
			out = append(out, Finding{Path: sessionDocument, Line: row.line, Text: fmt.Sprintf("calls of %s through internal/optimistic: %d, listed: %d", dir, n, row.n)})
		}
	}
	return out
}

// optimisticCalls counts the calls of a package that send requests through
// internal/optimistic: of its functions, and of the methods of a Reading or of Batches.
func (t *Tree) optimisticCalls(dir string) int {
	var in []*File
	t.code(func(f *File) {
		if within(f.Dir(), dir) && !f.Test() {
			in = append(in, f)
		}
	})
	readings := readingTypes(in)
	n := 0
	for _, f := range in {
		for _, decl := range f.Syntax.Decls {
			names := readings.namesIn(decl)
			isReading := func(e ast.Expr) bool {
				switch e := e.(type) {
				case *ast.Ident:
					return names[e.Name]
				case *ast.SelectorExpr:
					return readings.fields[e.Sel.Name]
				}
				return false
			}
			ast.Inspect(decl, func(node ast.Node) bool {
				sel, ok := node.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				switch {
				case isName(sel.X, "optimistic") && slices.Contains([]string{"DeleteAll", "DeleteBelow", "DeleteLater", "GetWatched", "ReadFresh", "StartReads"}, sel.Sel.Name):
					n++
				case isReading(sel.X) && slices.Contains([]string{"Exists", "Fresh", "Get", "GetAll", "GetReadable", "List", "ListAll", "StatAll", "Sync"}, sel.Sel.Name):
					n++
				}
				return true
			})
		}
	}
	return n
}

// readings knows which types of a package are an optimistic.Reading or optimistic.Batches, or
// embed one, which functions return such a type, and which fields have it.
type readings struct{ types, funcs, fields map[string]bool }

func readingTypes(in []*File) readings {
	r := readings{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, f := range in {
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					if len(field.Names) == 0 && r.is(field.Type) {
						r.types[spec.Name.Name] = true
					}
				}
			}
			return true
		})
	}
	for _, f := range in {
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, id := range field.Names {
						r.fields[id.Name] = r.fields[id.Name] || r.is(field.Type)
					}
				}
			}
			return true
		})
	}
	for _, f := range in {
		for _, decl := range f.Syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && fn.Recv == nil && fn.Type.Results != nil && len(fn.Type.Results.List) == 1 && r.is(fn.Type.Results.List[0].Type) {
				r.funcs[fn.Name.Name] = true
			}
		}
	}
	return r
}

// is reports whether a type, or what it points to, is a reading.
func (r readings) is(e ast.Expr) bool {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	id, ok := e.(*ast.Ident)
	return isSelector(e, "optimistic", "Reading") || isSelector(e, "optimistic", "Batches") || ok && r.types[id.Name]
}

// makes reports whether an expression is a new reading.
func (r readings) makes(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		return r.makes(e.X)
	case *ast.CompositeLit:
		return r.is(e.Type)
	case *ast.CallExpr:
		id, ok := e.Fun.(*ast.Ident)
		return ok && r.funcs[id.Name]
	}
	return false
}

// namesIn returns the parameters, receivers and variables of a declaration that are
// readings.
func (r readings) namesIn(decl ast.Decl) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if r.is(n.Type) {
				for _, id := range n.Names {
					names[id.Name] = true
				}
			}
		case *ast.ValueSpec:
			if r.is(n.Type) {
				for _, id := range n.Names {
					names[id.Name] = true
				}
			}
		case *ast.AssignStmt:
			if id, ok := n.Lhs[0].(*ast.Ident); ok && r.makes(n.Rhs[0]) {
				names[id.Name] = true
			}
		}
		return true
	})
	return names
}

// sessionCalls counts the calls in each file of a folder and below.
func (t *Tree) sessionCalls(dir string) map[string]int {
	var in []*File
	t.code(func(f *File) {
		if within(f.Dir(), dir) && !f.Test() {
			in = append(in, f)
		}
	})
	fields := map[string]bool{}
	for _, f := range in {
		addSessionFields(f.Syntax, fields)
	}
	out := map[string]int{}
	for _, f := range in {
		for _, decl := range f.Syntax.Decls {
			names := map[string]bool{}
			if f.imports()["session"] != "" { // otherwise the s of the file is something else, but not a field
				addSessionNames(decl, names, fields)
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if ok && ast.IsExported(sel.Sel.Name) && !slices.Contains(localMethods(), sel.Sel.Name) && isSession(sel.X, names, fields) {
					out[f.Path]++
				}
				return true
			})
		}
	}
	return out
}

// addTyped adds the names of a list that are sessions.
func addTyped(list *ast.FieldList, names map[string]bool) {
	if list == nil {
		return
	}
	for _, field := range list.List {
		if isSessionType(field.Type) {
			addNames(field.Names, names)
		}
	}
}

func addNames(ids []*ast.Ident, names map[string]bool) {
	for _, id := range ids {
		names[id.Name] = true
	}
}

// addSessionFields adds the names of sessions in structs.
func addSessionFields(node ast.Node, names map[string]bool) {
	ast.Inspect(node, func(n ast.Node) bool {
		if n, ok := n.(*ast.StructType); ok {
			addTyped(n.Fields, names)
		}
		return true
	})
}

// addSessionNames adds the names of parameters and variables that are sessions, also of those
// that are copies of a field.
func addSessionNames(node ast.Node, names, fields map[string]bool) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			addTyped(n.Params, names)
			addTyped(n.Results, names)
		case *ast.ValueSpec:
			if isSessionType(n.Type) {
				addNames(n.Names, names)
			}
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if id, ok := n.Lhs[i].(*ast.Ident); ok && isSession(value, names, fields) {
					names[id.Name] = true
				}
			}
		}
		return true
	})
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func isSessionType(e ast.Expr) bool {
	star, ok := e.(*ast.StarExpr)
	return ok && isSelector(star.X, "session", "Session")
}

// isSessionCall is true for x.Session(...).
func isSessionCall(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Session"
}

// isSession is true for a name or a field of a session, and for a call that returns
// a session.
func isSession(e ast.Expr, names, fields map[string]bool) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return names[e.Name]
	case *ast.SelectorExpr:
		return fields[e.Sel.Name]
	}
	return isSessionCall(e)
}

// sessionRow is a row of the list.
type sessionRow struct{ n, line int }

// listedSessionCalls reads the list of the files, and the list of the packages with their
// calls through internal/optimistic; a tree without the document has none.
func (t *Tree) listedSessionCalls() (listed, packages map[string]sessionRow, out []Finding) {
	row := regexp.MustCompile("^\\| `([^`]+\\.go)` \\| ([0-9]+) \\| (.*) \\|$")
	of := regexp.MustCompile("^\\| `([a-z]+)` \\| ([0-9]+) \\|$")
	listed, packages = map[string]sessionRow{}, map[string]sessionRow{}
	for _, f := range t.Files {
		if f.Path != sessionDocument {
			continue
		}
		inList := false
		for i, line := range strings.Split(f.Text, "\n") {
			if strings.HasPrefix(line, "## ") {
				inList = line == sessionHeading
			}
			if m := of.FindStringSubmatch(line); inList && m != nil {
				n, _ := strconv.Atoi(m[2]) // digits
				packages[m[1]] = sessionRow{n, i + 1}
			}
			m := row.FindStringSubmatch(line)
			if !inList || m == nil {
				continue
			}
			n, err := strconv.Atoi(m[2])
			if err != nil || strings.TrimSpace(m[3]) == "" || listed[m[1]].line != 0 {
				out = append(out, Finding{Path: f.Path, Line: i + 1, Text: m[1] + " needs one row with a number of calls and a reason"})
			}
			listed[m[1]] = sessionRow{n, i + 1}
		}
	}
	return listed, packages, out
}
