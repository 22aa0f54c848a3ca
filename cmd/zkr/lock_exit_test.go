//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// locked is a command line for "zkr lock PATH FLAGS... -- CMD...", whose session only a
// test ends.
func locked(path string, flags []string, argv ...string) []string {
	return running(append([]string{"lock", path}, flags...), argv...)
}

func TestCommandsExitCodeIsPassedThrough(t *testing.T) {
	b := newBed(t)
	for script, code := range map[string]int{
		"true": 0, "exit 1": 1, "exit 75": 75, "exit 255": 255,
		"kill -TERM $$": 143, "kill -KILL $$": 137, "kill -USR1 $$": 138,
	} {
		z := b.run(locked("/locks/a", nil, "sh", "-c", script)...).ends(code)
		assert.Empty(t, z.err.String(), script)
		assert.Empty(t, b.contenders("/locks/a"), "the lock is free after %q", script)
	}
}

// broken is an existing command that cannot be run: only its start fails.
func broken(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "broken")
	writeProgram(t, file, []byte("#!/no/such/interpreter\n"))
	return file
}

// TestCommandThatIsNotThereIsNotWaitedFor: zkr reports the error before any
// wait.
func TestCommandThatIsNotThereIsNotWaitedFor(t *testing.T) {
	b := newBed(t)
	b.takeLock("/l")
	z := b.run("lock", "/l", "--", "no-such-command").ends(exit.CodeNotFound)
	assert.Equal(t, "zkr: cannot run no-such-command: executable file not found in $PATH\n", z.err.String())
	z = b.run("lock", "/l", "--", "/no/such/command").ends(exit.CodeNotFound)
	assert.Equal(t, "zkr: cannot run /no/such/command: no such file or directory\n", z.err.String())
	b.run("lock", "/l", "--", "").ends(exit.CodeNotFound)
}

func TestCommandThatCannotRunLeavesTheLockFree(t *testing.T) {
	b := newBed(t)
	notExecutable := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(notExecutable, []byte("text"), 0o600))
	for argv, code := range map[string]int{
		"no-such-command": exit.CodeNotFound, "/no/such/command": exit.CodeNotFound,
		notExecutable: exit.CodeCannotRun, t.TempDir(): exit.CodeCannotRun, broken(t): exit.CodeNotFound,
	} {
		z := b.run(locked("/locks/a", nil, argv)...).ends(code)
		assert.Contains(t, z.err.String(), "zkr: cannot run "+argv)
		assert.Empty(t, b.contenders("/locks/a"))
	}
}

func TestStreamsAndArgumentsReachTheCommandUntouched(t *testing.T) {
	b := newBed(t)
	bytes := strings.Repeat("all\x00 bytes \xff\n", 50_000)
	cmd := b.command(locked("/locks/a", nil, "sh", "-c", `cat; printf '%s|' "$@" >&2`, "sh", "a b", "", "--try", "-o", "json")...)
	cmd.Stdin = strings.NewReader(bytes)
	z := start(t, cmd).ends(0)
	assert.True(t, bytes == z.out.String(), "stdout is what went into stdin")
	assert.Equal(t, "a b||--try|-o|json|", z.err.String())
}

func TestEnvironmentNamesTheLock(t *testing.T) {
	b := newBed(t)
	z := b.run(locked("/locks/a", nil, "sh", "-c", "env; sleep 0")...).ends(0)
	env := map[string]string{}
	for line := range strings.Lines(z.out.String()) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[key] = value
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	found := false
	for _, txn := range b.applied {
		if len(txn.Paths) == 1 && txn.Paths[0] == env["ZKR_LOCK_PATH"] && strings.HasPrefix(txn.Op, "create") {
			found = true
			assert.Equal(t, fmt.Sprint(txn.Zxid), env["ZKR_LOCK_TOKEN"])
			assert.Equal(t, fmt.Sprintf("%#x", txn.Session), env["ZKR_LOCK_SESSION"])
		}
	}
	assert.True(t, found, "ZKR_LOCK_PATH=%s is the contender's znode", env["ZKR_LOCK_PATH"])
	assert.Equal(t, b.srv.Addr(), env["ZKR_SERVERS"], "zkr's own environment is the command's too")
}

