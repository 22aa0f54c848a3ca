//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestShellsComplete subcommands, the words of flags, and files only for
// commands that run a command, or read files.
func TestShellsComplete(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"elect ": "ls\t", "counter ": "next\t", "barrier gate ": "wait\t", "help barrier ": "gate\t", "lo": "lock\t",
		"rwlock read --layout ": "kazoo\n", "counter get --format ": "text\n", "tree -o ": "json\n",
		"service register --type ": "permanent\n", "members ls --layout ": "shallow\n",
		"tree ": ":6\n", "tree a": ":4\n", "members join /g ": ":4\n", "members join /g a -- ": ":0\n", "keep ": ":6\n", "keep /a ": ":4\n", "keep /a b -- ": ":0\n", "job ": "workers\t", "job wait a --for ": "finished\n", "job kill ": ":4\n", "job join a -- ": ":0\n",
		"rebalance ": "status\t", "rebalance add --mode ": "global\n", "rebalance join --assignor ": "round-robin\n", "rebalance ls ": ":6\n", "rebalance join /g -- ": ":0\n", "elect /e -- ": ":0\n",
		"tree --auth-file ": ":0\n", "tree --user ": ":4\n", "manual --man ": ":16\n", "lock --timeout ": ":4\n", "serve ": ":4\n",
		"lock --t": "--timeout\t", "task ls /q --state ": "dead\n",
	} {
		z := inside(t, command("127.0.0.1:1", append([]string{"__complete"}, strings.Split(line, " ")...)...)).ends(0)
		assert.Contains(t, z.out.String(), want, line)
	}
}

// completed is zkr's answer to the scripts of shells: suggestions, and a
// directive.
func completed(t *testing.T, servers, line string) *zkrProcess {
	t.Helper()
	words := strings.Split(line, " ")
	return inside(t, with(command(servers, append([]string{"__complete"}, words...)...), asZkr+"="+patient)).ends(0)
}

// TestPathsAreCompleted with the existing znodes, by one name.
func TestPathsAreCompleted(t *testing.T) {
	b := newBed(t)
	for _, path := range []string{"/locks", "/locks/a", "/locks/ab", "/locks/b", "/locks/a b", "/locks/$(x)", "/logs", "/services", "/services/web", "/services/mail"} {
		require.NoError(t, b.srv.Create(path, nil))
	}
	b.run("job", "submit", "words", "--workers", "1").ends(0)
	for line, want := range map[string]string{
		"tree ":                      "/locks\n/logs\n/services\n/twister2\n/zookeeper\n:6\n",
		"tree /lo":                   "/locks\n/logs\n:6\n",
		"lock /locks/":               "/locks/a\n/locks/ab\n/locks/b\n:6\n",
		"lock ls /locks/a":           "/locks/a\n/locks/ab\n:6\n",
		"lock /nowhere/":             ":6\n",
		"tree --chroot /locks /":     "/a\n/ab\n/b\n:6\n",
		"task stats /log":            "/logs\n:6\n",
		"rebalance ls /log":          "/logs\n:6\n",
		"ui --root /log":             "/logs\n:6\n",
		"service ls --base /serv":    "/services\n:6\n",
		"service ls ":                "mail\nweb\n:4\n",
		"service watch w":            "web\n:4\n",
		"service register web -- ":   ":0\n",
		"service register m":         "mail\n:4\n",
		"job kill ":                  "words\n:4\n",
		"job join w":                 "words\n:4\n",
		"job workers words ":         ":4\n",
		"tree / ":                    ":4\n",
		"tree --verbose /log":        "/logs\n:6\n",
		"tree --session-timeout x /": ":", // a completion reports no errors
	} {
		z := completed(t, b.srv.Addr(), line)
		if assert.Contains(t, z.out.String(), want, line); want != ":" {
			assert.Equal(t, want, z.out.String(), line)
		}
	}
}

// TestTabDoesNotHangWhenServersAreAway.
func TestTabDoesNotHangWhenServersAreAway(t *testing.T) {
	b := newBed(t)
	require.NoError(t, b.srv.Freeze(1))
	began := time.Now()
	assert.Equal(t, ":6\n", b.run("__complete", "tree", "/").ends(0).out.String())
	assert.Less(t, time.Since(began), patience/2)
}

// TestBashCompletes with the script that "zkr completion bash" prints, like
// after Tab.
func TestBashCompletes(t *testing.T) {
	b := newBed(t)
	require.NoError(t, b.srv.Create("/locks", nil))
	require.NoError(t, b.srv.Create("/locks/backup", nil))
	dir := t.TempDir()
	self, err := filepath.Abs(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "zkr")))
	script := filepath.Join(dir, "script")
	require.NoError(t, os.WriteFile(script, []byte(helpOf(t, "completion", "bash")), 0o600))
	for line, want := range map[string]string{
		"zkr lo": "lock", "zkr barrier g": "gate", "zkr lock --try --tim": "--timeout", "zkr tree -o j": "json", "zkr lock /lo": "/locks",
		"zkr lock ls /locks/": "/locks/backup", "zkr rwlock read --layout k": "kazoo", "zkr help bar": "barrier",
	} {
		// The script needs these functions of package bash-completion.
		cmd := command(b.srv.Addr())
		cmd.Path, cmd.Args = "/bin/bash", []string{"bash", "--norc", "-c", `
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; }
__ltrim_colon_completions() { :; }
compopt() { :; }
source "$1"
COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9
read -ra COMP_WORDS <<< "$2"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p zkr | sed 's/.*-F \([^ ]*\) .*/\1/') zkr "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"`, "bash", script, line}
		cmd.Env = append(cmd.Env, asZkr+"="+patient, "PATH="+dir+":"+os.Getenv("PATH"))
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		require.NoError(t, cmd.Run(), "%s: %s", line, errs.String())
		assert.Equal(t, want, strings.TrimSpace(out.String()), "%s: %s", line, errs.String())
	}
}

// TestScriptsOfAllShellsAreWhole as far as their shells are here to tell.
func TestScriptsOfAllShellsAreWhole(t *testing.T) {
	t.Parallel()
	for shell, check := range map[string][]string{"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "--no-execute"}, "powershell": nil} {
		text := helpOf(t, "completion", shell)
		assert.Contains(t, text, "__complete", shell)
		if check == nil {
			continue
		}
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("there is no %s to read the script", shell)
			continue
		}
		file := filepath.Join(t.TempDir(), shell)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		said, err := exec.Command(check[0], append(check[1:], file)...).CombinedOutput()
		require.NoError(t, err, "%s: %s", shell, said)
	}
}
