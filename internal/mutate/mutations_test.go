package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// in returns the source of a file whose function f has body.
func in(body string) []byte {
	return []byte(`package p
type err struct{}
func (err) Error() string { return "" }
var (
	mu interface{ Lock() }
	fn func(...any) bool
)
func f(a, b int, s string, c chan int) (bool, error) {
	` + body + `
	return fn(), nil
}
`)
}

// changes returns what the mutations of body say, and fails t if a mutant does not
// compile.
func changes(t *testing.T, body string) []string {
	t.Helper()
	src := in(body)
	found, err := mutations("p.go", src)
	require.NoError(t, err)
	var out []string
	for _, m := range found {
		out = append(out, m.change)
		require.NotEqual(t, src, m.apply(src))
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "p.go", m.apply(src), 0)
		require.NoError(t, err, m.change)
		_, err = new(types.Config).Check("p", fset, []*ast.File{file}, nil)
		require.NoError(t, err, m.change)
	}
	require.Equal(t, "return the negation of fn()", out[len(out)-1], "of the last line of f")
	return out[:len(out)-1]
}

func TestMutationsOfEachKind(t *testing.T) {
	for _, c := range []struct {
		body string
		want []string
	}{
		{"if a < b {}", []string{"negate: a < b", "<= instead of <: a < b"}},
		{"if a <= b {}", []string{"negate: a <= b", "< instead of <=: a <= b"}},
		{"if a > b {}", []string{"negate: a > b", ">= instead of >: a > b"}},
		{"if a >= b {}", []string{"negate: a >= b", "> instead of >=: a >= b"}},
		{"if a == b {}", []string{"!= instead of ==: a == b"}},
		{"if a != b {}", []string{"== instead of !=: a != b"}},
		{"if fn() && fn(1) {}", []string{"negate: fn() && fn(1)", "|| instead of &&: fn() && fn(1)", "1+1 instead of 1"}},
		{"for fn() {}", []string{"negate: fn()"}},
		{"for {}", nil},
		{"switch { case fn(), a == 0: default: }", []string{"never: case fn()", "never: case a == 0", "!= instead of ==: a == 0", "1 instead of 0"}},
		{"switch a { case b: }", nil},
		{"fn()", []string{"delete: fn()"}},
		{"go fn()", []string{"delete: go fn()"}},
		{"defer fn()", []string{"delete: defer fn()"}},
		{"c <- a", []string{"delete: c <- a"}},
		{"a++", []string{"delete: a++"}},
		{"a = b", []string{"delete: a = b"}},
		{"a += b", []string{"delete: a += b"}},
		{"_ = a", nil},
		{"_ = fn()", []string{"delete: _ = fn()"}},
		{"x := a; _ = x", nil},
		{"mu.Lock()", nil},
		{"for { break }", []string{"delete: break"}},
		{"for { continue }", []string{"delete: continue"}},
		{"goto end; end:", nil},
		{"select { case <-c: fn() }", []string{"delete: fn()"}},
		{"switch a { case b: fn() }", []string{"delete: fn()"}},
		{"_ = a + b", []string{"delete: _ = a + b", "- instead of +: a + b"}},
		{"_ = a - b", []string{"delete: _ = a - b", "+ instead of -: a - b"}},
		{`_ = s + "x" + s`, []string{`delete: _ = s + "x" + s`}},
		{"return true, nil", []string{"return false instead of true"}},
		{"return false, err{}", []string{"return true instead of false", "return nil instead of err{}"}},
		{"return a == b, nil", []string{"!= instead of ==: a == b"}},
		{"return a < b, nil", []string{"return the negation of a < b", "<= instead of <: a < b"}},
		{"_ = func() bool { return true }", []string{"delete: _ = func() bool { return true }", "return false instead of true"}},
		{"_ = func() { return }", []string{"delete: _ = func() { return }"}},
	} {
		t.Run(c.body, func(t *testing.T) {
			require.Equal(t, strings.Join(c.want, "\n"), strings.Join(changes(t, c.body), "\n"))
		})
	}
}

func TestMutationKeepsTheLines(t *testing.T) {
	src := in("fn(\n1,\n)\nfn()")
	found, err := mutations("p.go", src)
	require.NoError(t, err)
	require.Equal(t, []string{"9 delete: fn(\n1,\n)", "10 1+1 instead of 1", "12 delete: fn()", "13 return the negation of fn()"}, func() (out []string) {
		for _, m := range found {
			out = append(out, fmt.Sprint(m.line, " ", m.change))
		}
		return out
	}())
	require.Equal(t, string(in("if false { fn(\n1,\n) }\nfn()")), string(found[0].apply(src)))
	require.Equal(t, string(in("fn(\n1,\n)\nif false { fn() }")), string(found[2].apply(src)))
}

func TestCodeThatDoesNotParseIsAnError(t *testing.T) {
	_, err := mutations("p.go", []byte("package"))
	require.Error(t, err)
}

func TestLongChangesAreShownOnOneLine(t *testing.T) {
	require.Equal(t, "a b", oneLine("a\n\t b\n"))
	long := oneLine(fmt.Sprintf("%099d€", 0))
	require.Equal(t, fmt.Sprintf("%099d...", 0), long)
}
