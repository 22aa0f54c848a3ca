package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// onTerminal runs a shell with job control on a terminal of its own, with zkr
// as the command "zkr", and returns the terminal's other end.
func onTerminal(b *bed, script string) (keyboard *os.File, screen *text, shell *zkrProcess) {
	b.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(b, err)
	require.NoError(b, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(b, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(b, err)
	cmd := b.command()
	cmd.Path, cmd.Args = "/bin/bash", []string{"bash", "-mc", "zkr() { " + shellWord(os.Args[0]) + ` "$@"; }; ` + script}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	shell = start(b.T, cmd)
	require.NoError(b, slave.Close())
	screen = &text{}
	read := make(chan struct{})
	// Waited for through read; ends when the shell and all below are gone.
	go func() {
		_, _ = io.Copy(screen, master)
		close(read)
	}()
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-shell.over
		_ = master.Close()
		<-read
	})
	shell.out = screen
	return master, screen, shell
}

func shellWord(s string) string { return "'" + s + "'" }

func typed(t *testing.T, keyboard *os.File, keys string) {
	t.Helper()
	_, err := io.WriteString(keyboard, keys)
	require.NoError(t, err)
}

const flagsOnTerminal, losingOnTerminal = "--session-timeout 40s --grace 500ms", "--session-timeout 10s --grace 500ms"

func TestInteractiveCommandHasTheTerminal(t *testing.T) {
	b := newBed(t)
	keys, _, shell := onTerminal(b, "zkr lock /locks/a "+flagsOnTerminal+` -- sh -c 'echo ask; read x; echo "got $x"'; echo "code $?"; read y; echo "back $y"`)
	shell.says("ask")
	typed(t, keys, "word\n")
	shell.says("got word")
	shell.says("code 0")
	typed(t, keys, "again\n")
	shell.says("back again") // the shell has the terminal again
	shell.ends(0)
}

func TestCtrlCReachesTheCommandOnly(t *testing.T) {
	b := newBed(t)
	keys, _, shell := onTerminal(b, "zkr lock /locks/a "+flagsOnTerminal+` -- sh -c 'trap "echo caught; exit 9" INT; echo in; while :; do sleep 0.1; done'; echo "code $?"`)
	shell.says("in")
	typed(t, keys, "\x03")
	shell.says("caught")
	shell.says("code 9")
	assert.Empty(t, b.contenders("/locks/a"))
}

// TestCtrlCWhileWaiting: museum P28, on a terminal.
func TestP28CtrlCWhileWaiting(t *testing.T) {
	b := newBed(t)
	b.takeLock("/locks/a")
	keys, _, shell := onTerminal(b, "trap : INT; zkr lock /locks/a "+flagsOnTerminal+` -- true; echo "code $?"`)
	b.queued("/locks/a", 2)
	typed(t, keys, "\x03")
	shell.says("code 130")
	b.queued("/locks/a", 1)
}

// TestCtrlZStopsTheJob: the shell is told, and the command goes on with fg if
// the lock is still held.
func TestCtrlZStopsTheJob(t *testing.T) {
	b := newBed(t)
	file := filepath.Join(t.TempDir(), "beat")
	keys, _, shell := onTerminal(b, "zkr lock /locks/a "+flagsOnTerminal+" -- "+shellWord(os.Args[0])+" "+helpBeat+" "+file+`; echo "stopped $?"; read x; fg; echo "code $?"`)
	beating(t, file)
	typed(t, keys, "\x1a")
	shell.says("stopped 147") // 128 + STOP
	before := silent(t, file)
	typed(t, keys, "\n")
	eventually(t, func() bool { all := beats(t, file); return all[len(all)-1].After(before) }, "the command goes on")
	typed(t, keys, "\x03")
	shell.says("code 130")
	assert.Empty(t, b.contenders("/locks/a"))
}

// TestCtrlZForTooLongEndsTheCommand: the lock expires while the job is stopped.
func TestCtrlZForTooLongEndsTheCommand(t *testing.T) {
	b := newBed(t)
	file := filepath.Join(t.TempDir(), "beat")
	keys, _, shell := onTerminal(b, "zkr lock /locks/a "+losingOnTerminal+" -- "+shellWord(os.Args[0])+" "+helpBeat+" "+file+`; echo "stopped $?"; read x; fg; echo "code $?"`)
	beating(t, file)
	typed(t, keys, "\x1a")
	shell.says("stopped")
	last := silent(t, file)
	b.takeLock("/locks/a")
	typed(t, keys, "\n")
	shell.says("code 76")
	assert.Equal(t, last, silent(t, file), "not one beat more")
}

// TestStopWithoutAShellHasNoEffect: no process would continue zkr, so zkr and its
// command go on.
func TestStopWithoutAShellHasNoEffect(t *testing.T) {
	b := newBed(t)
	file := filepath.Join(t.TempDir(), "beat")
	keys, _, shell := onTerminal(b, "exec "+shellWord(os.Args[0])+" lock /locks/a "+flagsOnTerminal+" -- "+shellWord(os.Args[0])+" "+helpBeat+" "+file)
	beating(t, file)
	typed(t, keys, "\x1a")
	n := len(beats(t, file))
	eventually(t, func() bool { return len(beats(t, file)) > n+10 }, "the command goes on")
	shell.running()
	typed(t, keys, "\x03")
	shell.ends(130)
}

// TestBackgroundJobLeavesTheTerminalAlone: with & the shell keeps the terminal.
func TestBackgroundJobLeavesTheTerminalAlone(t *testing.T) {
	b := newBed(t)
	keys, _, shell := onTerminal(b, "zkr lock /locks/a "+flagsOnTerminal+` -- sh -c 'echo in; sleep 1000' & read x; echo "shell got $x"; kill -TERM %1; wait %1; echo "code $?"`)
	shell.says("in")
	typed(t, keys, "word\n")
	shell.says("shell got word")
	shell.says("code 143")
}

