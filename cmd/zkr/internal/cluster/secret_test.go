//go:build unix

package cluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestKeysAreGoodForOneUse: none of them tells the secret, or another key.
func TestKeysAreGoodForOneUse(t *testing.T) {
	known := map[string]bool{"": true}
	for _, s := range []Secret{testSecret, testSecret + "x", NewSecret(), NewSecret()} {
		known[string(s)] = true
		for _, u := range []use{forCookie, forForm, forNodes} {
			k := s.key(u)
			assert.Equal(t, k, s.key(u))
			assert.False(t, known[k], "%s of %s", u, s)
			assert.NotContains(t, k, string(s))
			assert.Len(t, k, 64)
			known[k] = true
		}
	}
	for _, u := range []use{forCookie, forForm, forNodes} {
		assert.Empty(t, Secret("").key(u), "the empty secret has no key")
	}
}

func TestShortSecretsAreRefused(t *testing.T) {
	for n := range 40 {
		text := strings.Repeat("Z", n)
		s, err := ParseSecret(text)
		if n > 0 && n < 16 {
			require.ErrorContains(t, err, "openssl rand -hex 16", n)
			require.NotContains(t, err.Error(), "Z", "the error does not show the secret")
			assert.Empty(t, s)
			continue
		}
		require.NoError(t, err, n)
		assert.Equal(t, Secret(text), s)
	}
	_, err := ParseSecret(string(NewSecret()))
	require.NoError(t, err)
}

func TestNothingIsTheSameAsAnEmptyKey(t *testing.T) {
	assert.False(t, same("", ""))
	assert.False(t, same("x", ""))
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.StringN(1, -1, -1).Draw(t, "b")
		if same(a, b) != (a == b) || !same(b, b) {
			t.Fatalf("%q, %q", a, b)
		}
	})
}
