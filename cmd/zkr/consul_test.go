//go:build unix

package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// consulFlags are the flags of "consul lock", from Consul's command/lock/lock.go and
// command/flags/http.go: the own ones, those of clients and those of servers.
//
// read only
var consulFlags = []string{
	"-child-exit-code", "-monitor-retry", "-n", "-name", "-pass-stdin", "-shell", "-timeout", "-try", "-verbose",
	"-ca-file", "-ca-path", "-client-cert", "-client-key", "-datacenter", "-http-addr", "-stale",
	"-tls-server-name", "-token", "-token-file",
}

// The guide for users of Consul has a row for each flag of "consul lock", and names no flag
// that one of the two commands does not have. TestCommandsOfTheGuidesRun runs its examples.
func TestConsulLockIsTranslatedFlagByFlag(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/coming.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Consul")
	section, _, _ = strings.Cut(section, "\n## ")
	cmd, _, err := (&app{}).root().Find([]string{"lock"})
	require.NoError(t, err)
	flag := regexp.MustCompile("(^|[` ])(-{1,2}[a-z][a-z-]*)")
	var theirs []string
	for row := range strings.Lines(section) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			continue
		}
		for _, m := range flag.FindAllStringSubmatch(cells[1], -1) {
			assert.Contains(t, consulFlags, m[2], row)
			theirs = append(theirs, m[2])
		}
		for _, m := range flag.FindAllStringSubmatch(strings.ReplaceAll(cells[2], "sh -c", ""), -1) {
			name := strings.TrimLeft(m[2], "-")
			found := cmd.Flag(name)
			require.NotNil(t, found, "%s has no flag %s: %s", cmd.CommandPath(), m[2], row)
			require.True(t, strings.HasPrefix(m[2], "--") || found.Shorthand == name, row)
		}
	}
	for _, name := range consulFlags {
		assert.True(t, slices.Contains(theirs, name), "the guide does not tell of %s", name)
	}
}