func TestColoursAreForTerminals(t *testing.T) {
	for env, colored := range map[string]bool{"TERM=xterm": true, "NO_COLOR=1": false, "TERM=dumb": false} {
		t.Run(env, func(t *testing.T) {
			b := newBed(t)
			_, screen, shell := onTerminal(b, "export TERM=xterm; "+env+" "+shellWord(os.Args[0])+" demo & read x")
			shell.says("HOLDS")
			assert.Equal(t, colored, strings.Contains(screen.String(), "\x1b[32mHOLDS"))
		})
	}
}

// TestJobWaitShowsOnATerminalHowFarTheyAre: progress is shown in a line, which is
// cleared at the end.
func TestJobWaitShowsOnATerminalHowFarTheyAre(t *testing.T) {
	b := newBed(t)
	b.submit("words", "2")
	wait := func(what string) *zkrProcess {
		_, _, shell := onTerminal(b, "zkr job wait words --for "+what+`; echo "code $?"`)
		shell.says("\r0 of 2 workers joined, 0 left")
		return shell
	}
	joined, finished := wait("joined"), wait("finished")
	_, open := b.worker("words", "a", "0")
	joined.says("\r1 of 2 workers joined, 0 left")
	open()
	finished.says("\r1 of 2 workers joined, 1 left")
	b.worker("words", "b", "0")
	joined.says("\r\x1b[Kcode 0")
	b.run("job", "kill", "words").ends(0)
	finished.says("\r\x1b[Kzkr: the job words was not finished, but killed")
	finished.says("code 1")
}

// On a terminal the wait is one line, which is gone when the command begins.
func TestWaitIsALineThatIsRenewed(t *testing.T) {
	b := newBed(t)
	held := b.takeLock("/locks/a")
	_, screen, shell := onTerminal(b, "zkr lock /locks/a "+flagsOnTerminal+` -- echo in`)
	line := regexp.MustCompile(`\r\x1b\[Kzkr: waiting for \S+ \(held (\d+)s\)`)
	var seen [][]string
	require.Eventually(t, func() bool {
		seen = line.FindAllStringSubmatch(screen.String(), -1)
		return len(seen) >= 2
	}, patience, 10*time.Millisecond)
	assert.NotEqual(t, seen[0][1], seen[1][1], "the hold lasts longer")
	require.NoError(t, held.Unlock(b.ctx))
	shell.ends(0)
	text := screen.String()
	assert.Equal(t, "\r\x1b[Kin\r\n", text[strings.LastIndex(text, "\r\x1b[K"):])
}

// On a terminal, the answer decides whether a lock is taken away.
func TestBreakOfALockIsConfirmed(t *testing.T) {
	b := newBed(t)
	held := b.takeLock("/l")
	keyboard, screen, shell := onTerminal(b, `zkr lock break /l --reason r; echo no=$?; zkr lock break /l --reason r; echo yes=$?`)
	eventually(t, func() bool { return strings.Contains(screen.String(), "[y/N]") }, "it asks: %s", screen)
	assert.Contains(t, screen.String(), "is held by")
	typed(t, keyboard, "\n")
	shell.says("no=1")
	require.NoError(t, held.Context().Err())
	eventually(t, func() bool { return strings.Count(screen.String(), "[y/N]") == 2 }, "it asks again: %s", screen)
	typed(t, keyboard, "y\n")
	shell.says("yes=0")
	assert.Contains(t, screen.String(), "nothing was changed")
	<-held.Context().Done()
}

// On a terminal, the answer decides whether an epoch is advanced.
func TestAdvanceOfAnEpochIsConfirmed(t *testing.T) {
	b := newBed(t)
	require.NoError(t, b.srv.Create("/e", []byte("17")))
	keyboard, screen, shell := onTerminal(b, `zkr fence advance /e; echo no=$?; zkr fence advance /e; echo yes=$?`)
	eventually(t, func() bool { return strings.Contains(screen.String(), "[y/N]") }, "it asks: %s", screen)
	assert.Contains(t, screen.String(), "Until now the epoch /e was 17.")
	typed(t, keyboard, "n\n")
	shell.says("no=1")
	n, err := b.srv.Get("/e")
	require.NoError(t, err)
	require.Equal(t, "17", string(n.Data))
	eventually(t, func() bool { return strings.Count(screen.String(), "[y/N]") == 2 }, "it asks again: %s", screen)
	typed(t, keyboard, "yes\n")
	shell.says("yes=0")
	assert.Contains(t, screen.String(), "nothing was changed")
	assert.Contains(t, screen.String(), "; until now it was 17")
	n, err = b.srv.Get("/e")
	require.NoError(t, err)
	require.NotEqual(t, "17", string(n.Data))
}

func TestCtrlCAtTheQuestionChangesNothing(t *testing.T) {
	b := newBed(t)
	held := b.takeLock("/l")
	keyboard, screen, shell := onTerminal(b, `trap : INT; zkr lock break /l --reason r; echo code=$?`)
	eventually(t, func() bool { return strings.Contains(screen.String(), "[y/N]") }, "it asks: %s", screen)
	typed(t, keyboard, "\x03")
	shell.says("code=130")
	require.NoError(t, held.Context().Err())
}

// Bytes of other clients cannot command the terminal.
func TestValueOnATerminalIsReadable(t *testing.T) {
	b := newBed(t)
	b.run("value", "set", "/v", "red \x1b[31m").ends(0)
	_, _, shell := onTerminal(b, "zkr value get /v; echo end")
	shell.says("end")
	assert.Contains(t, shell.out.String(), `"red \x1b[31m"`+"\r\n"+"end")
}
