//go:build unix

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// numbers are fields that are only read, fields of znodes' data, whose form
// belongs to the recipes; and milliseconds, which are few.
//
// read only
var numbers = []string{
	"barriercmd.read.round", "cluster.entry.token", "cluster.Status.timeout_ms",
}

// TestJSONIsAPromise: fields keep their names, and their types. All structs of
// the sources with a name in JSON count.
func TestJSONIsAPromise(t *testing.T) {
	var lines []string
	for _, f := range jsonFields(t) {
		lines = append(lines, fmt.Sprintf("%s: %s %s", f.owner, f.name, f.kind))
	}
	slices.Sort(lines)
	golden(t, "json", strings.Join(slices.Compact(lines), "\n")+"\n")
}

// TestNumbersOf64BitsAreStringsInJSON: jq and JavaScript have 53 bits.
func TestNumbersOf64BitsAreStringsInJSON(t *testing.T) {
	n := 0
	for _, f := range jsonFields(t) {
		if !strings.Contains(f.kind, "int64") {
			continue
		}
		n++
		if !slices.Contains(f.options, "string") && !slices.Contains(numbers, f.owner+"."+f.name) {
			t.Errorf("%s.%s is a number", f.owner, f.name)
		}
	}
	assert.Greater(t, n, 20)
}

func TestLargeCountersKeepAllDigitsInJSON(t *testing.T) {
	b := newBed(t)
	const large = "9223372036854775803"
	b.run("counter", "set", "/n", large).ends(0)
	assert.Contains(t, b.run("counter", "get", "/n", "-o", "json").ends(0).out.String(), `"value":"`+large+`"`)
}

// jsonField is a field of a struct with a name in JSON.
type jsonField struct {
	owner, name, kind string
	options           []string
}

// jsonFields are those of all structs in the sources of the tool.
func jsonFields(t *testing.T) (out []jsonField) {
	t.Helper()
	for _, pattern := range []string{"*.go", "internal/*/*.go", "internal/ui/recognize/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range files {
			// The stream of a page's parts is between the page and its server.
			if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/web/") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			require.NoError(t, err)
			for _, decl := range file.Decls {
				owner := strings.TrimSuffix(filepath.Base(name), ".go")
				ast.Inspect(decl, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.TypeSpec:
						owner = n.Name.Name
					case *ast.FuncDecl:
						owner = n.Name.Name
					case *ast.StructType:
						out = append(out, namedFields(t, file.Name.Name+"."+owner, n)...)
					}
					return true
				})
			}
		}
	}
	return out
}

func namedFields(t *testing.T, owner string, s *ast.StructType) (out []jsonField) {
	t.Helper()
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		text, err := strconv.Unquote(f.Tag.Value)
		require.NoError(t, err)
		if tag, ok := reflect.StructTag(text).Lookup("json"); ok && tag != "-" {
			options := strings.Split(tag, ",")
			kind := types.ExprString(f.Type)
			if slices.Contains(options[1:], "string") {
				kind += " as a string"
			}
			out = append(out, jsonField{owner, options[0], kind, options[1:]})
		}
	}
	return out
}
