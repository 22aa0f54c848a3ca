package recognize

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestTextIsWhatItSeems(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"web-1":                     "web-1",
		"größer 世界 عربى":            "größer 世界 عربى",
		"<script>alert(1)</script>": "<script>alert(1)</script>", // escaped by templates
		"a\nb\tc\r":                 `a\nb\u{9}c\u{d}`,
		"\x1b[2J":                   `\u{1b}[2J`,
		"abc\u202egpj.exe":          `abc\u{202e}gpj.exe`,
		"zero\u200bwidth\ufeff":     `zero\u{200b}width\u{feff}`,
		"nul\x00":                   `nul\u{0}`,
		"e\u0301\u0301\u0301\u0301": "e\u0301\u0301" + `\u{301}\u{301}`,
		"\xff\x00\x01":              "0xff0001",
		"\ue000":                    `\u{e000}`,
	} {
		assert.Equal(t, want, Text([]byte(in), 80), "%q", in)
	}
	assert.Equal(t, "xxx…", Text([]byte(strings.Repeat("x", 1<<20)), 3))
	assert.Equal(t, "世世世…", Text([]byte(strings.Repeat("世", 100)), 3), "cut between characters")
	assert.Equal(t, "0xffffff… (1000 bytes)", Text([]byte(strings.Repeat("\xff", 1000)), 6))
	for _, c := range []struct {
		in   string
		most int
		want string // contained in the text
		cut  bool
	}{
		{"a\n\tb", 80, "a\n\tb", false},
		{"\xffA\x00", 80, "00000000  ff 41 00", false},
		{strings.Repeat("\xff", 1000), 64, "…", true},
		{strings.Repeat("世", 80), 80, "世", false},
		{strings.Repeat("世", 81), 80, "世…", true},
		{strings.Repeat("\u200b", 80), 80, `\u{200b}`, false},
		{strings.Repeat("\u200b", 81), 80, `\u{200b}…`, true},
	} {
		text, cut := Lines([]byte(c.in), c.most)
		assert.Contains(t, text, c.want)
		assert.Equal(t, c.cut, cut, "%q", c.in)
	}
}

// TestTextIsKeptToTheEndOfACharacter: truncated text is still text.
func TestTextIsKeptToTheEndOfACharacter(t *testing.T) {
	for shift := range 3 {
		n := NewNode("/a", []byte(strings.Repeat("x", shift)+strings.Repeat("世", keptOther)), session.Stat{})
		require.True(t, utf8.Valid(n.Data))
		require.Greater(t, len(n.Data), keptOther-3)
		require.False(t, n.Whole())
		text, _ := Lines(n.Data, 4000)
		require.Contains(t, text, "世世世")
	}
}

// FuzzText: no data becomes deceptive or too long text.
func FuzzText(f *testing.F) {
	f.Add([]byte("web-1"), 10)
	f.Add([]byte("\u202e\xff\x00e\u0301\u0301\u0301"), 3)
	f.Add([]byte(strings.Repeat("世", 50)), 7)
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		most = 1 + max(0, most)%200
		text := Text(data, most)
		require.True(t, utf8.ValidString(text))
		require.LessOrEqual(t, utf8.RuneCountInString(text), 10*most+40, "an escape has at most ten characters")
		for _, r := range text {
			require.True(t, unicode.IsPrint(r), "%q", r)
		}
		long, _ := Lines(data, most)
		for _, r := range long {
			require.True(t, unicode.IsPrint(r) || r == '\n' || r == '\t', "%q", r)
		}
	})
}
