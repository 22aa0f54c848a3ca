package apache

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNothingIsLeftWhenTheTestProcessIsKilled(t *testing.T) {
	eachMode(t, func(t *testing.T, mode Mode) {
		Require(t, &Options{Mode: mode, Own: true}) // or skip
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), envRole+"=victim", "VICTIM_MODE="+string(mode))
		_, err = cmd.StdinPipe() // kept open: the victim waits
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		what, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		require.Equal(t, "dir", what, line)
		id := strings.Split(filepath.Base(dir), "-")[1]
		require.NotEmpty(t, listLeftovers(t, mode, id, dir), "the check detects a running cluster")
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		require.Eventually(t, func() bool {
			return len(listLeftovers(t, mode, id, dir)) == 0
		}, patience, 100*time.Millisecond)
	})
}

// listLeftovers lists the remains of a cluster on the machine.
func listLeftovers(t *testing.T, mode Mode, id, dir string) []string {
	t.Helper()
	var found []string
	if _, err := os.Stat(dir); err == nil {
		found = append(found, dir)
	}
	lists := [][]string{{"ip", "-br", "link"}, {"ip", "netns", "list"}}
	if mode == Docker {
		lists = append(lists, []string{"docker", "ps", "-a", "--format", "{{.Names}}"},
			[]string{"docker", "network", "ls", "--format", "{{.Name}}"})
	}
	for _, list := range lists {
		out, err := exec.Command(list[0], list[1:]...).Output()
		require.NoError(t, err, list)
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, id) {
				found = append(found, fmt.Sprint(list, line))
			}
		}
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, name := range lines {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), dir) {
			found = append(found, string(text))
		}
	}
	return found
}

func TestGuardSaysWhatItCouldNotRemove(t *testing.T) {
	// A folder below a file would not do: rm -f reports nothing. A folder in /proc
	// cannot be removed, not even by root.
	g, err := startGuard("none", "/proc/self/net")
	require.NoError(t, err)
	require.ErrorContains(t, g.finishCleanUp(), "cannot remove")
}
