//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
)

// docs/zkr.md is what "zkr manual" prints: go run ./cmd/zkr manual > docs/zkr.md
func TestManualInTheRepositoryIsThatOfTheCommands(t *testing.T) {
	want, err := os.ReadFile("../../docs/zkr.md")
	require.NoError(t, err)
	assert.Equal(t, string(want), helpOf(t, "manual"), "write it again: go run ./cmd/zkr manual > docs/zkr.md")
}

func TestManualHasAChapterForEachCommand(t *testing.T) {
	text := helpOf(t, "manual")
	for _, cmd := range cli.Chapters((&app{}).root()) {
		assert.Equal(t, 1, strings.Count(text, "\n## "+cmd.CommandPath()+"\n"), cmd.CommandPath())
	}
	assert.Equal(t, 1, strings.Count(text, "\nExit codes:\n"), "what they mean stands in the first one")
	assert.NotContains(t, text, supervise.SupervisorName)
}

// TestManualPagesOfAllCommandsAreWritten, and only those are counted.
func TestManualPagesOfAllCommandsAreWritten(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "zkr-former.1"), []byte("a page of yesterday"), 0o600))
	n := len(cli.Chapters((&app{}).root()))
	assert.Equal(t, cli.Count(n, "manual page")+" written to "+dir+"\n", helpOf(t, "manual", "--man", dir))
	assert.JSONEq(t, `{"folder":"`+dir+`","pages":`+strings.Fields(cli.Count(n, ""))[0]+`}`, helpOf(t, "manual", "--man", dir, "-o", "json"))
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	require.NoError(t, err)
	assert.Len(t, pages, n+1)
	z := inside(t, command("x", "manual", "--man", filepath.Join(dir, "nowhere"))).ends(exit.CodeUsage)
	assert.Contains(t, z.err.String(), "must be a folder that exists")
}

// pagesAt writes the pages with a date.
func pagesAt(t *testing.T, epoch string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	inside(t, with(command("x", "manual", "--man", dir), "SOURCE_DATE_EPOCH="+epoch)).ends(0)
	return dir
}

func TestManualPagesAreTheSameWheneverTheyAreWritten(t *testing.T) {
	t.Parallel()
	one, other := pagesAt(t, "1767225600"), pagesAt(t, "1767225600")
	for _, cmd := range cli.Chapters((&app{}).root()) {
		name := cli.PageOf(cmd).ManName() + ".1"
		text, err := os.ReadFile(filepath.Join(one, name))
		require.NoError(t, err)
		again, err := os.ReadFile(filepath.Join(other, name))
		require.NoError(t, err)
		require.Equal(t, string(text), string(again), name)
		first, _, _ := strings.Cut(string(text), "\n")
		require.Contains(t, first, ` 1 "2026-01-01" zkrecipes "zkr manual"`, name)
	}
	z := inside(t, with(command("x", "manual", "--man", one), "SOURCE_DATE_EPOCH=today")).ends(exit.CodeUsage)
	assert.Contains(t, z.err.String(), `SOURCE_DATE_EPOCH is "today"; it must be a number of seconds`)
}

// TestManualPagesAreWellFormed: all sections in order, no request beyond
// man(7), and groff, if installed, has no complaint.
func TestManualPagesAreWellFormed(t *testing.T) {
	t.Parallel()
	dir := pagesAt(t, "0")
	_, err := exec.LookPath("groff")
	typeset := err == nil
	for _, cmd := range cli.Chapters((&app{}).root()) {
		p := cli.PageOf(cmd)
		file := filepath.Join(dir, p.ManName()+".1")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var sections []string
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if name, ok := strings.CutPrefix(line, ".SH "); ok {
				sections = append(sections, name)
			}
			if strings.HasPrefix(line, ".") {
				request, _, _ := strings.Cut(line[1:], " ")
				assert.Contains(t, []string{"TH", "SH", "TP", "PP", "B", "BR", "nf", "fi", "nh", "ad"}, request, file)
			}
			assert.False(t, strings.HasPrefix(line, "'"), line)
		}
		want := []string{"NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "OPTIONS"}
		if len(p.Commands) > 0 {
			want = []string{"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "EXAMPLES", "OPTIONS"}
		}
		if cmd.HasParent() {
			want = append(want, "GLOBAL OPTIONS")
		}
		assert.Equal(t, append(want, "EXIT STATUS", "SEE ALSO"), sections, file)
		if typeset {
			said, err := exec.Command("groff", "-man", "-Tutf8", "-ww", "-z", file).CombinedOutput()
			require.NoError(t, err, file)
			assert.Empty(t, string(said), file)
		}
	}
	if !typeset {
		t.Log("there is no groff to set the pages")
	}
}