func TestWrongArgumentsAreRefusedBeforeAnythingIsTried(t *testing.T) {
	for line, says := range map[string]string{
		"nonsense":                              `zkr has no command "nonsense"`,
		"--nonsense":                            "there is no flag --nonsense",
		"lock":                                  "which lock",
		"lock /a":                               "which command",
		"lock /a --":                            "which command",
		"lock /a true":                          "put -- between",
		"lock /a /b -- true":                    "one path, then --",
		"lock a -- true":                        "begins with /",
		"lock /a --grace soon -- true":          `--grace is "soon"; it must be a time such as 500ms, 10s, 5m or 2h`,
		"lock /a --grace -1s -- true":           "--grace is -1s",
		"lock /a --timeout -1s -- true":         "--timeout is -1s",
		"lock /a -n -1 -- true":                 "-n is -1",
		"lock /a --lock-delay -1s -- true":      "--lock-delay is -1s",
		"lock /a --layout helix -- true":        `--layout is "helix"`,
		"lock /a --curator-v2 -- true":          "needs -n",
		"lock /a -n 2 --layout kazoo -- x":      "for a mutex",
		"lock /a -n 2 --lock-delay 1s -- x":     "for a mutex",
		"lock ls -n 2":                          "give its PATH",
		"lock ls /a /b":                         "one word too many",
		"lock ls a":                             "begins with /",
		"lock ls /a --curator-v2":               "needs -n",
		"lock ls /a -o yaml":                    `--output is "yaml"`,
		"lock ls /a --connect-timeout 0s":       "--connect-timeout is 0s",
		"lock ls /a --tick-time -1s":            "--tick-time is -1s",
		"lock ls /a --session-timeout -1s":      "--session-timeout is -1s",
		"lock ls /a --servers ,":                "invalid server list",
		"lock ls /a --chroot app":               "begin with a slash",
		"lock ls /a --servers h/x --chroot /":   "has a chroot already",
		"lock ls /a --tls-ca x":                 "need --tls",
		"lock ls /a --tls --tls-ca /no/file":    "--tls-ca",
		"lock ls /a --tls --tls-cert x":         "belong together",
		"lock ls /a --user nobody":              "--user is not user:password",
		"lock ls /a --auth-file /no/file":       "--auth-file /no/file",
		"serve --listen 127.0.0.1:0 --tick 1ns": "--tick is 1ns",
		"serve now":                             "now",
		"demo now":                              "now",
		"version now":                           "now",
	} {
		z := inside(t, command("127.0.0.1:1", strings.Fields(line)...)).ends(exit.CodeUsage)
		assert.Contains(t, z.err.String(), says, line)
		assert.Contains(t, z.err.String(), "zkr: ", line)
		assert.Empty(t, z.out.String(), line)
	}
}

func TestNoServerIsSaidWithWhatToDo(t *testing.T) {
	t.Parallel()
	z := start(t, command("127.0.0.1:1", locked("/a", []string{"--connect-timeout", "2s"}, "true")...)).ends(exit.CodeUnavailable)
	assert.Contains(t, z.err.String(), "connection refused")
	assert.Contains(t, z.err.String(), "tried 127.0.0.1:1 for 2s")
	assert.Contains(t, z.err.String(), "zkr serve")
	z = start(t, command("127.0.0.1:1", locked("/a", []string{"--timeout", "2s"}, "true")...)).ends(exit.CodeUnavailable)
	assert.Contains(t, z.err.String(), "within --timeout 2s")
}

func TestBusyLockIsNotWaitedForWithTry(t *testing.T) {
	b := newBed(t)
	held := b.takeLock("/locks/a")
	z := b.run(locked("/locks/a", []string{"--try"}, "echo", "ran")...).ends(exit.CodeBusy)
	assert.Empty(t, z.out.String())
	assert.Contains(t, z.err.String(), "another client holds it")
	assert.Contains(t, z.err.String(), `"zkr lock ls /locks/a"`)
	assert.Len(t, b.contenders("/locks/a"), 1, "nothing is left in the queue")
	require.NoError(t, held.Unlock(b.ctx))
	b.run(locked("/locks/a", []string{"--try"}, "true")...).ends(0)
}

