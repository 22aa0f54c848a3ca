package house

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func exportedExamples() []example {
	return []example{
		{"all has comments", files{"lock/a.go": `package lock

// A is one.
type A struct{ B, C int }

// Do does.
func (a *A) Do() {}

func (a *A) Error() string { return "" }

func (a *A) Unwrap() error { return nil }

// What can go wrong.
var (
	ErrA = 1
	ErrB = 2
)

const (
	// One is one.
	One = 1
	Two = 2 // is two
)

// Options of A.
type Options struct {
	// Size in bytes; default 1.
	Size int
	Name string // of all; default none
	hidden int
}

func private() {}

type private2 struct{ X int }

func (p private2) Exported() {}

// List is generic.
type List[K comparable, V any] struct{}

// Len is well.
func (l *List[K, V]) Len() int { return 0 }
`, "lock/a_test.go": "package lock\n\nfunc Helper() {}\n"}, nil},
		{"nothing has", files{"lock/a.go": `package lock

type A struct{}

func (a *A) Do() {}

func New() {}

var ErrA = 1

const (
	One = iota
	Two
)
`}, []string{"A has no comment", "Do has no comment", "New has no comment", "ErrA has", "One has", "Two has"}},
		{"options without defaults", files{"lock/a.go": `package lock

// MutexOptions are options.
type MutexOptions struct {
	Size int
	ID, Name string
}
`}, []string{"option Size", "option ID", "option Name"}},
		{"a method of a generic type", files{"lock/a.go": `package lock

// List is generic.
type List[K any] struct{}

func (l *List[K]) Len() int { return 0 }
`}, []string{"Len has no comment"}},
	}
}

// exports returns the text of a file with n exported names.
func exports(pkg string, n int) string {
	var b strings.Builder
	b.WriteString("package " + pkg + "\n")
	for i := range n {
		b.WriteString("const N" + strconv.Itoa(i) + " = 0\n")
	}
	return b.String()
}

func countExamples() []example {
	return []example{
		{"25 in two files", files{
			"lock/a.go":      exports("lock", 20),
			"lock/b.go":      "package lock\n\ntype A int\n\nfunc (A) X() {}\n\nfunc B() {}\n\nvar C, D, e = 1, 2, 3\n\nfunc F() {}\n",
			"lock/a_test.go": exports("lock", 30),
		}, nil},
		{"others may have more", files{"session/a.go": exports("session", 60)}, nil},
		{"26", files{"lock/a.go": exports("lock", 25), "lock/b.go": "package lock\n\ntype A int\n"}, []string{
			"lock: 26 exported names, at most 25",
		}},
		{"26 in an upper package", files{"dispatch/a.go": exports("dispatch", 26)}, []string{"dispatch: 26"}},
	}
}

// documented is a package whose documentation has the headings.
func documented(pkg string, headings ...string) string {
	text := "// Package " + pkg + " is one.\n"
	for _, h := range headings {
		text += "//\n// # " + h + "\n//\n// Some words.\n"
	}
	return text + "package " + pkg + "\n"
}

func packageDocExamples() []example {
	all := headings()
	return []example{
		{"all headings", files{
			"lock/doc.go":      documented("lock", all...),
			"lock/a.go":        "package lock\n",
			"lock/a_test.go":   "// Copyright.\npackage lock\n",
			"zktest/doc.go":    documented("zktest"),
			"session/doc.go":   documented("session", append([]string{"More"}, all...)...),
			"election/doc.go":  documented("election", append(append([]string{}, all[:3]...), append([]string{"Terms"}, all[3:]...)...)...),
			"cmd/zkr/main.go":  documented("main"),
			"internal/x/x.go":  documented("x"),
			"lock/testdata/a.": "no Go",
		}, nil},
		{"no documentation", files{"internal/x/x.go": "package x\n"}, []string{"internal/x: 0 files document"}},
		{"twice", files{"internal/x/a.go": documented("x"), "internal/x/b.go": documented("x")}, []string{"2 files document"}},
		{"one missing", files{"lock/doc.go": documented("lock", append(append([]string{}, all[:1]...), all[2:]...)...)}, []string{
			`heading "Guarantees" is missing`,
		}},
		{"wrong order", files{"counter/doc.go": documented("counter", append(append([]string{}, all[1:]...), all[0])...)}, []string{
			`heading "Guarantees" is missing`,
		}},
		{"an empty section", files{"session/doc.go": strings.Replace(documented("session", all...),
			"// # Znodes\n//\n// Some words.\n", "// # Znodes\n", 1)}, []string{
			`heading "Znodes" has nothing below it`,
		}},
		{"an empty last section", files{"session/doc.go": strings.Replace(documented("session", all...),
			"// # Concurrency\n//\n// Some words.\n", "// # Concurrency\n", 1)}, []string{
			`"Concurrency" has nothing below it`,
		}},
	}
}

func TestMethodsAndFieldsDoNotCountAsExportedNames(t *testing.T) {
	f := tree(t, files{"lock/a.go": "package lock\n\nimport \"fmt\"\n\ntype A struct{ B int }\n\nfunc (A) C() { fmt.Print() }\n\nvar D, e int\n"})
	require.Equal(t, []string{"A", "D"}, exported(f.Files[1].Syntax))
}
