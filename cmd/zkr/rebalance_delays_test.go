//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFailingCommandIsShownToOthers: other clients see the resources that
// --retry runs again.
func TestFailingCommandIsShownToOthers(t *testing.T) {
	b := newBed(t)
	b.shared("/g", "bad")
	z := b.start(running([]string{"rebalance", "join", "/g", "--id", "m", "--retry", "1h"}, "sh", "-c", "exit 7")...)
	eventually(t, func() bool { return len(b.status("/g").Failing) == 1 }, "it is shown")
	f := b.status("/g").Failing[0]
	assert.Equal(t, "bad", f.Resource)
	assert.Contains(t, f.Error, "the command has failed (exit code 7)")
	const says = "the command for bad has failed (exit code 7): again after 1h0m0s or more"
	eventually(t, func() bool { return strings.Contains(z.err.String(), says) }, "it says %q", says)
	z.signal(syscall.SIGTERM)
	z.ends(0)
}

// TestMemberJoinsAgainAfterAFailure with --restart-delay, and names the reason
// of its leave.
func TestMemberJoinsAgainAfterAFailure(t *testing.T) {
	b := newBed(t)
	b.shared("/g", "bad")
	z := b.start(running([]string{"rebalance", "join", "/g", "--restart-delay", "10ms"}, "sh", "-c", "echo run; exit 7")...)
	eventually(t, func() bool { return strings.Count(z.out.String(), "run") >= 2 }, "it runs again")
	eventually(t, func() bool { return strings.Contains(z.err.String(), "left the group: ") }, "it says so")
	z.warns("joining again after 10ms")
	z.signal(syscall.SIGTERM)
	z.wait()
}

// TestCommandsGoOnForTheLeaveGrace: commands are not asked to end before the
// grace is over, and a second signal ends the grace. --assignment-delay comes
// before their start.
func TestCommandsGoOnForTheLeaveGrace(t *testing.T) {
	b := newBed(t)
	b.shared("/g", "a")
	one := b.joins("/g", "one", "--leave-grace", "1h", "--assignment-delay", "1ms")
	one.says("in a")
	one.signal(syscall.SIGTERM)
	eventually(t, func() bool { return b.status("/g").Members[0].Owned == 1 }, "it has not left")
	assert.NotContains(t, one.out.String(), "asked")
	one.running()
	one.signal(syscall.SIGINT) // two of a kind may be one, if zkr has not heeded the first one yet
	assert.Contains(t, []int{130, 143}, one.wait().code, "the code of the second signal, in either order")

	two := b.joins("/g", "two", "--leave-grace", "50ms")
	two.says("in a")
	two.signal(syscall.SIGTERM)
	two.says("asked a")
	two.wait()
	require.Empty(t, b.contenders("/g/clients"))
}
