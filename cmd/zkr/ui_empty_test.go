//go:build unix

package main

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tried finds the command of an empty page.
var tried = regexp.MustCompile(`<p class="try"><code dir="ltr">([^<]*)</code>`) // read only

// TestCommandsOfEmptyPagesFillThem: each command, as copied from the page, makes what the
// page lacks, also below a root.
func TestCommandsOfEmptyPagesFillThem(t *testing.T) {
	b := newBed(t)
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "zkr"), []byte("#!/bin/sh\nexec '"+os.Args[0]+"' \"$@\"\n"), 0o700))
	_, url := b.page("--root", "/my app")
	command := func(page string) string {
		_, text := fetchPage(t, url+page)
		all := tried.FindAllStringSubmatch(text, -1)
		if len(all) == 0 {
			return ""
		}
		return html.UnescapeString(all[len(all)-1][1])
	}
	ran := 0
	for _, page := range []string{
		"/locks", "/elections", "/barriers", "/counters", "/services", "/members", "/jobs", "/jobs?path=/my+app/twister2/demo", "/rebalancers", "/tasks", "/sessions", "/",
	} {
		eventually(t, func() bool { return command(page) != "" || page == "/sessions" || page == "/" }, "%s has a command", page)
		run := command(page)
		if run == "" {
			continue // the commands of other pages have filled it
		}
		cmd := b.command()
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "exec " + run}
		cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
		z := start(t, cmd)
		eventually(t, func() bool { return command(page) == "" }, "%s shows what %q has made: %s", page, run, z.err)
		ran++
	}
	assert.GreaterOrEqual(t, ran, 10)
}
