//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// follower is a server of an ensemble, and not the leader.
func (b *bed) follower() int {
	b.Helper()
	eventually(b.T, func() bool { return b.srv.Leader() != 0 }, "a server leads")
	return b.srv.Leader()%3 + 1
}

// TestP27FencedOffFollower: museum P27. The follower of zkr's connection loses
// its ensemble, and continues to answer zkr; zkr knows no other server. The
// rest grants the lock to another client, after the command is gone.
func TestP27FencedOffFollower(t *testing.T) {
	b := newBedOf(t, 3)
	fencedOff(t, b, b.follower())
}

// TestP27FencedOffLeader: the same with the leader, which learns last of the
// end of its leadership. The followers elect another leader.
func TestP27FencedOffLeader(t *testing.T) {
	b := newBedOf(t, 3)
	b.follower()
	fencedOff(t, b, b.srv.Leader())
}

// fencedOff runs a command that ignores TERM through server cut alone, and
// isolates the server.
func fencedOff(t *testing.T, b *bed, cut int) {
	beat := filepath.Join(t.TempDir(), "beat")
	z := start(t, command(b.srv.ServerAddr(cut), losing([]string{"lock", "/locks/a"}, stubbornFamily(beat)...)...))
	beating(t, beat+".child")
	owner, znode := b.owner("/locks/a")
	b.srv.IsolateServer(cut)
	z.ends(exit.CodeLost)
	freed := b.freed(owner, znode)
	last := silent(t, beat+".child")
	assert.True(t, last.Before(freed))
	t.Logf("gone %v before the next grant", freed.Sub(last).Round(time.Millisecond))
}

// TestCommandSurvivesTheDeathOfItsServer: with the others in --servers, zkr
// moves, and the command notices nothing.
func TestCommandSurvivesTheDeathOfItsServer(t *testing.T) {
	b := newBedOf(t, 3)
	b.follower()
	z := b.start(locked("/locks/a", nil, "sh", "-c", "trap 'echo bye; exit 0' USR1; echo in; while :; do sleep 0.1; done")...)
	z.says("in")
	owner, _ := b.owner("/locks/a")
	server := 0
	for _, s := range b.srv.Sessions() {
		if s.ID == owner {
			server = s.Server
		}
	}
	require.NotZero(t, server)
	require.NoError(t, b.srv.Stop(server))
	eventually(t, func() bool {
		for _, s := range b.srv.Sessions() {
			if s.ID == owner {
				return s.Connected && s.Server != server
			}
		}
		return false
	}, "it has moved to another server")
	z.running()
	z.signal(syscall.SIGUSR1)
	z.ends(0).says("bye")
}
