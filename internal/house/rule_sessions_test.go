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
// reason, so the list does not grow unnoticed.
func SessionCalls(t *Tree) []Finding {
	calls := map[string]int{}
	for _, dir := range upper() {
		for path, n := range t.sessionCalls(dir) {
			calls[path] = n
		}
	}
	listed, out := t.listedSessionCalls()
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
	return out
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
		addSessionNames(f.Syntax, fields, true)
	}
	out := map[string]int{}
	for _, f := range in {
		for _, decl := range f.Syntax.Decls {
			names := map[string]bool{}
			if f.imports()["session"] != "" { // otherwise the s of the file is something else, but not a field
				addSessionNames(decl, names, false)
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

// addSessionNames adds the names of sessions in node: fields of structs, or
// parameters and variables.
func addSessionNames(node ast.Node, names map[string]bool, fields bool) {
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			names[id.Name] = true
		}
	}
	addTyped := func(list *ast.FieldList) {
		if list == nil {
			return
		}
		for _, field := range list.List {
			if isSessionType(field.Type) {
				add(field.Names...)
			}
		}
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			if fields {
				addTyped(n.Fields)
			}
		case *ast.FuncType:
			if !fields {
				addTyped(n.Params)
				addTyped(n.Results)
			}
		case *ast.ValueSpec:
			if !fields && isSessionType(n.Type) {
				add(n.Names...)
			}
		case *ast.AssignStmt:
			id, ok := n.Lhs[0].(*ast.Ident)
			if !fields && ok && len(n.Rhs) == 1 && isSessionCall(n.Rhs[0]) {
				add(id)
			}
		}
		return true
	})
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

// listedSessionCalls reads the list; a tree without the document has none.
func (t *Tree) listedSessionCalls() (map[string]sessionRow, []Finding) {
	row := regexp.MustCompile("^\\| `([^`]+\\.go)` \\| ([0-9]+) \\| (.*) \\|$")
	rows, out := map[string]sessionRow{}, []Finding(nil)
	for _, f := range t.Files {
		if f.Path != sessionDocument {
			continue
		}
		inList := false
		for i, line := range strings.Split(f.Text, "\n") {
			if strings.HasPrefix(line, "## ") {
				inList = line == sessionHeading
			}
			m := row.FindStringSubmatch(line)
			if !inList || m == nil {
				continue
			}
			n, err := strconv.Atoi(m[2])
			if err != nil || strings.TrimSpace(m[3]) == "" || rows[m[1]].line != 0 {
				out = append(out, Finding{Path: f.Path, Line: i + 1, Text: m[1] + " needs one row with a number of calls and a reason"})
			}
			rows[m[1]] = sessionRow{n, i + 1}
		}
	}
	return rows, out
}
