package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestAgainHasTheTerminalAgain: the second command reads from the terminal,
// stops with Ctrl-Z and ends with Ctrl-C like the first command.
func TestAgainHasTheTerminalAgain(t *testing.T) {
	b := newBed(t)
	keys, _, shell := onTerminal(b, "zkr elect /e --again "+flagsOnTerminal+` -- sh -c 'echo ask; while read x; do echo "got $x"; done'; echo "stopped $?"; fg; echo "code $?"; read y; echo "back $y"`)
	shell.says("ask")
	typed(t, keys, "one\n")
	shell.says("got one")
	_, znode := b.owner("/e")
	require.NoError(t, b.srv.Delete(znode))
	eventually(t, func() bool { return strings.Count(shell.out.String(), "ask") >= 2 }, "it leads again")
	typed(t, keys, "two\n")
	shell.says("got two")
	typed(t, keys, "\x1a")
	shell.says("stopped 147")
	typed(t, keys, "three\n")
	shell.says("got three")
	typed(t, keys, "\x03")
	shell.says("code 130")
	typed(t, keys, "again\n")
	shell.says("back again")
	shell.ends(0)
}

// TestAgainCanBeStoppedWhileItWaits: Ctrl-Z when there is no command.
func TestAgainCanBeStoppedWhileItWaits(t *testing.T) {
	b := newBed(t)
	keys, _, shell := onTerminal(b, "zkr elect /e --again "+flagsOnTerminal+` -- sh -c 'echo in; exec sleep 1000'; echo "stopped $?"; fg; echo "code $?"`)
	shell.says("in")
	_, znode := b.owner("/e")
	node, err := b.srv.Get(znode)
	require.NoError(t, err)
	_, id, _ := strings.Cut(string(node.Data), ":") // host:pid
	pid, err := strconv.Atoi(id)
	require.NoError(t, err)
	other := b.start(running([]string{"elect", "/e"}, "sleep", "1000")...)
	b.queued("/e", 2)
	require.NoError(t, b.srv.Delete(znode))
	shell.says("waiting for it again")
	b.queued("/e", 2)
	typed(t, keys, "\x1a")
	shell.says("stopped 147")
	// fg gives zkr the terminal, and continues zkr then. An earlier Ctrl-C is for the shell.
	eventually(t, func() bool { return procState(t, pid) != "T" }, "zkr goes on")
	other.running()
	typed(t, keys, "\x03")
	shell.says("code 130")
}

func TestSlowTreeShowsItsProgressOnATerminal(t *testing.T) {
	b := newBed(t)
	b.plant("/big")
	for i := range 1500 {
		b.plant(fmt.Sprintf("/big/%04d", i))
	}
	b.srv.Delay(zktest.Link{}, zktest.ToClient, 100*time.Millisecond)
	_, screen, shell := onTerminal(b, `zkr tree /big > /dev/null; echo "code $?"`)
	shell.says("code 0")
	assert.Regexp(t, `\r\d+ znodes`, screen.String())
	assert.Contains(t, screen.String(), "\r\x1b[Kcode 0", "nothing of it stays")
}
