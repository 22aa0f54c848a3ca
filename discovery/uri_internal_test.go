package discovery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/memberformat"
	"pgregory.net/rapid"
)

func TestURIHasCuratorsVariables(t *testing.T) {
	i := Instance{Service: "web", ID: "one", Address: "h", Port: 80, RegistrationTime: time.UnixMilli(5), Type: DynamicSequential}
	for spec, want := range map[string]string{
		"":      "",
		"plain": "plain",
		"{scheme}://{address}:{port}/{name}/{id}": "http://h:80/web/one",
		"{ssl-port}.":             ".",
		"{registration-time-utc}": "5",
		"{service-type}":          "dynamic_sequential",
		"{[}{ id }{]}":            "{one}",
		"{zone}-{address}":        "eu-local",
	} {
		i.URISpec = spec
		got, err := i.BuildURI(map[string]string{"zone": "eu", "address": "local"}) // more goes first
		require.NoError(t, err)
		if spec == "{scheme}://{address}:{port}/{name}/{id}" {
			got, err = i.BuildURI(nil)
			require.NoError(t, err)
		}
		require.Equal(t, want, got, spec)
	}
	i.URISpec, i.SSLPort = "{scheme}:{ssl-port}", 443
	got, err := i.BuildURI(nil)
	require.NoError(t, err)
	require.Equal(t, "https:443", got)
}

func TestInvalidTemplateIsAnError(t *testing.T) {
	for _, spec := range []string{"{", "}", "a}b", "{}", "{ }", "{a", "{a{b}}", "{a}}", "{nobody}"} {
		_, err := Instance{URISpec: spec}.BuildURI(nil)
		require.ErrorIs(t, err, ErrInvalidArgument, spec)
	}
}

// Parts of any text and variables become a template that comes apart into parts
// which build the same.
func TestTemplatesSurviveTheirParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.Custom(func(t *rapid.T) memberformat.URIPart {
			if rapid.Bool().Draw(t, "variable") {
				return memberformat.URIPart{Value: rapid.SampledFrom([]string{"scheme", "id", "[", "]", "own"}).Draw(t, "name"), Variable: true}
			}
			return memberformat.URIPart{Value: rapid.StringMatching(`[a-z{}\[\] ]{0,6}`).Draw(t, "text")}
		})).Draw(t, "parts")
		spec, err := formatURI(parts)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseURI(spec)
		if err != nil {
			t.Fatalf("%q: %v", spec, err)
		}
		if twice, err := formatURI(again); err != nil || twice != spec {
			t.Fatalf("%q became %q: %v", spec, twice, err)
		}
		i := Instance{ID: "i", URISpec: spec}
		got, err := i.BuildURI(map[string]string{"own": "o"})
		if want := naive(parts); err != nil || got != want {
			t.Fatalf("%q builds %q, not %q: %v", spec, got, want, err)
		}
	})
}

// naive builds a URI as Curator does, part by part.
func naive(parts []memberformat.URIPart) string {
	values := map[string]string{"scheme": "http", "id": "i", "[": "{", "]": "}", "own": "o"}
	out := ""
	for _, p := range parts {
		if p.Variable {
			out += values[p.Value]
		} else {
			out += p.Value
		}
	}
	return out
}
