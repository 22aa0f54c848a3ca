//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// guides are the pages of docs whose commands are run.
//
// read only
var guides = []string{"runbook", "service", "kubernetes", "upgrading", "coming"}

// shown is a line that shows a command: in an indented block, perhaps in a list.
var shown = regexp.MustCompile(`^ {4,}((ZKR_\w+=\S+ )?zkr .*)`) // read only

// commandsOf are the commands that a page shows in blocks: the lines of fenced blocks of
// shell commands, and those of indented blocks that run zkr.
func commandsOf(t *testing.T, page string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page+".md"))
	require.NoError(t, err)
	fence := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch command := shown.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "```"):
			if fence == "" {
				fence = line
			} else {
				fence = ""
			}
		case fence == "```sh" && line != "":
			out = append(out, line)
		case fence == "" && command != nil:
			out = append(out, command[1])
		}
	}
	require.NotEmpty(t, out, page)
	return out
}

// Every command of the guides does what the guides say: it runs where the things that they
// speak of exist.
func TestCommandsOfTheGuidesRun(t *testing.T) {
	b := newBed(t)
	held := b.start(running([]string{"lock", "/locks/report"}, "sleep", "1000")...)
	b.queued("/locks/report", 1)
	b.candidates("/election/scheduler", "a", "b")
	b.candidates("/web/leader", "a")
	b.submit("words", "3")
	b.run("task", "submit", "/queues/render", "--id", "one").ends(0)
	b.run("rebalance", "add", "/groups/partitions", "p1", "p2").ends(0)
	bin := t.TempDir()
	script := "#!/bin/sh\nexec " + "'" + os.Args[0] + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "zkr"), []byte(script), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "scheduler"), []byte("#!/bin/sh\necho leads\n"), 0o700))
	logs, err := filepath.Abs(scene)
	require.NoError(t, err)
	recording := filepath.Join(t.TempDir(), "recording")
	endless := map[string]string{"ui": "http://", "record": "recording "} // what they say when they work
	ran := 0
	for _, page := range guides {
		for _, line := range commandsOf(t, page) {
			require.True(t, strings.HasPrefix(line, "zkr "), line)
			run := strings.NewReplacer("/var/lib/zookeeper", logs, "/var/lib/zkr-recording", recording, "./scheduler", "scheduler").Replace(line)
			if strings.HasPrefix(line, "zkr lock break") {
				run += " --yes" // on a terminal it asks: TestBreakOfALockIsConfirmed
			}
			cmd := b.command()
			cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "exec " + run}
			cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
			z := start(t, cmd)
			switch {
			case endless[strings.Fields(line)[1]] != "": // until it is ended
				z.says(endless[strings.Fields(line)[1]])
				stopGroup(t, cmd)
				<-z.over
			case strings.HasPrefix(line, "zkr elect /"):
				// Behind the others, who stay: it waits.
				b.queued("/election/scheduler", 3)
				stopGroup(t, cmd)
				<-z.over
				b.queued("/election/scheduler", 2)
			default:
				z.wait()
				ok := []int{0}
				if strings.Contains(line, "--suspicious") || strings.HasPrefix(line, "zkr status") || strings.HasPrefix(line, "zkr doctor") {
					ok = append(ok, exit.CodeFailed) // there is something
				}
				assert.True(t, slices.Contains(ok, z.code), "%s: %d\n%s%s", line, z.code, z.out, z.err)
			}
			ran++
		}
	}
	assert.Greater(t, ran, 15)
	held.ends(exit.CodeLost) // by zkr lock break
}

// stopGroup ends a command that runs until it is ended.
func stopGroup(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
}
