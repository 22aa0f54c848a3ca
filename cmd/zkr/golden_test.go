package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files") // read only

// changing are patterns of text that differs from run to run, with
// replacements.
//
// read only
var changing = []struct {
	pattern *regexp.Regexp
	stands  string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uuid>"},
	{regexp.MustCompile(`0x[0-9a-f]{8,}`), "<session>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{3})?`), "<time>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "<rfc3339>"},
	{regexp.MustCompile(`\b(\d+m)?\d+s\b`), "<age>"},
}

// steady replaces text that differs from run to run.
func steady(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.stands)
	}
	host, err := os.Hostname()
	if err != nil {
		return text
	}
	return regexp.MustCompile(regexp.QuoteMeta(host)+`:\d+`).ReplaceAllString(text, "<host:pid>")
}

// columns makes the columns of a table as wide as in the golden file: replaced
// text may have been wider.
func columns(table string) string {
	table = regexp.MustCompile(` +\n`).ReplaceAllString(table, "\n")
	return regexp.MustCompile(`  +`).ReplaceAllString(table, "  ")
}

// golden compares text with a file in testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(steady(text)), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), steady(text), "%s; -update rewrites it", file)
}

func TestSteadyTextKeepsWhatMatters(t *testing.T) {
	assert.Equal(t, "a <session> <time> <age>", steady("a 0x1a1ffa0a12c0000 2026-01-02 03:04:05 1m3s"))
	assert.Equal(t, "at <time> of <rfc3339>", steady("at 2026-01-02 03:04:05.678 of 2026-01-02T03:04:05.6+01:00"))
	assert.Equal(t, "place 1 token 12 v3, 7 B", steady("place 1 token 12 v3, 7 B"))
	assert.Equal(t, "ID  AGE\nx  1\n", columns("ID     AGE  \nx   1\n"))
	assert.NotEqual(t, steady("holds"), steady("waits"))
}
