package ui

import (
	"encoding"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fields are the fields of a type in JSON, including nested fields, a line for
// each.
func fields(t *testing.T, at reflect.Type, path string) []string {
	t.Helper()
	for at.Kind() == reflect.Pointer {
		at = at.Elem()
	}
	switch {
	case at == reflect.TypeFor[time.Time]():
		return []string{path + " time"}
	case at.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return []string{path + " string"}
	}
	switch at.Kind() {
	case reflect.Slice:
		return fields(t, at.Elem(), path+"[]")
	case reflect.Map:
		return fields(t, at.Elem(), path+".*")
	case reflect.Struct:
		out := []string{strings.TrimSpace(path + " object")}
		for f := range at.Fields() {
			tag, asked := f.Tag.Lookup("json")
			if !f.IsExported() || tag == "-" {
				continue
			}
			require.True(t, asked, "%s of %s has no name in JSON", f.Name, at)
			name, how, _ := strings.Cut(tag, ",")
			below := fields(t, f.Type, strings.TrimPrefix(path+"."+name, "."))
			if strings.Contains(how, "string") { // of 64 bits: JavaScript has 53
				below[0] = strings.TrimSuffix(below[0], "number") + "string of digits"
			}
			if strings.Contains(how, "omit") {
				below[0] += " (may be missing)"
			}
			out = append(out, below...)
		}
		return out
	case reflect.Bool:
		return []string{path + " bool"}
	case reflect.String:
		return []string{path + " string"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return []string{path + " number"}
	}
	require.Fail(t, "a new type in the API", "%s: %s", path, at)
	return nil
}

// TestFieldsOfTheAPIKeepTheirNames: programs read them.
func TestFieldsOfTheAPIKeepTheirNames(t *testing.T) {
	text := strings.Join(fields(t, reflect.TypeFor[document](), ""), "\n") + "\n"
	file := filepath.Join("testdata", "api.golden")
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text, "-update adds new fields; no field may be removed or renamed")
}

// TestInvisibleCharactersAreEscapedInJSON, and the JSON has the same meaning.
func TestInvisibleCharactersAreEscapedInJSON(t *testing.T) {
	for _, text := range []string{"", "plain", "äöü €", "abc\u202egpj", "\u2066\u200f\x7f", "\U000e0001 tag", "emoji 🎉"} {
		plain, err := json.Marshal(text)
		require.NoError(t, err)
		escaped := escapeInvisible(plain)
		var back string
		require.NoError(t, json.Unmarshal(escaped, &back))
		assert.Equal(t, text, back)
		for _, bad := range "\u202e\u2066\u200f\x7f\U000e0001" {
			assert.NotContains(t, string(escaped), string(bad))
		}
	}
}
