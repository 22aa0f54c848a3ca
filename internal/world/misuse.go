package world

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// Misuse checks that a package reports an understandable error for typical
// misuse of its values, instead of a nil dereference.
type Misuse struct {
	// Invalid is the error wrapped by errors about arguments.
	Invalid error
	// Zero has, by the name of the type, a pointer to the zero value of each
	// exported type with methods. Nil pointers of the same types are checked too.
	Zero map[string]any
	// NoClient has, by the name of the function, the result of each exported
	// function with a *session.Client for a nil client: a pointer with methods,
	// or an error.
	NoClient map[string]any
}

// Check walks all exported types and functions of the package in the working
// directory, and all methods of the values, each with a context and with a nil
// context.
func (m Misuse) Check(t *testing.T) {
	found, err := exported()
	if err != nil {
		t.Fatal(err)
	}
	for name := range found.types {
		if m.Zero[name] == nil {
			t.Errorf("the table of zero values lacks the exported type %s", name)
		}
	}
	for name := range found.functions {
		if m.NoClient[name] == nil {
			t.Errorf("the table of nil clients lacks the exported function %s", name)
		}
	}
	m.useTypes(t, found.valueMethods)
}

// reporter is the part of a *testing.T for findings.
type reporter interface {
	Context() context.Context
	Errorf(format string, args ...any)
}

// useTypes calls the methods of all values of the tables. valueMethods need a value:
// Go itself names them in the panic of a nil pointer.
func (m Misuse) useTypes(t reporter, valueMethods map[string]bool) {
	for name, value := range m.Zero {
		all := func(string) bool { return true }
		m.walkMethods(t, "zero "+name, value, all, "make it with", "get one from")
		if typ := reflect.TypeOf(value); typ.Kind() == reflect.Pointer {
			pointers := func(method string) bool { return !valueMethods[name+"."+method] }
			m.walkMethods(t, "nil "+name, reflect.Zero(typ).Interface(), pointers, "make it with", "get one from")
		}
	}
	for name, value := range m.NoClient {
		if err, ok := value.(error); ok {
			m.judgeError(t, name+" with a nil client", err, "the client is nil", "client is nil")
			continue
		}
		all := func(string) bool { return true }
		m.walkMethods(t, name+" with a nil client", value, all, "client is nil")
	}
}

// walkMethods calls the methods of value that are to be called; each error or panic
// must have one of texts.
func (m Misuse) walkMethods(t reporter, what string, value any, called func(method string) bool, texts ...string) {
	v := reflect.ValueOf(value)
	var none context.Context
	for i := range v.NumMethod() {
		if !called(v.Type().Method(i).Name) {
			continue
		}
		name := what + ": " + v.Type().Method(i).Name
		m.callMisused(t.Context(), t, name, v.Method(i), texts...)
		m.callMisused(none, t, name+" with a nil context", v.Method(i), "the context is nil")
	}
}

// callMisused calls a method with ctx and otherwise zero values.
func (m Misuse) callMisused(ctx context.Context, t reporter, name string, method reflect.Value, texts ...string) {
	takesContext, args := false, []reflect.Value{}
	for i := range method.Type().NumIn() {
		in := reflect.New(method.Type().In(i)).Elem()
		if in.Type() == reflect.TypeFor[context.Context]() {
			takesContext = true
			if ctx != nil {
				in.Set(reflect.ValueOf(ctx))
			}
		}
		args = append(args, in)
	}
	if ctx == nil && !takesContext {
		return
	}
	err, fails := outcome(method, args)
	if fails || err != nil {
		m.judgeError(t, name, err, texts...)
	}
}

func (m Misuse) judgeError(t reporter, name string, err error, texts ...string) {
	var panicked *panicError
	if !errors.As(err, &panicked) && !errors.Is(err, m.Invalid) {
		t.Errorf("%s: got %v, want an error that wraps %v", name, err, m.Invalid)
		return
	}
	for _, text := range texts {
		if strings.Contains(err.Error(), text) {
			return
		}
	}
	t.Errorf("%s: %q says none of %q", name, err, texts)
}

// panicError is a panic of the library's own.
type panicError struct{ value any }

func (p *panicError) Error() string { return fmt.Sprint(p.value) }

// outcome calls method, and inspects its results. fails: the method can return
// an error, possibly as an iterator's last element.
func outcome(method reflect.Value, args []reflect.Value) (err error, fails bool) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			err, fails = fmt.Errorf("panic: %w", p), true
		default:
			err, fails = &panicError{p}, true
		}
	}()
	call := method.Call
	if method.Type().IsVariadic() {
		call = method.CallSlice
	}
	results := call(args)
	if len(results) == 0 {
		return nil, false
	}
	last := results[len(results)-1]
	switch {
	case last.Type() == reflect.TypeFor[error]():
		err, _ = last.Interface().(error)
		return err, true
	case last.Kind() != reflect.Func: // slices and strings can be gone through, too
	case last.Type().CanSeq2():
		for _, v := range last.Seq2() {
			err, _ = v.Interface().(error)
		}
		return err, true
	case last.Type().CanSeq():
		for range last.Seq() {
			return errors.New("an element from nowhere"), true
		}
	}
	return nil, false
}

// surface has the exported functions and types of a package that [Misuse] calls.
type surface struct {
	// types are the exported types with methods, functions the exported functions
	// with a client parameter.
	types, functions map[string]bool
	// valueMethods are the methods, each as Type.Method, whose receiver is not a
	// pointer.
	valueMethods map[string]bool
}

// exported is the surface of the package in the working directory.
func exported() (surface, error) {
	found := surface{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	names, err := filepath.Glob("*.go")
	if err != nil {
		return found, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return found, err
		}
		for _, d := range file.Decls {
			found.addDecl(d)
		}
	}
	return found, nil
}

func (f surface) addDecl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		switch {
		case !d.Name.IsExported():
		case d.Recv == nil:
			if takesClient(d) {
				f.functions[d.Name.Name] = true
			}
		default:
			f.noteMethod(d.Recv.List[0].Type, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			spec, ok := s.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				continue
			}
			if fields, ok := spec.Type.(*ast.StructType); ok && embeds(fields) {
				f.types[spec.Name.Name] = true
			}
		}
	}
}

func (f surface) noteMethod(receiver ast.Expr, method string) {
	name := typeName(receiver)
	if !ast.IsExported(name) {
		return
	}
	f.types[name] = true
	if _, pointer := receiver.(*ast.StarExpr); !pointer {
		f.valueMethods[name+"."+method] = true
	}
}

func takesClient(d *ast.FuncDecl) bool {
	for _, p := range d.Type.Params.List {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		if sel, ok := star.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "Client" {
			return true
		}
	}
	return false
}

// embeds reports whether a struct has methods of an embedded type.
func embeds(s *ast.StructType) bool {
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 {
			return true
		}
	}
	return false
}

// typeName is the name of a receiver's type.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