func TestTimeoutBoundsTheWaitNotTheCommand(t *testing.T) {
	b := newBed(t)
	held := b.takeLock("/locks/a")
	begun := time.Now()
	z := b.run(locked("/locks/a", []string{"--timeout", "5s"}, "echo", "ran")...).ends(exit.CodeBusy)
	assert.GreaterOrEqual(t, z.at.Sub(begun), 5*time.Second)
	assert.Less(t, z.at.Sub(begun), limit/2)
	assert.Contains(t, z.err.String(), "did not get the lock /locks/a within 5s")
	assert.Empty(t, z.out.String())
	assert.Len(t, b.contenders("/locks/a"), 1)
	require.NoError(t, held.Unlock(b.ctx))
	b.run(locked("/locks/a", []string{"--timeout", "5s"}, "sleep", "5.5")...).ends(0)
}

func TestSemaphoreLetsSoManyIn(t *testing.T) {
	b := newBed(t)
	gate := filepath.Join(t.TempDir(), "gate")
	script := "echo in; while [ ! -e " + gate + " ]; do sleep 0.1; done"
	one := b.start(locked("/s", []string{"-n", "2"}, "sh", "-c", script)...)
	two := b.start(locked("/s", []string{"-n", "2"}, "sh", "-c", script)...)
	one.says("in")
	two.says("in")
	z := b.run(locked("/s", []string{"-n", "2", "--try"}, "true")...).ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), "a permit of /s is taken")
	assert.Contains(t, z.err.String(), `"zkr lock ls -n 2 /s"`)
	z = b.run(locked("/s", []string{"-n", "3"}, "true")...).ends(exit.CodeUsage)
	assert.Contains(t, z.err.String(), "wrong number of permits")
	three := b.start(locked("/s", []string{"-n", "2"}, "echo", "third")...)
	b.queued("/s", 3)
	three.running()
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	one.ends(0)
	two.ends(0)
	three.ends(0).says("third")
	assert.Empty(t, b.contenders("/s"))
}

func TestLayoutsWriteTheNamesOfTheirLibraries(t *testing.T) {
	b := newBed(t)
	for _, c := range []struct {
		flags []string
		has   string
	}{
		{nil, "-lock-0"},
		{[]string{"--layout", "kazoo"}, "__lock__0"},
		{[]string{"-n", "1"}, "-permit-0"},
		{[]string{"-n", "1", "--curator-v2"}, "-lease-0"},
	} {
		z := b.run(locked("/locks/"+strings.Trim(c.has, "-_0"), c.flags, "sh", "-c", "echo $ZKR_LOCK_PATH")...).ends(0)
		assert.Contains(t, z.out.String(), c.has)
	}
}

func TestGraceThatDoesNotFitIsShortenedOrRefused(t *testing.T) {
	b := newBedWith(t, &zktest.Options{}) // grants up to 10 s
	for _, c := range []struct {
		flags []string
		code  int
		says  string
	}{
		{nil, 0, "it is 2s now"}, // 30 s are refused
		{[]string{"--session-timeout", "4s"}, 0, "it is 750ms now"},
		{[]string{"--grace", "1s"}, 0, ""},
		{[]string{"--grace", "2s"}, 0, ""},
		{[]string{"--grace", "3s"}, exit.CodeUsage, "use at most 2s, or a --session-timeout of 14s or more"},
		{[]string{"--grace", "1s", "--session-timeout", "4s"}, exit.CodeUsage, "use at most 750ms, or a --session-timeout of 6s or more"},
		{[]string{"--grace", "1m"}, exit.CodeUsage, "use at most"},
		{
			[]string{"--grace", "1h"}, exit.CodeUsage,
			"or a --session-timeout of 4h0m2s or more, if the servers grant that: their maxSessionTimeout is 40s by default, which allows a grace of 9.5s",
		},
		{[]string{"--session-timeout", "4s", "--tick-time", "10s"}, exit.CodeUsage, "tick 10s"},
		{[]string{"--session-timeout", "60s"}, exit.CodeUsage, "do not grant"},
		{[]string{"--grace", "0s", "--session-timeout", "9s"}, 0, ""},
	} {
		z := b.run(append(append([]string{"lock", "/locks/a"}, c.flags...), "--", "true")...).ends(c.code)
		if c.says == "" {
			assert.Empty(t, z.err.String(), c.flags)
		} else {
			assert.Contains(t, z.err.String(), c.says, c.flags)
		}
	}
	require.Empty(t, b.contenders("/locks/a"))
}
